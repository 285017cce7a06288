//! Who is let in: requests to this very address, from this very page, with the link's token.
//!
//! A page elsewhere can make a browser send requests here. It cannot read a name that is not ours (Host, against DNS
//! rebinding), cannot hide where it comes from (Origin, Sec-Fetch-Site), and does not know the token.

use crate::error::Refusal;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) struct Guard {
    /// Names this server answers to, with the port.
    hosts: Vec<String>,
    token: String,
}

impl Guard {
    pub fn new(address: SocketAddr, token: String) -> Guard {
        let port = address.port();
        let mut hosts = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        hosts.push(address.to_string());
        Guard { hosts, token }
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let refuse = |why: &str| Err(Refusal::new(StatusCode::FORBIDDEN, why));
        let headers = request.headers();
        let Some(host) = text(headers, header::HOST).filter(|host| self.hosts.iter().any(|known| known == host)) else {
            return refuse("this server does not answer to that name: use the link it printed");
        };
        if text(headers, header::ORIGIN).is_some_and(|origin| origin != format!("http://{host}")) {
            return refuse("requests from other pages are not answered");
        }
        let site = text(headers, HeaderName::from_static("sec-fetch-site"));
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return refuse("requests from other pages are not answered");
        }
        if request.uri().path().starts_with("/api/") && !self.knows_token(headers) {
            let why = "the token is missing or wrong: open the link that the server printed";
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, why));
        }
        Ok(())
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let given = text(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).unwrap_or("");
        // Every byte is compared, so that the time taken says nothing.
        let differ = given.bytes().zip(self.token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
        given.len() == self.token.len() && differ == 0
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or(""))
}

/// Checks a request and adds to every answer what keeps a browser strict.
pub(crate) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
