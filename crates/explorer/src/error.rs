//! Error responses: a status and one sentence.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    why: String,
}

pub(crate) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    pub fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into() }
    }

    pub fn unknown(what: &str) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, format!("there is no {what}"))
    }

    /// The request asks for something that cannot be.
    pub fn bad(why: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    }
}

impl From<kuramoto_train::Error> for Refusal {
    fn from(error: kuramoto_train::Error) -> Refusal {
        Refusal::bad(error.to_string())
    }
}

impl From<kuramoto_answer::Error> for Refusal {
    fn from(error: kuramoto_answer::Error) -> Refusal {
        match error {
            kuramoto_answer::Error::Request(_) => Refusal::new(StatusCode::BAD_REQUEST, error.to_string()),
            error => Refusal::bad(error.to_string()),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, axum::Json(serde_json::json!({ "error": self.why }))).into_response()
    }
}
