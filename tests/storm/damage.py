"""Files that were damaged, forged, or replaced by what is no file."""

import hashlib
import json
import math
import os
import shutil
import socket
import struct
from pathlib import Path

from base import READERS, STEPS, made
from program import Broken, rows, tree, weights

NOBODY = 65534


def files(run):
    return sorted(path for path in run.rglob("*") if path.is_file() and path.name != "lock")


def read_or_refused(trial, may_differ=False, refused=False, user=None):
    """Every reader says what it says of the undamaged run, or refuses; none changes the run."""
    name = trial.rng.choice(list(READERS))
    before = tree(trial.folder / "run")
    outcome = trial.run(*READERS[name], deadline=20, user=user)
    found = (outcome.out, made(trial.folder))
    if outcome.code == 0 and name != "runs" and not may_differ and found != trial.base.printed[name]:
        raise Broken(f"damage was used without a word: {READERS[name]}\n{outcome.err}")
    if outcome.code == 0 and refused and name not in ("runs", "generate-older"):
        raise Broken(f"weights that are not finite were used: {READERS[name]}")
    if tree(trial.folder / "run") != before:
        raise Broken(f"a reader changed the run: {READERS[name]}")


def resumed_or_refused(trial, what):
    """A damaged run goes on to the same bits, or is refused and left as it was."""
    run = trial.folder / "run"
    before = tree(run)
    outcome = trial.run("train", "--resume", "run", "--steps", str(STEPS), "--threads", "1", deadline=20)
    if outcome.code == 0:
        if weights(run, STEPS) != trial.base.weights:
            raise Broken(f"{what}: it goes on with other weights: {outcome.err}")
        # A digit that became another one cannot be seen.
        if what == "metrics.jsonl" and "metrics.jsonl" not in outcome.err and steps(run) != [*range(1, STEPS + 1)]:
            raise Broken(f"{what}: damaged rows are not named: {outcome.err}")
    elif tree(run) != before:
        raise Broken(f"{what}: it was refused, and yet changed: {outcome.err}")


def steps(run):
    """Steps of the rows of a run, or nothing if there are lines that are no rows."""
    try:
        return [row["step"] for row in rows(run)]
    except (ValueError, KeyError):
        return None


def hurt(rng, data):
    """Flipped, cut, lengthened or overwritten bytes."""
    data = bytearray(data)
    how = rng.choice(["flip", "flip", "flip", "cut", "empty", "longer", "zero", "noise"])
    at = rng.randrange(len(data)) if data else 0
    if how == "flip" and data:
        data[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[at:]
    elif how == "empty":
        data.clear()
    elif how == "zero":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    elif how == "noise":
        data[at : at + 16] = rng.randbytes(16)
    else:
        data += rng.randbytes(rng.randint(1, 100))
    return bytes(data)


def flip(trial):
    resume = trial.rng.random() < 0.4
    run = trial.take("half" if resume else "done")
    path = trial.rng.choice(files(run))
    path.write_bytes(hurt(trial.rng, path.read_bytes()))
    # TensorBoard's events are written, never read.
    if resume:
        resumed_or_refused(trial, path.name)
    else:
        read_or_refused(trial)


def corpus(trial):
    """A run whose corpus, or its prepared copy, was damaged."""
    trial.take("own")
    if trial.rng.random() < 0.5:
        trial.run("eval", "run", "--threads", "1")
    damaged = trial.rng.choice([trial.folder / "corpus.txt", *files(trial.folder / "cache")])
    damaged.write_bytes(hurt(trial.rng, damaged.read_bytes()))
    outcome = trial.run("eval", "run", "--threads", "1", deadline=20)
    text = (trial.folder / "corpus.txt").read_bytes()
    if outcome.code == 0 and text == (trial.base.home / "corpus.txt").read_bytes():
        fresh = trial.run("eval", "run", "--threads", "1")
        if fresh.out != outcome.out:
            raise Broken(f"a damaged cache was used: {outcome.err}")


def odd(trial):
    """A pipe, socket, device, folder, loop or secret in the place of a file, or strangers beside it."""
    resume = trial.rng.random() < 0.4
    run = trial.take("half" if resume else "done")
    entries = [path for path in sorted(run.rglob("*")) if path.name != "lock"]
    path = trial.rng.choice(entries)
    beside = trial.rng.random() < 0.3
    if beside:
        names = ["step-99", "step-007", "step-99999999999999999999", ".step-130.partial", "x\x1b[31m", "a\nb"]
        folder = path if path.is_dir() else path.parent
        path = trial.rng.choice([folder / name for name in names] + [Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe"))])
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    user = make_odd(trial.rng, path, trial.folder)
    if resume:
        resumed_or_refused(trial, path.name)
    else:
        read_or_refused(trial, user=user)


NAMES = [b"run\xff\xfe", b"\x1b[31mrun", b"a\nb", b"r" * 255, b"-run", b"--help", "läuft 🦀".encode(), b" ", b"..."]


def odd_name(trial):
    """A run that was given a name that is hard to show or to write: it is read and resumed as any other."""
    resume = trial.rng.random() < 0.4
    run = trial.take("half" if resume else "done")
    name = trial.rng.choice(NAMES)
    os.rename(run, os.fsencode(trial.folder) + b"/" + name)
    path = b"./" + name
    if resume:
        outcome = trial.run("train", "--resume", path, "--threads", "1", deadline=20)
    else:
        command = READERS[trial.rng.choice(list(READERS))]
        outcome = trial.run(*(path if word == "run" else word for word in command), deadline=20)
    if outcome.code:
        raise Broken(f"a run named {name!r} is refused: {outcome.err}")


def make_odd(rng, path, folder):
    """Returns the user as whom the program is run, because root reads everything."""
    kind = rng.choice(["pipe", "socket", "folder", "loop", "nowhere", "device", "missing", "secret", "full"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        # The name of a socket may have 107 bytes: bind it nearby, then move it.
        here = os.open(folder, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/s")
        os.close(here)
        os.rename(folder / "s", path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "nowhere":
        path.symlink_to("/nowhere/at/all")
    elif kind == "device":
        path.symlink_to(rng.choice(["/dev/zero", "/dev/full", "/dev/tty"]))
    elif kind == "full":
        path.mkdir()
        (path / "something").write_text("of the user's")
    elif kind == "secret":
        path.write_text("{}")
        path.chmod(0)
        return NOBODY if os.getuid() == 0 else None
    return None


def safetensors(data):
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def pack(header, payload, size=None):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + payload


def forged_weights(rng, data):
    """Weights that are well formed but wrong, or hardly formed."""
    header, payload = safetensors(data)
    names = [name for name in header if name != "__metadata__"]
    name = rng.choice(names)
    how = rng.randrange(12)
    if how == 0:
        floats = bytearray(payload)
        at = rng.randrange(len(payload) // 4) * 4
        floats[at : at + 4] = struct.pack("<f", rng.choice([float("nan"), float("inf"), -float("inf"), 3e38]))
        return pack(header, bytes(floats))
    if how == 1:
        return pack(header, struct.pack("<f", float("nan")) * (len(payload) // 4))
    if how == 2:
        header[name]["shape"] = rng.choice([[], [0], [1, 1, 1], [2**63], [2**32, 2**32], [-1], [10**30], header[name]["shape"][::-1] + [1]])
    elif how == 3:
        header[name]["dtype"] = rng.choice(["F64", "BF16", "I8", "F32 ", "", "🦀"])
    elif how == 4:
        header[name]["data_offsets"] = rng.choice([[0, 2**63], [5, 1], [0, 0], [-4, 0], [2**64 - 4, 2**64], [0, len(payload)]])
    elif how == 5:
        del header[name]
    elif how == 6:
        header["stranger"] = {"dtype": "F32", "shape": [0], "data_offsets": [len(payload), len(payload)]}
    elif how == 7:
        return pack(header, payload, rng.choice([0, 1, 2**31, 2**40, 2**63, 2**64 - 1, 100_000_001]))
    elif how == 8:
        header["__metadata__"] = rng.choice([None, {"a": 1}, {"a": "b" * 100_000}, [], "x"])
    elif how == 9:
        return pack(header, payload[: rng.randrange(len(payload))])
    elif how == 10:
        return struct.pack("<Q", 200_000) + b"[" * 200_000 + payload
    else:
        header[name] = rng.choice([None, 1, [], {}, {"shape": []}])
    return pack(header, payload)


def finite(data):
    """False if the values of a weight file hold one that is not finite; a file that is cut is judged by others."""
    size = struct.unpack("<Q", data[:8])[0]
    payload = data[8 + size :] if size < len(data) else b""
    return all(math.isfinite(x) for (x,) in struct.iter_unpack("<f", payload[: len(payload) // 4 * 4]))


NUMBERS = [0, -1, 1, 10**18, 2**64, 10**40, 1e308, -1e308, float("nan"), float("inf"), None, "x", "", [], {}, True, 0.5]


def forged_json(rng, value):
    """A document with one value replaced, taken out or added."""
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    if isinstance(value, (dict, list)):
        walk(value)
    if not places:
        return rng.choice(NUMBERS)
    node, key = rng.choice(places)
    how = rng.randrange(6)
    if how == 0:
        del node[key]
    elif how == 1 and isinstance(node, dict):
        node[rng.choice(["stranger", "../../x", "\x1b[31m", "é" * 1000])] = rng.choice(NUMBERS)
    else:
        node[key] = rng.choice(NUMBERS + ["../" * 20 + "etc/passwd", "\x1b[31mred", "step-1", "x" * 100_000])
    return value


def forged_text(rng, text):
    """A file of keys and values with one value replaced."""
    lines = text.splitlines()
    at = rng.randrange(len(lines)) if lines else 0
    values = ["0", "-1", "nan", "inf", "1e308", "1000000000000000000", '""', '"\x1b[31m"', "[]", "step-7", "../..", "{" * 5000]
    line = lines[at] if lines else ""
    changed = line.split("=")[0] + "= " + rng.choice(values) if "=" in line else rng.choice(values)
    return "\n".join([*lines[:at], changed, *lines[at + 1 :]]) + "\n"


def forge(trial):
    """Files that someone wrote with care: hashes agree, values do not make sense."""
    resume = trial.rng.random() < 0.4
    run = trial.take("half" if resume else "done")
    path = trial.rng.choice([path for path in files(run) if "tfevents" not in path.name])
    data = path.read_bytes()
    if path.suffix == ".safetensors":
        data = forged_weights(trial.rng, data)
    elif path.suffix == ".json":
        data = json.dumps(forged_json(trial.rng, json.loads(data))).encode()
    elif path.suffix == ".jsonl":
        lines = data.splitlines()
        at = trial.rng.randrange(len(lines) - 1)
        lines[at] = json.dumps(forged_json(trial.rng, json.loads(lines[at]))).encode()
        data = b"\n".join(lines) + b"\n"
    else:
        data = forged_text(trial.rng, data.decode()).encode()
    path.write_bytes(data)
    manifest = path.parent / "manifest.json"
    if path.parent.parent.name == "checkpoints" and path != manifest:
        proofs = json.loads(manifest.read_text())
        proofs["files"][path.name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest.write_text(json.dumps(proofs))
    if resume:
        outcome = trial.run("train", "--resume", "run", "--steps", str(STEPS), "--threads", "1", deadline=20)
        newest = sorted(run.glob("checkpoints/step-*"), key=lambda path: path.stat().st_mtime)[-1]
        if outcome.code == 0 and b"\0\0\xc0\x7f" in (newest / "model.safetensors").read_bytes():
            raise Broken(f"parameters that are not finite were saved: {outcome.err}")
    else:
        best = path.name == "model.safetensors" and path.parent.name == f"step-{STEPS}"
        read_or_refused(trial, may_differ=True, refused=best and not finite(data))


def forge_plan(trial):
    """A plan, or a run of it, that is not what was planned: refused, or reported as unfinished."""
    plan = trial.take(trial.rng.choice(["unreported", "planned"]), "plan")
    choices = [path for path in files(plan) if "tfevents" not in path.name]
    path = trial.rng.choice([plan / "plan.json", *choices])
    data = path.read_bytes()
    if path.suffix == ".json" and trial.rng.random() < 0.7:
        data = json.dumps(forged_json(trial.rng, json.loads(data))).encode()
    else:
        data = hurt(trial.rng, data)
    path.write_bytes(data)
    before = tree(plan)
    for command in (["lab", "status", "plan"], ["lab", "report", "plan"]):
        trial.run(*command, deadline=20)
    after = tree(plan)
    if any(after.get(name) != value for name, value in before.items()):
        raise Broken("status or report changed the plan")


KINDS = {"flip": flip, "corpus": corpus, "odd-file": odd, "odd-name": odd_name}
INPUTS = {"forged-file": forge, "forged-plan": forge_plan}
