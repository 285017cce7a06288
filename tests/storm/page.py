"""Abuse of the explorer's server over loopback."""

import copy
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from damage import forged_json
from program import PATIENCE, Broken

QUESTION = {"run": "run", "text": "the old sea", "checkpoint": "best"}
TOUCHED = {
    "interventions": [
        {"at": "layer.0.phase", "action": {"rotate": 0.5}, "oscillators": [0, 1], "tokens": [0, 3]},
        {"at": "layer.1.attention", "action": {"flatten": 1.0}},
        {"at": "layer.1.phase.mid", "action": {"clamp": [0.1]}},
        {"at": "layer.2.phase", "action": {"fade": 0.5}},
    ],
    "changes": [{"scale-tau": 2.0}],
}
SAMPLING = {"temperature": 0.8, "top_p": 0.9, "seed": 1}
BODIES = {
    "/api/inspect": {**QUESTION, **TOUCHED, "parts": ["bits", "likely", "phase", "order"]},
    "/api/pulls": {"question": {**QUESTION, **TOUCHED}, "token": 3, "locking": 0.9},
    "/api/generate": {"question": {**QUESTION, **TOUCHED}, "bytes": 5, "sampling": SAMPLING},
    "/api/live": {"run": 0, "plan/runs/x": 10},
}
PATHS = ["/", "/app.js", "/api/runs", "/api/rows?run=run", "/api/rows?run=run&read=10", "/api/sample?run=run", "/api/about?run=run", *BODIES]
NASTY = [
    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/rows?run=../secret", "/api/rows?run=%00",
    "/api/rows", "/api/rows?run=run&read=-1", "/api/rows?run=run&read=18446744073709551616", "/api/rows?run=%ff%fe",
    "/api/sample?run=run&run=run", "/\x1b[31m", "/" + "a" * 60_000, "*", "http://evil.example/", "/api/sample?run=" + "x" * 9000,
    "/api/rows?run=run&read=18446744073709551615", "/api/sample?run=.", "/style.css/..", "", "/api/sample?%", "/\xff",
]
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X" * 5000, ""]
# Resident memory of a server that holds a few models of some kilobytes.
MOST_MEMORY = 512 << 20


class Server:
    """A server over a folder with one run, and what it printed."""

    def __init__(self, base, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        (self.folder / "secret").write_text("secret")
        shutil.copytree(base.home / "done", self.folder / "runs" / "run")
        self.log = open(self.folder / "log", "w+")
        self.process = subprocess.Popen(
            [base.binary, "explore", self.folder / "runs", "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )
        link = self.process.stdout.readline().decode()
        address, self.token = re.fullmatch(r"http://(.+)/#token=(\w+)\n", link).groups()
        self.host = address
        name, port = address.rsplit(":", 1)
        self.address = (name, int(port))

    def connect(self):
        return socket.create_connection(self.address, timeout=PATIENCE)

    def send(self, data, read=True):
        """Sends bytes as they are; returns what comes back until the server ends or has answered."""
        with self.connect() as stream:
            try:
                stream.sendall(data)
                # Streams without end are read for a moment.
                stream.settimeout(0.3 if b"/api/live" in data[:100] else PATIENCE)
                answer = b""
                while read and (piece := stream.recv(65536)):
                    answer += piece
                return answer
            except TimeoutError:
                if b"/api/live" in data[:100]:
                    return answer
                raise Broken(f"no answer: {data[:300]!r}") from None
            except ConnectionError:
                return b""

    def request(self, method, path, body=b"", headers=None):
        head = {"Host": self.host, "Authorization": f"Bearer {self.token}", "Connection": "close", "Content-Length": len(body)}
        head.update(headers or {})
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items() if value is not None)
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1", "replace") + body

    def check(self, answer, what):
        """No answer shows a secret or a failure of the server's; and it still serves."""
        status = re.match(rb"HTTP/1\.1 (\d+)", answer)
        if answer and not status:
            raise Broken(f"not an answer: {answer[:200]!r} to {what}")
        if status and status[1].startswith(b"5") and status[1] != b"503":
            raise Broken(f"status {status[1]} to {what}: {answer[-300:]!r}")
        if b"root:" in answer or answer.endswith(b"secret"):
            raise Broken(f"a file from elsewhere was served to {what}")
        self.alive(what)

    def alive(self, what):
        if self.process.poll() is not None:
            raise Broken(f"the server ended with {self.process.returncode} after {what}")
        answer = self.send(self.request("GET", "/api/runs"))
        if not answer.startswith(b"HTTP/1.1 200") or b'"id":"run"' not in answer:
            raise Broken(f"it no longer serves: {answer[:200]!r} after {what}")
        self.log.seek(0)
        said = self.log.read()
        if "panicked" in said:
            raise Broken(f"a panic: {said[-1000:]} after {what}")
        status = Path(f"/proc/{self.process.pid}/status")
        resident = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
        if resident and int(resident[1]) << 10 > MOST_MEMORY:
            raise Broken(f"the server holds {resident[1]} kB after {what}")

    def close(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Broken("the server does not stop at Ctrl-C") from None
        finally:
            self.process.stdout.close()
            self.log.close()
        if self.process.returncode not in (0, 130):
            raise Broken(f"the server ended with {self.process.returncode}")


_servers = threading.local()
_open = []


def server(base):
    """The server of this thread."""
    current = getattr(_servers, "server", None)
    if current is None or current.process.poll() is not None:
        current = Server(base, base.folder / f"server-{threading.get_ident()}-{time.monotonic_ns()}")
        _servers.server = current
        _open.append(current)
    return current


def close_all():
    for current in _open:
        if current.process.poll() is None:
            current.close()


def nonsense(trial):
    """A body that is almost right, or not at all."""
    rng, here = trial.rng, server(trial.base)
    path = rng.choice(list(BODIES))
    body = copy.deepcopy(BODIES[path])
    for _ in range(rng.choice([1, 1, 2, 3])):
        if isinstance(body, dict) and body:
            body = forged_json(rng, body)
    text = json.dumps(body).encode()
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice([b"", b"\0", b"\xff", b"1e999", b"{" * 10_000, b'"', text]) + text[at + 1 :]
    here.check(here.send(here.request("POST", path, text)), f"POST {path} {text[:500]!r}")


def malformed(trial):
    """Requests that are no requests, or those of strangers."""
    rng, here = trial.rng, server(trial.base)
    how = rng.randrange(9)
    path = rng.choice(PATHS + NASTY)
    method = rng.choice(METHODS)
    body = rng.choice([b"", b"{}", rng.randbytes(100), b"x" * 300_000, b"x" * 3_000_000])
    if how == 0:
        data = rng.randbytes(rng.randrange(1, 2000)) + b"\r\n\r\n"
    elif how == 1:
        data = here.request(method, path, body)
        at = rng.randrange(len(data))
        data = data[:at] + rng.randbytes(rng.randrange(4)) + data[at + 1 :]
        data = data.replace(b"keep-alive", b"close")
    elif how == 2:
        wrong = rng.choice(["", "Bearer", "Bearer ", "Bearer " + "0" * 32, "Basic x", f"Bearer {here.token}x", here.token, "Bearer \xff"])
        data = here.request("GET", "/api/runs", headers={"Authorization": wrong})
        answer = here.send(data)
        if not answer.startswith((b"HTTP/1.1 401", b"HTTP/1.1 400")):
            raise Broken(f"the token {wrong!r} opens the server: {answer[:100]!r}")
    elif how == 3:
        host = rng.choice([None, "", "evil.example", f"{here.host}\r\nHost: evil.example", f"{here.host}\r\nHost: {here.host}", "\xff", "x" * 9000])
        data = here.request("GET", "/api/runs", headers={"Host": host})
        answer = here.send(data)
        if answer and not answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")):
            raise Broken(f"the host {host!r} is answered: {answer[:100]!r}")
    elif how == 4:
        many = "".join(f"X-{i}: {'y' * rng.randrange(200)}\r\n" for i in range(rng.choice([50, 99, 101, 5000])))
        data = here.request("GET", "/", headers={"X": f"1\r\n{many}Y: 1"})
    elif how == 5:
        length = rng.choice(["-1", "x", "18446744073709551616", "1\r\nContent-Length: 2", "999999999999", "0x5", "+1", ""])
        data = here.request("POST", rng.choice(list(BODIES)), body[:1000], headers={"Content-Length": length})
    elif how == 6:
        size = rng.choice([b"ffffffffffffffff", b"-1", b"5", b"0", b"zz", b"fffffffffffffffffffff"])
        chunks = size + b"\r\n" + rng.choice([b"hello\r\n0\r\n\r\n", b"", b"\r\n" * 50])
        head = {"Content-Length": None, "Transfer-Encoding": rng.choice(["chunked", "chunked, chunked", "gzip", "identity"])}
        data = here.request("POST", rng.choice(list(BODIES)), b"", headers=head) + chunks
    else:
        data = here.request(method, path, body)
    # What says that more will come is not waited for: the slow are another kind of trial.
    answer = b""
    with here.connect() as stream:
        try:
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            stream.settimeout(1 if b"/api/live" in data[:100] else PATIENCE)
            while piece := stream.recv(65536):
                answer += piece
        except TimeoutError:
            if b"/api/live" not in data[:100]:
                raise Broken(f"no answer and no end: {data[:300]!r}") from None
        except OSError:
            pass
    here.check(answer if answer.startswith(b"HTTP/1.1") else b"", f"{data[:300]!r}")


def crowd(trial):
    """Many at a time: some ask, some send half a request, some leave without reading."""
    rng, here = trial.rng, server(trial.base)
    streams, wrong = [], []

    def ask(data):
        answer = here.send(data)
        if not re.match(rb"HTTP/1\.1 (200|503)", answer):
            wrong.append(answer[:200])

    for _ in range(rng.randint(5, 60)):
        stream = here.connect()
        data = here.request(*rng.choice([("GET", "/app.js"), ("GET", "/api/runs"), ("POST", "/api/live", b'{"run":0}')]))
        stream.sendall(data[: rng.randrange(len(data))] if rng.random() < 0.7 else data)
        streams.append(stream)
    body = json.dumps(BODIES["/api/inspect"]).encode()
    threads = [threading.Thread(target=ask, args=[here.request("POST", "/api/inspect", body)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for stream in streams:
        stream.close()
    if wrong:
        raise Broken(f"answers in a crowd: {wrong}")
    here.alive("a crowd")


INPUTS = {"request-body": nonsense, "request": malformed, "crowd": crowd}
