"""Runs the program under limits, and checks what holds of every run of it, whatever it was given."""

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Address space of one process. The models of the storm need a few megabytes.
MEMORY = 4 << 30
# A process that was asked to end, or that has little to do, is gone by then, also on a busy machine.
PATIENCE = 30.0
# Done, failed, not understood; stopped by Ctrl-C, by SIGTERM, by a closed pipe.
CODES = {0, 1, 2, 130, 141, 143}
# A library that cannot be loaded is reported by the system's loader, before the program begins.
LOADER = "error while loading shared libraries"


class Broken(Exception):
    """What must hold does not."""


@dataclass
class Outcome:
    args: list
    code: int  # as a shell reports it
    out: bytes
    err: str
    signalled: bool  # by the storm

    def first_error(self):
        return next((line for line in self.err.splitlines() if line.startswith("error:")), "")


class Program:
    """The program, a folder to run it in, and the cache that its runs share."""

    def __init__(self, binary, folder, cache):
        self.binary, self.folder, self.cache = str(binary), Path(folder), Path(cache)

    def run(self, *args, stop=None, strace=None, user=None, deadline=None, serves=False):
        """Runs a command. `stop` is (seconds, signal); a command that still works at `deadline` is asked to end;
        one that waits for something, and does not serve, hangs."""
        args = [os.fsencode(arg) if isinstance(arg, str) else bytes(arg) for arg in args]
        command = [self.binary, *args]
        if strace:
            command = ["strace", "-f", "-qqq", "--seccomp-bpf", "-o", "/dev/null", *strace, *command]
        environment = dict(os.environ, KURAMOTO_CACHE=str(self.cache), RUST_BACKTRACE="0", NO_COLOR="1")
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            user=user,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        signalled = False

        def send(which):
            nonlocal signalled
            signalled = True
            try:
                process.send_signal(which)
            except ProcessLookupError:
                pass

        timers = []
        if stop:
            timers.append(threading.Timer(stop[0], send, [stop[1]]))
        idle = threading.Event()
        if deadline:

            def end():
                if not serves and sleeps(process.pid):
                    idle.set()
                send(signal.SIGTERM)

            timers.append(threading.Timer(deadline, end))
        for timer in timers:
            timer.start()
        try:
            out, err = process.communicate(timeout=PATIENCE + (deadline or 0))
        except subprocess.TimeoutExpired:
            raise Broken(f"it hangs: {shown(args)}") from None
        finally:
            for timer in timers:
                timer.cancel()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        if idle.is_set():
            raise Broken(f"it waits for something that does not come: {shown(args)}")
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        outcome = Outcome(args, code, out, err.decode(errors="surrogateescape"), signalled or bool(strace))
        check(outcome, killed=process.returncode < 0)
        return outcome


def sleeps(pid):
    """True if no thread of a process has worked for a while, and no process works for it."""
    threads = Path(f"/proc/{pid}/task")
    for _ in range(10):
        try:
            if any(children.read_text() for children in threads.glob("*/children")):
                return False
            states = [stat.read_text().rpartition(")")[2].split()[0] for stat in threads.glob("*/stat")]
        except OSError:
            return False
        if not states or any(state != "S" for state in states):
            return False
        time.sleep(0.05)
    return True


def shown(args):
    """A command as text, with what is very long cut short."""
    words = (repr(arg)[1:] if len(arg) < 200 else f"{arg[:40]!r}..({len(arg)} bytes)" for arg in args)
    return "kuramoto " + " ".join(words)


def check(outcome, killed):
    """What holds of every outcome."""
    what = f"{shown(outcome.args)}\n{outcome.err[-2000:]}"
    if "panicked" in outcome.err or outcome.code == 101:
        raise Broken(f"a panic: {what}")
    if killed and outcome.code - 128 not in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        raise Broken(f"ended by signal {outcome.code - 128}: {what}")
    if killed and not outcome.signalled:
        raise Broken(f"ended by a signal that nobody sent: {what}")
    if outcome.code == 127 and LOADER in outcome.err:
        return
    if outcome.code not in CODES and not killed:
        raise Broken(f"exit code {outcome.code}: {what}")
    if "\x1b" in outcome.err or (b"\x1b" in outcome.out and b"generate" not in outcome.args):
        raise Broken(f"a raw escape sequence is printed: {what}")
    if outcome.code in (1, 2) and not killed and not outcome.signalled:
        check_error(outcome, what)


def check_error(outcome, what):
    """An error is one line that names an argument, a flag, a file or a key."""
    lines = [line for line in outcome.err.splitlines() if line.startswith("error:")]
    if len(lines) != 1:
        raise Broken(f"not one line of error but {len(lines)}: {what}")
    message = outcome.err[outcome.err.index("error:") :]
    words = [word for arg in outcome.args for word in os.fsdecode(arg).lstrip("-").split("=", 1)]
    # Also - for standard input, and KEY = VALUE.
    named = any(word and word in message for word in words) or re.match(r"error: (-|[\w.-]+ =) ", message)
    # A flag, a path, a key, something quoted, or what could not be shown at all.
    if not named and not re.search(r"--[a-z]|[\w.-]+/[\w.-]+|\w\.\w|'.*'|\\u\{|invalid UTF-8", message, re.DOTALL):
        raise Broken(f"the error names nothing: {what}")


def tree(folder):
    """What is in a folder: names and hashes, but for the lock, which every trainer opens."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file() and path.name != "lock" and os.access(path, os.R_OK):
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def weights(run, step):
    """Hashes of parameters and moments after a step."""
    folder = Path(run) / "checkpoints" / f"step-{step}"
    names = ("model.safetensors", "optimizer.safetensors")
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names]


def rows(run):
    """Rows of a run without what depends on the clock."""
    clock = {"seconds", "tokens_per_second", "utilisation"}
    lines = (Path(run) / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key not in clock} for line in lines]


def install(binary, folder):
    """A copy of the program that any user may start, also where the checkout is in a folder of one user alone."""
    installed = shutil.copy(binary, folder)
    for path in (folder, installed):
        os.chmod(path, 0o755)
    return installed


def copy(source, target):
    shutil.copytree(source, target, symlinks=True)
    return Path(target)


def duration(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start
