//! Any bytes as a request, or as the body of one, to the explorer's server over loopback: it answers, and none of its
//! answers is a failure of its own.

#![no_main]

use kuramoto_engine::Cpu;
use kuramoto_explorer::{Limits, Options, Server};
use kuramoto_train::{NewRun, Overlay, Session, Setting};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::LazyLock;

struct Running {
    address: String,
    token: String,
    // Kept as long as the server runs.
    _folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

/// A server over a folder with the run `a`.
static SERVER: LazyLock<Running> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let text = "data.bytes = 60000\nlength = { steps = 2 }\nbatch = { sequences = 2, context = 16 }\n\
                validation = { every = 1, windows = 4 }\nmodel = { width = 4, layers = 2 }";
    let overlays = vec![Overlay::parse("fuzz", text).unwrap()];
    let new = NewRun { overlays, folder: Some(folder.path().join("a")), ..Default::default() };
    Session::create(&new, Setting::new(&Cpu::new(1))).unwrap().train(&mut ()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = Options {
        folders: vec![folder.path().into()],
        address: [127, 0, 0, 1].into(),
        port: 0,
        at_a_time: 2,
        limits: Limits::default(),
    };
    let server = runtime.block_on(Server::bind(&options)).unwrap();
    let (address, token) = server.link().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    let (address, token) = (address.to_string(), token.to_string());
    runtime.spawn(server.run());
    Running { address, token, _folder: folder, _runtime: runtime }
});

const PATHS: [&str; 4] = ["POST /api/inspect", "POST /api/pulls", "POST /api/generate", "GET /api/rows?run="];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let Running { address, token, .. } = &*SERVER;
    let head = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n");
    let request = match PATHS.get(usize::from(first.wrapping_sub(b'0'))) {
        Some(path) if path.starts_with("POST") => {
            let length = rest.len();
            [format!("{path} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n").as_bytes(), rest].concat()
        }
        Some(path) => [path.as_bytes(), rest, b" HTTP/1.1\r\n", head.as_bytes(), b"\r\n"].concat(),
        None => [rest, b"\r\n", head.as_bytes(), b"\r\n"].concat(),
    };
    let mut stream = TcpStream::connect(address).unwrap();
    // It may refuse before it has read everything.
    stream.write_all(&request).ok();
    stream.shutdown(Shutdown::Write).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    assert!(!answer.starts_with(b"HTTP/1.1 500"), "{}", String::from_utf8_lossy(&answer));
});
