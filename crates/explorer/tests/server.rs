//! The server over real sockets: what it answers, and what it refuses.

use kuramoto_engine::Cpu;
use kuramoto_explorer::{Limits, Options, Server};
use kuramoto_train::{NewRun, Overlay, Session, Setting};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// A server over a folder with a Kuramoto run `ka` and a transformer run `plan/runs/tf`.
struct Fixture {
    folder: tempfile::TempDir,
    address: String,
    token: String,
    _runtime: tokio::runtime::Runtime,
}

fn trained(folder: &Path, kind: &str) {
    trained_with(folder, kind, 0);
}

fn trained_with(folder: &Path, kind: &str, seed: u64) {
    let text = "data.bytes = 60000\nlength = { steps = 6 }\n\
        batch = { sequences = 2, context = 32 }\nvalidation = { every = 3, windows = 4 }";
    let overlays = vec![
        Overlay::text("test", "model.kind", kind),
        Overlay::set("test", "seed", &seed.to_string()),
        Overlay::parse("test", text).unwrap(),
        Overlay::parse("test", "model = { width = 8, layers = 2 }").unwrap(),
    ];
    let new = NewRun { overlays, folder: Some(folder.into()), ..Default::default() };
    let device = Cpu::new(1);
    Session::create(&new, Setting::new(&device)).unwrap().train(&mut ()).unwrap();
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with(Limits::default())
    }

    fn with(limits: Limits) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        trained(&folder.path().join("runs/ka"), "kuramoto");
        trained(&folder.path().join("runs/plan/runs/tf"), "transformer");
        fs::write(folder.path().join("secret"), "secret").unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = Options {
            folders: vec![folder.path().join("runs")],
            address: [127, 0, 0, 1].into(),
            port: 0,
            at_a_time: 2,
            limits,
        };
        let server = runtime.block_on(Server::bind(&options)).unwrap();
        let link = server.link().to_string();
        runtime.spawn(server.run());
        let (address, token) = link.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        Fixture { address: address.into(), token: token.into(), folder, _runtime: runtime }
    }

    /// Sends bytes as they are and reads the whole answer.
    fn raw(&self, request: &[u8]) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A server that refuses early may close before all was sent.
        stream.write_all(request).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        split(&answer)
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, Vec<u8>) {
        let length = body.len();
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        )
    }

    /// As the page does.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Vec<u8>) {
        let headers = format!(
            "Host: {0}\r\nOrigin: http://{0}\r\nAuthorization: Bearer {1}\r\n",
            self.address, self.token
        );
        let (status, _, body) = self.request(method, path, &headers, body);
        (status, body)
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (status, bytes) = self.ask(method, path, &body.to_string());
        (
            status,
            serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&bytes))),
        )
    }
}

fn split(answer: &[u8]) -> (u16, String, Vec<u8>) {
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let head = String::from_utf8_lossy(&answer[..at]).to_lowercase();
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = if head.contains("transfer-encoding: chunked") {
        unchunk(&answer[at..])
    } else {
        answer[at..].to_vec()
    };
    (status, head, body)
}

/// The JSON in a message's metadata.
fn meta(message: &[u8]) -> Value {
    let (_, header) = SafeTensors::read_metadata(message).unwrap();
    serde_json::from_str(&header.metadata().as_ref().unwrap()["meta"]).unwrap()
}

/// Shape and values of an array of a message.
fn array(message: &[u8], name: &str) -> (Vec<usize>, Vec<f32>) {
    let tensors = SafeTensors::deserialize(message).unwrap();
    let view = tensors.tensor(name).unwrap();
    assert_eq!(view.dtype(), Dtype::F32);
    let values = view.data().as_chunks().0.iter().map(|&four| f32::from_le_bytes(four));
    (view.shape().to_vec(), values.collect())
}

/// The messages of a stream, each after its length.
fn frames(mut stream: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = stream.split_first_chunk() {
        let (message, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        messages.push(message);
        stream = rest;
    }
    assert!(stream.is_empty());
    messages
}

fn byte(message: &[u8]) -> u8 {
    let tensors = SafeTensors::deserialize(message).unwrap();
    tensors.tensor("byte").unwrap().data()[0]
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..at]).unwrap(), 16).unwrap();
        let Some(chunk) = bytes.get(at + 2..at + 2 + size).filter(|_| size > 0) else { break };
        body.extend(chunk);
        bytes = &bytes[at + 4 + size..];
    }
    body
}

#[test]
fn runs_rows_and_insides_are_served() {
    let server = Fixture::new();
    let (status, runs) = server.json("GET", "/api/runs", &Value::Null);
    assert_eq!(status, 200);
    let ids: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["ka", "plan/runs/tf"]);
    assert_eq!((&runs[0]["status"], &runs[0]["checkpoints"]), (&json!("finished"), &json!([3, 6])));
    let (_, rows) = server.json("GET", "/api/rows?run=plan/runs/tf", &Value::Null);
    assert_eq!(
        (rows["steps"].as_array().unwrap().len(), rows["validations"].as_array().unwrap().len()),
        (6, 2)
    );

    let (status, about) = server.json("GET", "/api/about?run=ka", &Value::Null);
    assert_eq!((status, &about["context"]), (200, &json!(32)));
    assert!(about["vocabulary"].as_array().unwrap().contains(&json!(b'A')));
    assert_eq!(server.ask("GET", "/api/about?run=nothing", "").0, 404);
    let (status, text) = server.json("GET", "/api/sample?run=ka", &Value::Null);
    assert!(status == 200 && !text.as_str().unwrap().is_empty());
    assert_eq!(
        server.ask("POST", "/api/inspect", &json!({ "run": "ka", "text": text }).to_string()).0,
        200,
        "it can read what it wrote"
    );
    let (status, bytes) =
        server.ask("POST", "/api/inspect", &json!({ "run": "ka", "text": "Anna was" }).to_string());
    assert_eq!(status, 200);
    let meta = meta(&bytes);
    assert_eq!(
        (&meta["n"], &meta["k"], &meta["layers"], &meta["touched"]),
        (&json!(8), &json!(8), &json!(2), &json!(false))
    );
    let intact = |name: &str| array(&bytes, name);
    assert_eq!(intact("phase").0, [3, 8, 8]);
    assert_eq!(intact("coupling").0, [2, 1, 8, 8]);
    let chance: f32 = intact("chance").1[..8].iter().sum();
    assert!(chance > 0.0 && chance <= 1.0001 && intact("bits").1[7].is_nan());

    let (_, few) = server.ask(
        "POST",
        "/api/inspect",
        &json!({ "run": "ka", "text": "Anna was", "parts": ["bits", "likely"] }).to_string(),
    );
    assert_eq!(array(&few, "bits").1[..7], intact("bits").1[..7]);
    assert!(SafeTensors::deserialize(&few).unwrap().tensor("phase").is_err(), "not asked for");

    // A change by nothing changes nothing; uniform coupling is uniform.
    let flat = json!([{ "at": "layer.1.attention", "action": { "flatten": 1.0 } }]);
    let question =
        json!({ "run": "ka", "text": "Anna was", "interventions": flat, "changes": [{ "scale-tau": 1.0 }] });
    let (status, both) = server.ask("POST", "/api/inspect", &question.to_string());
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&both));
    let (before, after) = (array(&both, "coupling").1, array(&both, "touched.coupling").1);
    assert_eq!(before[..64], after[..64], "layer 0 is as it was");
    assert!((after[64 + 7 * 8] - 0.125).abs() < 1e-6);
    assert_eq!(array(&both, "phase"), intact("phase"), "what was not touched stays what it was");

    let pulls = json!({ "question": { "run": "ka", "text": "Anna was" }, "token": 3, "locking": 0.9 });
    let (status, pulls) = server.json("POST", "/api/pulls", &pulls);
    assert_eq!((status, pulls["layers"][1].as_array().unwrap().len()), (200, 4));
    assert_eq!(pulls["coalition"].as_array().unwrap().len(), 3);
    assert!(pulls["touched"].is_null());
    let touched = json!({ "question": question, "token": 3, "locking": 0.9 });
    let (status, touched) = server.json("POST", "/api/pulls", &touched);
    assert_eq!((status, &touched["layers"]), (200, &pulls["layers"]), "the model as it is");
    assert_eq!(touched["touched"]["layers"][0], pulls["layers"][0], "layer 0 is as it was");
    assert_ne!(touched["touched"]["layers"][1], pulls["layers"][1]);

    let write = json!({ "question": { "run": "ka", "text": "Anna" }, "bytes": 5,
                        "sampling": { "temperature": 0.8, "top_p": 1.0, "seed": 1 } });
    let (status, bytes) = server.ask("POST", "/api/generate", &write.to_string());
    let written = frames(&bytes);
    assert_eq!((status, written.len()), (200, 5));
    for message in written {
        assert_eq!(array(message, "phase").0, [3, 8], "the phases of three states");
    }
}

#[test]
fn live_rows_arrive_within_two_seconds() {
    let server = Fixture::new();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(2000))).unwrap();
    let body = json!({ "ka": 0 }).to_string();
    write!(
        stream,
        "POST /api/live HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        server.token,
        body.len()
    )
    .unwrap();
    let mut received = String::new();
    let mut wait_for = |until: &str| {
        let mut buffer = [0; 65536];
        while !received.contains(until) {
            let read = stream
                .read(&mut buffer)
                .unwrap_or_else(|error| panic!("no {until} within two seconds: {error}\n{received}"));
            received += &String::from_utf8_lossy(&buffer[..read]);
        }
    };
    wait_for("\"runs\"");
    wait_for("\"step\":6");
    let path = server.folder.path().join("runs/ka/metrics.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(kuramoto_train::Row { step: 7, ..Default::default() }.to_line().as_bytes()).unwrap();
    wait_for("\"step\":7");
}

#[test]
fn strangers_are_refused() {
    let server = Fixture::new();
    let (host, token) =
        (format!("Host: {}\r\n", server.address), format!("Authorization: Bearer {}\r\n", server.token));
    let status = |path: &str, headers: &str| server.request("GET", path, headers, "").0;
    assert_eq!(status("/api/runs", &format!("{host}{token}")), 200);
    assert_eq!(status("/api/runs", &host), 401, "no token");
    assert_eq!(status("/api/runs", &format!("{host}Authorization: Bearer {}\r\n", "0".repeat(32))), 401);
    assert_eq!(status("/api/runs", &format!("{host}Authorization: Bearer \r\n")), 401);
    assert_eq!(
        status("/api/runs", &format!("Host: evil.example\r\n{token}")),
        403,
        "another name for this address"
    );
    assert_eq!(status("/", "Host: evil.example\r\n"), 403);
    assert_eq!(status("/api/runs", &format!("{host}{token}Origin: http://evil.example\r\n")), 403);
    assert_eq!(status("/api/runs", &format!("{host}{token}Origin: null\r\n")), 403);
    assert_eq!(status("/api/runs", &format!("{host}{token}Sec-Fetch-Site: cross-site\r\n")), 403);
    let twice = format!("{host}Host: evil.example\r\n{token}");
    assert_eq!(status("/api/runs", &twice), 403, "two names");
    assert_eq!(status("/api/runs", &format!("{host}{host}{token}")), 403, "one name twice");
    assert_eq!(status("/api/runs", &token), 403, "no name");
    assert_eq!(status("/api/runs", &format!("{host}{token}{token}")), 401, "two tokens");
    let (status, head, body) = server.request("GET", "/", &host, "");
    assert_eq!(status, 200);
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self'")
            && head.contains("nosniff")
    );
    assert!(!String::from_utf8_lossy(&body).contains(&server.token), "the page does not hold the token");
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let server = Fixture::new();
    for id in ["../secret", "..", "/etc/passwd", "ka/../../secret", "ka/%2e%2e", "ka\u{0}", "", "plan", "."] {
        let (status, answer) = server.json("POST", "/api/inspect", &json!({ "run": id, "text": "Anna" }));
        assert_eq!((status, &answer["error"]), (404, &json!("there is no run of that name")), "{id:?}");
    }
    for path in [
        "/../secret",
        "/..%2fsecret",
        "/api/../secret",
        "/style.css/..",
        "//etc/passwd",
        "/api/rows?run=../secret",
    ] {
        let (status, body) = server.ask("GET", path, "");
        assert!(status == 404 || status == 400, "{path}: {status}");
        assert_ne!(body, b"secret");
    }
}

/// Files of a run may be links, but not to what lies elsewhere.
#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let server = Fixture::new();
    let (root, run) = (server.folder.path(), server.folder.path().join("runs/ka"));
    let reachable = || {
        let (_, runs) = server.json("GET", "/api/runs", &Value::Null);
        let listed = runs.as_array().unwrap().iter().any(|run| run["id"] == "ka");
        let rows = server.ask("GET", "/api/rows?run=ka", "").0;
        let inspected =
            server.ask("POST", "/api/inspect", &json!({ "run": "ka", "text": "Anna" }).to_string()).0;
        (listed, rows, inspected)
    };
    let (there, gone) = ((true, 200, 200), (false, 404, 404));
    assert_eq!(reachable(), there);
    let step = run.join("checkpoints/step-6");
    for (link, aside) in [
        (run.join("metrics.jsonl"), root.join("metrics.jsonl")),
        (run.join("config.toml"), root.join("config.toml")),
        (step.join("model.safetensors"), root.join("model.safetensors")),
        (run.join("checkpoints"), root.join("checkpoints")),
        // A folder within may hold links that were not checked.
        (run.join("checkpoints"), root.join("runs/checkpoints")),
    ] {
        fs::rename(&link, &aside).unwrap();
        symlink(&aside, &link).unwrap();
        assert_eq!(reachable(), gone, "{}", link.display());
        fs::remove_file(&link).unwrap();
        fs::rename(&aside, &link).unwrap();
    }
    symlink(root.join("nothing"), run.join("summary")).unwrap();
    assert_eq!(reachable(), gone, "what it leads to may come to be");
    fs::remove_file(run.join("summary")).unwrap();
    fs::rename(run.join("metrics.jsonl"), run.join("rows")).unwrap();
    symlink("rows", run.join("metrics.jsonl")).unwrap();
    assert_eq!(reachable(), there, "a link within the folder");
}

/// A full context goes on with its second half: what was done to a byte stays with it, or goes with it.
#[test]
fn a_touched_byte_stays_the_touched_byte() {
    let server = Fixture::new();
    let turned =
        |tokens: Value| json!([{ "at": "layer.0.phase", "action": { "rotate": 1.0 }, "tokens": tokens }]);
    let text = "Anna was a merry baker. Anna";
    let question = json!({ "run": "ka", "text": text, "interventions": turned(json!([2, 20])) });
    let write = json!({ "question": question, "bytes": 6,
                        "sampling": { "temperature": 0.0, "top_p": 1.0, "seed": 1 } });
    let (status, stream) = server.ask("POST", "/api/generate", &write.to_string());
    assert_eq!(status, 200);
    let written = frames(&stream);
    let whole: String = text.chars().chain(written.iter().map(|message| char::from(byte(message)))).collect();
    // The last byte was drawn from 32 - 16 bytes and one more.
    let history = &whole[16..33];
    let inspect = json!({ "run": "ka", "text": history, "interventions": turned(json!([4])) });
    let (status, bytes) = server.ask("POST", "/api/inspect", &inspect.to_string());
    assert_eq!(status, 200);
    let phases = array(&bytes, "touched.phase").1;
    let expected: Vec<f32> =
        (0..3).flat_map(|state| &phases[(state * 17 + 16) * 8..][..8]).copied().collect();
    assert_eq!(array(written[5], "phase").1, expected);
}

#[test]
fn nonsense_gets_a_sentence_and_takes_nothing_down() {
    let server = Fixture::new();
    let question = |change: Value| {
        let mut question = json!({ "run": "ka", "text": "Anna was" });
        change.as_object().unwrap().iter().for_each(|(key, value)| question[key] = value.clone());
        question
    };
    let at = |point: &str, action: Value| json!({ "interventions": [{ "at": point, "action": action }] });
    let cases = [
        (question(json!({ "run": "plan/runs/tf" })), 422, "has no phases"),
        (question(json!({ "text": "" })), 422, "empty"),
        (question(json!({ "text": "a".repeat(33) })), 422, "32 can be shown"),
        (question(json!({ "text": "€" })), 422, "does not occur"),
        (question(json!({ "checkpoint": "step-5" })), 422, "step-5"),
        (question(json!({ "checkpoint": "worst" })), 422, "best, last or step-N"),
        (question(json!({ "mood": 1 })), 400, "mood"),
        (question(json!({ "parts": ["mood"] })), 400, "mood"),
        (question(json!({ "text": 7 })), 400, "string"),
        (question(at("layer.9.phase", json!({ "rotate": 1.0 }))), 422, "layers 0 to 1"),
        (question(at("layer.0.mood", json!({ "rotate": 1.0 }))), 400, "hook point"),
        (question(at("layer.0.phase", json!({ "rotate": null }))), 400, ""),
        (
            question(json!({
                "interventions": vec![json!({ "at": "layer.0.phase", "action": { "rotate": 0.1 } }); 65]
            })),
            422,
            "at most 64",
        ),
    ];
    for (body, expected, part) in cases {
        let (status, answer) = server.ask("POST", "/api/inspect", &body.to_string().replace("null", "1e999"));
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, expected, "{body}: {answer}");
        assert!(answer.contains(part), "{body}: {answer}");
    }
    let deep = "[".repeat(100_000);
    for (path, body) in [
        ("/api/inspect", "{"),
        ("/api/inspect", ""),
        ("/api/inspect", "\u{0}"),
        ("/api/inspect", deep.as_str()),
        ("/api/pulls", "{}"),
        ("/api/generate", "[]"),
        ("/api/live", "7"),
        ("/api/pulls", "{\"question\":{\"run\":\"ka\",\"text\":\"Anna\"},\"token\":4,\"locking\":0.9}"),
        ("/api/pulls", "{\"question\":{\"run\":\"ka\",\"text\":\"Anna\"},\"token\":-1,\"locking\":0.9}"),
    ] {
        let (status, _) = server.ask("POST", path, body);
        assert!((400..500).contains(&status), "{path} {body:.40}: {status}");
    }
    let write = |change: Value| {
        let mut asked = json!({ "question": question(json!({})), "bytes": 5,
                                "sampling": { "temperature": 0.8, "top_p": 1.0, "seed": 1 } });
        change.as_object().unwrap().iter().for_each(|(key, value)| asked[key] = value.clone());
        server.ask("POST", "/api/generate", &asked.to_string()).0
    };
    assert_eq!(write(json!({ "bytes": 2001 })), 422);
    assert_eq!(write(json!({ "sampling": { "temperature": -1.0, "top_p": 1.0, "seed": 1 } })), 422);
    assert_eq!(write(json!({ "question": { "run": "ka", "text": "€" } })), 422);
    assert_eq!(server.ask("POST", "/api/inspect", &"x".repeat(1 << 20)).0, 413, "a huge body");
    assert_eq!(server.ask("DELETE", "/api/runs", "").0, 405);
    assert_eq!(server.raw(b"\x16\x03\x01 nonsense\r\n\r\n").0, 400);
    assert_eq!(server.json("GET", "/api/runs", &Value::Null).0, 200, "still there");
}

/// The same folder may hold another run later.
#[test]
fn a_run_that_is_replaced_is_another_model() {
    let server = Fixture::new();
    let inspect =
        || server.ask("POST", "/api/inspect", &json!({ "run": "ka", "text": "Anna was" }).to_string()).1;
    let (before, again) = (inspect(), inspect());
    assert_eq!(before, again);
    let folder = server.folder.path().join("runs/ka");
    fs::remove_dir_all(&folder).unwrap();
    trained_with(&folder, "kuramoto", 7);
    assert_ne!(inspect(), before);
}

#[test]
fn two_hundred_clients_at_a_time() {
    let server = Fixture::new();
    let body = json!({ "run": "ka", "text": "Anna was a" }).to_string();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..200)
            .map(|i| {
                let (server, body) = (&server, &body);
                scope.spawn(move || match i % 3 {
                    0 => server.ask("POST", "/api/inspect", body).0,
                    1 => server.ask("GET", "/api/runs", "").0,
                    _ => server.ask("GET", "/api/rows?run=ka", "").0,
                })
            })
            .collect();
        for client in clients {
            let status = client.join().unwrap();
            assert!(status == 200 || status == 503, "{status}");
        }
    });
    assert_eq!(server.json("GET", "/api/runs", &Value::Null).0, 200);
}

const IMPATIENT: Limits = Limits { connections: 4, patience: Duration::from_millis(300) };

/// Sends a byte every now and then until the server ends the connection; returns what it said.
fn dribble(server: &Fixture, head: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let (start, mut answer, mut buffer) = (Instant::now(), Vec::new(), [0; 4096]);
    while start.elapsed() < Duration::from_secs(4) {
        match stream.read(&mut buffer) {
            Ok(0) => return answer,
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                stream.write_all(b"x").ok();
            }
            Err(_) => return answer,
        }
    }
    panic!("the connection is still open: {}", String::from_utf8_lossy(&answer));
}

#[test]
fn slow_clients_are_sent_away() {
    let server = Fixture::with(IMPATIENT);
    let head = format!("Host: {}\r\nAuthorization: Bearer {}\r\n", server.address, server.token);
    dribble(&server, "");
    dribble(&server, "GET / HT");
    dribble(&server, &format!("GET / HTTP/1.1\r\n{head}X-"));
    let body = format!("POST /api/inspect HTTP/1.1\r\n{head}Content-Length: 1000\r\n\r\n");
    assert_eq!(split(&dribble(&server, &body)).0, 408);
    let chunked = format!("POST /api/inspect HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n3e8\r\n");
    assert_eq!(split(&dribble(&server, &chunked)).0, 408);
}

/// Neither clients that say nothing nor clients that read nothing keep others out for long.
#[test]
fn places_of_idle_clients_are_given_to_others() {
    let server = Fixture::with(IMPATIENT);
    let page = format!("GET /app.js HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).repeat(2000);
    let idle: Vec<TcpStream> = (0..3 * IMPATIENT.connections)
        .map(|client| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
            if client % 2 == 0 {
                stream.write_all(page.as_bytes()).ok();
            }
            stream
        })
        .collect();
    let start = Instant::now();
    assert_eq!(server.ask("GET", "/api/runs", "").0, 200);
    assert!(start.elapsed() > IMPATIENT.patience, "all places were taken");
    drop(idle);
}
