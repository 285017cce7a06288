"""What calling from Python costs: `model.logits`, training and importing, against the program in one run.

    python crates/python/benchmarks/speed.py

Run from the repository on a quiet machine. Builds the program first. Both sides take turns, so that a machine whose
speed changes treats them alike.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

import kuramoto

ROUNDS, CALLS = 8, 100
SETTINGS = dict(preset="1m", data="tales", steps=40, validate_every=40, validation_windows=1, batch=16)
# In processes of its own kind each.
TRAIN = "import json, kuramoto, sys; run = kuramoto.train(**json.loads(sys.argv[1]), out=sys.argv[2], progress=False)"


def in_rust():
    command = ["cargo", "run", "--release", "--quiet", "-p", "kuramoto-models", "--example", "time_logits"]
    lines = subprocess.run([*command, "--", str(CALLS)], check=True, capture_output=True, text=True).stdout
    return [float(line) for line in lines.split()][CALLS // 4 :]


def in_python(model, text):
    seconds = []
    for _ in range(CALLS):
        began = time.perf_counter()
        logits = model.logits(text)
        seconds.append(time.perf_counter() - began)
        del logits
    return seconds[CALLS // 4 :]


def speed_of(rows):
    """Median of the later steps."""
    return statistics.median([row["tokens_per_second"] for row in rows][10:])


def trained_by_program(folder):
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in SETTINGS.items()]
    command = ["target/release/kuramoto", "train", *flags, "--out", folder, "--json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return speed_of([json.loads(line) for line in lines[:-1]])


def trained_by_python(folder):
    subprocess.run([sys.executable, "-c", TRAIN, json.dumps(SETTINGS), folder], check=True)
    return kuramoto.Run(folder).rows["tokens_per_second"].iloc[10:].median()


def show(what, ours, theirs):
    best, median = (f(ours) / f(theirs) for f in (min, statistics.median))
    print(f"{what}: {best:.3f} (best), {median:.3f} (median) of the program's")


def main():
    subprocess.run(["cargo", "build", "--release", "--quiet"], check=True)
    in_rust()
    model, text = kuramoto.load("enwik8-kuramoto-1m"), b"The capital of France is Paris. " * 8
    python, rust = [], []
    for _ in range(ROUNDS):
        python += in_python(model, text)
        rust += in_rust()
    show("time of model.logits on 256 bytes", python, rust)
    print(f"  {1e3 * min(python):.2f} ms and {1e3 * min(rust):.2f} ms at best")
    with tempfile.TemporaryDirectory() as folder:
        runs = [(trained_by_python(f"{folder}/p{i}"), trained_by_program(f"{folder}/r{i}")) for i in range(4)]
    python, rust = zip(*runs)
    best, median = (f(python) / f(rust) for f in (max, statistics.median))
    print(f"tokens per second of kuramoto.train: {best:.3f} (best), {median:.3f} (median) of the program's")
    imports = []
    for _ in range(10):
        program = "import time; t = time.perf_counter(); import kuramoto; print(time.perf_counter() - t)"
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        imports.append(float(done.stdout))
    print(
        f"import kuramoto: {1e3 * min(imports):.0f} ms (best), {1e3 * statistics.median(imports):.0f} ms (median)"
    )


if __name__ == "__main__":
    main()
