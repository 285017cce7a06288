//! Connections: how many at a time, and how long each may take.
//!
//! A client that sends or reads nothing holds a connection, and a few hundred such clients would hold them
//! all. So the head of a request, its body, and every pause of a client that should be reading have a time
//! limit; connections beyond the limit wait in the system's queue until one ends.

use crate::error::Refusal;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Time for the head of a request, which begins when the connection is idle; again for its body; and
    /// again whenever the client stops reading.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 256, patience: Duration::from_secs(10) }
    }
}

/// Serves until the program ends.
pub(crate) async fn serve(listener: TcpListener, router: Router, limits: Limits) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(limits.connections.max(1)));
    let service = TowerToHyperService::new(router);
    loop {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is left, or the client has gone: others end in the meantime.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.patience));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.patience)
            .serve_connection(TokioIo::new(Box::pin(stream)), service.clone());
        tokio::spawn(async move {
            // Whatever went wrong, it went wrong for this client only.
            connection.await.ok();
            drop(place);
        });
    }
}

/// Bytes of a request's body.
const BODY: usize = 256 << 10;

/// Reads the whole body of a request before it is answered.
pub(crate) async fn read_body(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(limits.patience, axum::body::to_bytes(body, BODY)).await {
        Ok(Ok(bytes)) => next.run(Request::from_parts(head, Body::from(bytes))).await,
        Ok(Err(error)) => unread(&error).into_response(),
        Err(_) => Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response(),
    }
}

fn unread(error: &axum::Error) -> Refusal {
    if error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>()) {
        let why = format!("the request is too long: at most {BODY} bytes are read");
        return Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why);
    }
    Refusal::new(StatusCode::BAD_REQUEST, format!("the request cannot be read: {error}"))
}
