//! Access control: only requests to this server's own host names, from its own page, with the link's token.
//!
//! Another site can make a browser send requests here. It cannot do so under a host name of this server
//! (Host, against DNS rebinding), cannot hide its origin (Origin, Sec-Fetch-Site), and does not know the
//! token.
//!
//! A public domain can be rebound to this machine; an address cannot, nor can a name that is never a public
//! domain: one without a dot, or under `.local`. Those are accepted if the server listens to other machines;
//! otherwise only the loopback addresses and `localhost` are.

use crate::error::Refusal;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub(crate) struct Guard {
    address: SocketAddr,
    token: String,
}

impl Guard {
    pub fn new(address: SocketAddr, token: String) -> Guard {
        Guard { address, token }
    }

    /// True if a `Host` is a name of this server.
    fn answers_to(&self, host: &str) -> bool {
        // Browsers omit the default port; the colons of a bare [::1] do not introduce one.
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (host, "80"),
        };
        let open = !self.address.ip().is_loopback();
        let known = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => open || address.is_loopback(),
            Err(_) => name == "localhost" || (open && (!name.contains('.') || name.ends_with(".local"))),
        };
        known && port == self.address.port().to_string()
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let refuse = |why: &str| Err(Refusal::new(StatusCode::FORBIDDEN, why));
        let headers = request.headers();
        let Some(host) = text(headers, header::HOST).filter(|host| self.answers_to(host)) else {
            return refuse(
                "this server does not answer to that name: use the link it printed, or the machine's address",
            );
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
        let given = text(headers, header::AUTHORIZATION)
            .and_then(|value| value.strip_prefix("Bearer "))
            .unwrap_or("");
        // In constant time: every byte is compared, wherever the first difference is.
        let differ = given.bytes().zip(self.token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
        given.len() == self.token.len() && differ == 0
    }
}

/// The value of a header. One that is given twice, or is no text, is empty: which of the two another program
/// would believe is unknown, so neither is.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() { "" } else { first.to_str().unwrap_or("") })
}

/// Checks a request, and adds security headers to every response.
pub(crate) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                  connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(address: &str, host: &str) -> bool {
        Guard::new(address.parse().unwrap(), String::new()).answers_to(host)
    }

    #[test]
    fn a_local_server_answers_to_local_names() {
        for host in ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"] {
            assert!(answers("127.0.0.1:8000", host), "{host}");
        }
        for host in [
            "",
            ":8000",
            "evil.example:8000",
            "gpu1:8000",
            "10.0.0.1:8000",
            "127.0.0.1",
            "127.0.0.1:80",
            "[::1]",
        ] {
            assert!(!answers("127.0.0.1:8000", host), "{host}");
        }
    }

    #[test]
    fn port_80_is_implied() {
        for host in ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:80"] {
            assert!(answers("127.0.0.1:80", host), "{host}");
        }
    }

    #[test]
    fn an_open_server_answers_to_whatever_cannot_be_rebound() {
        for address in ["0.0.0.0:8000", "[::]:8000", "10.0.0.1:8000"] {
            for host in ["10.0.0.1:8000", "[fe80::1]:8000", "localhost:8000", "gpu1:8000", "gpu1.local:8000"]
            {
                assert!(answers(address, host), "{address} {host}");
            }
            for host in [
                "evil.example:8000",
                "evil.local.example:8000",
                "10.0.0.1:9000",
                "10.0.0.1.evil.example:8000",
            ] {
                assert!(!answers(address, host), "{address} {host}");
            }
        }
    }
}
