"""Absurd command lines, made of the help of every command."""

import os
import re
import subprocess

from base import SMALL
from program import Broken

# A command that works, and takes moments; flags are added to it.
COMMANDS = {
    "train": [*SMALL, "--steps", "3", "--out", "new"],
    "runs": ["."],
    "runs compare": ["run", "other"],
    "runs note": ["run", "a note"],
    "runs tag": ["run", "a-tag"],
    "runs remove": ["other", "--yes"],
    "eval": ["run"],
    "generate": ["run", "--bytes", "20"],
    "diagnose": ["run", "--windows", "1", "--out", "made"],
    "lesion": ["run", "--windows", "1", "--doses", "0,1", "--out", "made"],
    "pulls": ["run", "--prompt", "the old"],
    "export": ["run", "--to", "made.npz", "--text", "text"],
    "explore": [".", "--no-browser"],
    "site": ["made", "--module", "text"],
    "devices": [],
    "simulate": ["--oscillators", "50", "--couplings", "1", "--settle", "1", "--measure", "1", "--out", "made"],
    "match": ["--budget", "6k"],
    "models": [],
    "completions": ["bash"],
    "man": ["made"],
    "bench": ["--only", "no-such-model"],
    "lab plan": ["compare", "--scale", "smoke", "--out", "new"],
    "lab run": ["plan"],
    "lab status": ["plan"],
    "lab report": ["plan"],
    "lab submit": ["plan", "--slurm", "--dry-run"],
}
# Would use the network, or a cluster, or say nothing of interest.
LEFT_OUT = {"download", "help", "version", "slurm", "kubernetes"}
# A pipe may be meant, as in --config <(..): it is waited for.
READ_AS_GIVEN = {"config", "graph", "interventions", "text"}
VALUES = [
    "0", "-0", "1", "-1", "2", "0.5", "1e-400", "NaN", "inf", "-inf", "1e308", "1e39", "3e38", "1e-308",
    "1000000000000000000", "18446744073709551615", "18446744073709551616", "9" * 400, "", " ", "\n", "🦀", "é",
    "\x1b[31mred\x1b[0m", "x" * 100_000, "a" * 300, ".", "-", "--", "=", "a=b", "a=", "=b", ",", ",,", "1,2,3",
    "0,0", "1-0", "0-18446744073709551615", "0-999999999999", "%s%n", "../x", "/dev/null", "/dev/zero", "/dev/full",
    "/nowhere/x", "pipe", "text", "run", "plan", "weights", "made.zarr", "made.npz", "0x10", "1_000", "1M", "1e3k", "١",
    "best", "last", "step-120", "step-0", "step-18446744073709551616", "none", "true", "data.bytes=0",
    "data.bytes=1000000000000000000", "model.width=1000000000", "optimizer.beta1=nan", "optimizer.epsilon=0",
    "batch.lanes=0", "batch.lanes=1000000000", "length.steps=1000000000000000000", "model.init.self-score=inf",
    "validation.windows=1000000000000000000", "seed=-1", "seed=18446744073709551616", os.fsdecode(b"\xff\xfe"),
]
# A command that works on is asked to end after this many seconds.
DEADLINE = 1.0

_flags = {}


def flags_of(binary, command):
    """Flags of a command and whether they take a value, from its help."""
    if command not in _flags:
        text = subprocess.run([binary, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)( <)?", text, re.MULTILINE)
        _flags[command] = [(name, bool(value)) for name, value in found if name not in LEFT_OUT]
    return _flags[command]


def commands(binary, above=()):
    """Every command that the help lists, with those below it."""
    text = subprocess.run([binary, *above, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.MULTILINE)
    names = re.findall(r"^  ([a-z-]+) ", listed[1], re.MULTILINE) if listed else []
    below = [commands(binary, (*above, name)) for name in names if name != "help"]
    return [command for found in below for command in found] or [" ".join(above)]


def check_commands(binary):
    """A command that is new must be tried too."""
    if missing := set(commands(binary)) - set(COMMANDS):
        raise Broken(f"tests/storm/flags.py does not try {', '.join(sorted(missing))}")


def value(rng):
    if rng.random() < 0.1:
        return "".join(chr(rng.choice([rng.randrange(1, 128), rng.randrange(0xA0, 0xD800)])) for _ in range(rng.randrange(20)))
    if rng.random() < 0.1:
        return str(rng.choice([-1, 1]) * rng.random() * 10.0 ** rng.randint(-300, 300))
    return rng.choice(VALUES)


def absurd(trial):
    rng = trial.rng
    trial.take("done")
    trial.take("half", "other")
    trial.take("unreported", "plan")
    os.mkfifo(trial.folder / "pipe")
    command = rng.choice(list(COMMANDS))
    args = list(COMMANDS[command])
    # A command without flags of its own gets one that it does not know.
    flags = flags_of(trial.base.binary, command) or [("stranger", True)]
    for name, takes in rng.choices(flags, k=rng.choice([1, 1, 1, 2, 3])):
        flag = f"--{name}"
        if not takes:
            args.append(flag)
            continue
        # A flag that is there already gets the other value: given twice, it would only be refused for that.
        if flag in args and name != "set":
            at = args.index(flag)
            del args[at : at + 2]
        given = value(rng)
        if given == "pipe" and name in READ_AS_GIVEN:
            given = "text"
        args += [f"{flag}={given}"] if rng.random() < 0.5 else [flag, given]
    if args and rng.random() < 0.1:
        args[rng.randrange(len(args))] = value(rng)
    if rng.random() < 0.05:
        args.append(value(rng))
    text = (trial.folder / "text").read_bytes()
    trial.run(*command.split(), *args, deadline=DEADLINE, serves=command == "explore")
    if command == "runs remove" and "run" not in args and not (trial.folder / "run" / "config.toml").exists():
        raise Broken("another run was removed than the one that was named")
    if command != "export" and "text" not in args and (trial.folder / "text").read_bytes() != text:
        raise Broken("the user's text was changed")


INPUTS = {"flags": absurd}
