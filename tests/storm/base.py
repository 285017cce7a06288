"""What a storm is measured against: a run, a plan and an export that nothing disturbed."""

import random
import shutil
import tempfile
from pathlib import Path

from program import Broken, Program, copy, duration, install, rows, weights

STEPS = 120
SMALL = (
    "--set data.bytes=300000 --width 8 --layers 2 --batch 4 --context 32 --validation-windows 20 "
    "--validate-every 10 --threads 1"
).split()
# What is read of a run, and what it prints. None writes into the run.
READERS = {
    "generate": ["generate", "run", "--bytes", "40"],
    "generate-older": ["generate", "run", "--bytes", "40", "--checkpoint", "step-100"],
    "eval": ["eval", "run", "--threads", "1"],
    "runs": ["runs", ".", "--json"],
    "pulls": ["pulls", "run", "--prompt", "the old", "--json"],
    "diagnose": ["diagnose", "run", "--windows", "2", "--threads", "1", "--against", "none", "--out", "made"],
    "lesion": ["lesion", "run", "--windows", "1", "--threads", "1", "--doses", "0,1", "--out", "made"],
    "export": ["export", "run", "--to", "made.npz", "--text", "text"],
    "weights": ["export", "run", "--to", "weights", "--out", "made"],
}


class Base:
    """Folders made once, copied by every trial: `done` is a finished run, `half` the same run killed near its end."""

    def __init__(self, binary, folder):
        self.folder = Path(folder)
        # Not in the storm's folder: programs may not be started in /dev/shm everywhere. It is removed with the process.
        self.installed = tempfile.TemporaryDirectory(prefix="kuramoto-storm-")
        self.binary = install(binary, self.installed.name)
        self.cache = self.folder / "cache"
        self.home = self.folder / "base"
        self.home.mkdir(parents=True)
        rng = random.Random(0)
        words = ["the", "old", "sea", "bowed", "under", "a", "green", "lantern", "Anna", "said."]
        text = " ".join(rng.choice(words) for _ in range(20_000))
        (self.home / "text").write_text(text[:2000])
        (self.home / "corpus.txt").write_text(text)
        self.seconds = {}
        self.seconds["train"] = self.made("train", *SMALL, "--steps", str(STEPS), "--keep", "3", "--out", "done")
        copy(self.home / "done", self.home / "half")
        self.cut(self.home / "half")
        self.seconds["data"] = self.made(*self.train_data("own"))
        plan = "lab plan compare --scale smoke --seeds 1 --protocol tuned --out plan".split()
        self.made(*plan, "--set", "length.steps=40", "--set", "data.bytes=300000")
        copy(self.home / "plan", self.home / "planned")
        self.seconds["lab"] = self.made("lab", "run", "plan", "--threads", "1")
        copy(self.home / "plan", self.home / "unreported")
        self.seconds["report"] = self.made("lab", "report", "plan")
        copy(self.home / "done", self.home / "run")
        self.printed = {}
        for name, command in READERS.items():
            self.seconds[name] = duration(lambda: self.printed.update({name: self.read(command)}))
        self.rows, self.weights = rows(self.home / "done"), weights(self.home / "done", STEPS)
        self.own = (rows(self.home / "own"), weights(self.home / "own", STEPS))
        self.plan_weights = {run.name: weights(run, 40) for run in (self.home / "plan" / "runs").iterdir()}
        shutil.rmtree(self.home / "run")

    def train_data(self, out):
        """Training on a file of the user's."""
        return ["train", "--data", "corpus.txt", *SMALL[2:], "--steps", str(STEPS), "--out", out]

    def made(self, *command):
        return duration(lambda: self.must(Program(self.binary, self.home, self.cache).run(*command)))

    def must(self, outcome):
        if outcome.code:
            raise Broken(f"the undisturbed run failed: {outcome.args}\n{outcome.err}")
        return outcome

    def read(self, command):
        """What a reader prints and makes."""
        outcome = self.must(Program(self.binary, self.home, self.cache).run(*command))
        return outcome.out, made(self.home)

    def cut(self, run):
        """Makes a finished run what a kill after step 115 leaves."""
        shutil.rmtree(run / "checkpoints" / f"step-{STEPS}")
        (run / "summary.json").unlink()
        for name in ("best", "last"):
            (run / name).write_text((run / name).read_text().replace(str(STEPS), "110"))
        lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
        (run / "metrics.jsonl").write_text("".join(lines[:115]) + lines[115][:30])


def made(folder):
    """Takes what a reader made: names and bytes, but for figures with a date."""
    found = {}
    for path in sorted(Path(folder).glob("made*")):
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return found


class Trial:
    """One seeded trial in a folder of its own."""

    def __init__(self, base, rng, folder):
        self.base, self.rng, self.folder = base, rng, Path(folder)
        self.folder.mkdir(parents=True)
        for name in ("text", "corpus.txt"):
            shutil.copy(base.home / name, self.folder / name)
        self.program = Program(base.binary, self.folder, self.folder / "cache")

    def run(self, *args, **how):
        return self.program.run(*args, **how)

    def take(self, name, to="run"):
        """A copy of a folder of the base."""
        return copy(self.base.home / name, self.folder / to)
