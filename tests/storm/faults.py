"""Kills at random moments and at chosen system calls, and disks that fail: what is left must go on to the same bits."""

import signal

from base import READERS, SMALL, STEPS, made
from program import Broken, rows, tree, weights

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
# The calls that change a disk, and the errors it gives.
WRITING = ["write", "fsync", "rename", "openat", "mkdir", "unlinkat", "ftruncate"]
READING = ["openat", "read", "getdents64", "statx", "lseek", "flock"]
ERRORS = ["EIO", "ENOSPC", "EACCES", "EROFS", "EMFILE", "EDQUOT"]


def interrupt(trial, seconds):
    """How a command is stopped: at a moment, or at a system call."""
    which = trial.rng.choice(SIGNALS)
    if trial.rng.random() < 0.5:
        return {"stop": (trial.rng.random() * seconds * 1.1, which)}
    call, nth = trial.rng.choice(WRITING), trial.rng.randint(1, 150)
    return {"strace": ["-e", f"trace={call}", "-e", f"inject={call}:signal={which.name}:when={nth}"]}


def failing_disk(trial):
    """A disk that fails once, or from then on."""
    call, error = trial.rng.choice(WRITING + READING), trial.rng.choice(ERRORS)
    nth = trial.rng.choice([1, 2, 5, 10, 30, 100, 300]) * (1 + trial.rng.random())
    lasting = trial.rng.choice(["", "", "+"])
    return {"strace": ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={int(nth)}{lasting}"]}


def trained(trial, disturbed):
    """Trains under disturbances, then in peace: the same rows and bits as without."""
    own = trial.rng.random() < 0.3
    first = trial.base.train_data("run") if own else ["train", *SMALL, "--steps", str(STEPS), "--out", "run"]
    expected = trial.base.own if own else (trial.base.rows, trial.base.weights)
    run = trial.folder / "run"
    for _ in range(trial.rng.randint(1, 3)):
        outcome = trial.run(*go_on(run, first), **disturbed())
        if outcome.code == 0 and weights(run, STEPS) != expected[1]:
            raise Broken(f"exit code 0, and other weights: {outcome.err}")
    outcome = trial.run(*go_on(run, first))
    if outcome.code:
        raise Broken(f"it does not go on: {outcome.err}")
    if weights(run, STEPS) != expected[1]:
        raise Broken(f"other weights than without disturbance: {outcome.err}")
    if rows(run) != expected[0]:
        raise Broken(f"other rows than without disturbance: {outcome.err}")
    if (trial.folder / "corpus.txt").read_bytes() != (trial.base.home / "corpus.txt").read_bytes():
        raise Broken("the user's text was changed")
    leftovers = [path for path in run.rglob("*.partial")]
    if leftovers:
        raise Broken(f"leftovers: {leftovers}")


def go_on(run, first):
    """The command that begins, or goes on with, a run."""
    return ["train", "--resume", "run", "--threads", "1"] if (run / "config.toml").exists() else first


def kill_train(trial):
    trained(trial, lambda: interrupt(trial, trial.base.seconds["train"]))


def disk_train(trial):
    trained(trial, lambda: failing_disk(trial))


def lab_run(trial, disturbed):
    trial.take("planned", "plan")
    for _ in range(trial.rng.randint(1, 2)):
        trial.run("lab", "run", "plan", "--threads", "1", **disturbed())
    outcome = trial.run("lab", "run", "plan", "--threads", "1")
    found = {run.name: weights(run, 40) for run in (trial.folder / "plan" / "runs").iterdir()}
    if outcome.code or found != trial.base.plan_weights:
        raise Broken(f"the plan ends in other weights: {outcome.err}")


def kill_lab(trial):
    lab_run(trial, lambda: interrupt(trial, trial.base.seconds["lab"]))


def disk_lab(trial):
    lab_run(trial, lambda: failing_disk(trial))


def reader(trial, disturbed):
    """A reader that is disturbed leaves the run as it was, and says the same or fails; tried again, it works."""
    name = trial.rng.choice([*READERS, "report"])
    if name == "report":
        return report(trial, disturbed)
    trial.take("done")
    before, command = tree(trial.folder / "run"), READERS[name]
    outcome = trial.run(*command, **disturbed(trial.base.seconds[name]))
    # A list leaves out what cannot be read.
    expected = trial.base.printed[name] if name != "runs" else None
    if outcome.code == 0 and expected and (outcome.out, made(trial.folder)) != expected:
        raise Broken(f"exit code 0, and another result: {command}\n{outcome.err}")
    made(trial.folder)
    again = trial.run(*command)
    if again.code:
        raise Broken(f"tried again, it fails: {command}\n{again.err}")
    if expected and (again.out, made(trial.folder)) != expected:
        raise Broken(f"tried again, the result is another: {command}")
    if tree(trial.folder / "run") != before:
        raise Broken(f"a reader changed the run: {command}")


def report(trial, disturbed):
    plan = trial.take("unreported", "plan")
    before = tree(plan / "runs")
    trial.run("lab", "report", "plan", **disturbed(trial.base.seconds["report"]))
    again = trial.run("lab", "report", "plan")
    wanted = sorted(path.name for path in (trial.base.home / "plan").iterdir())
    if again.code or sorted(path.name for path in plan.iterdir()) != wanted:
        raise Broken(f"tried again, the report is not whole: {again.err}")
    if tree(plan / "runs") != before:
        raise Broken("a report changed a run")


def kill_reader(trial):
    reader(trial, lambda seconds: interrupt(trial, seconds))


def disk_reader(trial):
    reader(trial, lambda seconds: failing_disk(trial))


KINDS = {
    "kill-train": kill_train,
    "kill-lab": kill_lab,
    "kill-reader": kill_reader,
    "disk-train": disk_train,
    "disk-lab": disk_lab,
    "disk-reader": disk_reader,
}
