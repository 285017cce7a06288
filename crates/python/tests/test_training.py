"""Training, run folders, plans."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import kuramoto
import numpy as np
import pytest
from conftest import SMALL

RESULTS = Path(__file__).parents[3] / "results"


def test_a_run_tells_what_it_did(run):
    assert (run.status, run.checkpoints[-1], run.last_step) == ("finished", 8, 8)
    assert run.config["model"]["width"] == 8 and run.config["data"]["bytes"] == 60_000
    rows = run.rows
    assert list(rows.index) == list(range(1, 9)) and rows.tokens.iloc[-1] == 8 * 4 * 32
    assert rows.validation_bits_per_byte.notna().sum() == 2 and "parameters.tau" in rows
    assert run.summary["validation_bits_per_byte"] == rows.validation_bits_per_byte.min()
    found = run.eval("test", corpus=run.corpus())
    assert found["step"] == run.best_step and 0 < found["bits_per_byte"] < 8


def test_on_row_sees_every_step(tmp_path):
    rows = []
    run = kuramoto.train(steps=5, out=tmp_path / "run", on_row=rows.append, **SMALL)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(
        [row["train_bits_per_byte"] for row in rows], run.rows["train_bits_per_byte"]
    )


def test_the_same_bits_for_any_threads_and_after_a_stop(tmp_path):
    def weights(run):
        return (run.folder / f"checkpoints/step-{run.last_step}/model.safetensors").read_bytes()

    class Enough(Exception):
        pass

    def stop(row):
        if row["step"] == 5:
            raise Enough

    whole = kuramoto.train(steps=8, out=tmp_path / "whole", threads=1, **SMALL)
    with pytest.raises(Enough):
        kuramoto.train(steps=8, out=tmp_path / "stopped", threads=2, on_row=stop, **SMALL)
    stopped = kuramoto.Run(tmp_path / "stopped")
    assert (stopped.status, stopped.last_step) == ("interrupted", 5)
    assert weights(stopped.resume()) == weights(whole)
    with pytest.raises(ValueError, match="keeps its configuration"):
        stopped.resume(learning_rate=1.0)


def stopped_by_ctrl_c(program, *arguments, after=0.0):
    """What a program of Python writes to its standard error if Ctrl-C is pressed so long after its first line."""
    # A test that runs in the background would pass on that Ctrl-C is ignored there.
    program = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + program
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        process.stdout.readline()
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors and process.returncode != 0
    return errors


def test_ctrl_c_saves(tmp_path):
    program = (
        "import kuramoto, sys\n"
        f"kuramoto.train(steps=100000, out=sys.argv[1], on_row=lambda row: print(row['step'], flush=True), **{SMALL!r})"
    )
    errors = stopped_by_ctrl_c(program, str(tmp_path / "run"))
    if sys.version_info >= (3, 11):
        assert "everything is saved" in errors
    run = kuramoto.Run(tmp_path / "run")
    assert run.status == "interrupted" and run.last_step >= 1


@pytest.mark.parametrize(
    "work",
    [
        "model.lesion(text, repeats=10**6)",
        "model.measures(text)",
        "run.eval('train')",
        "list(model.generate(n=10**9))",
    ],
)
def test_ctrl_c_stops_long_work(work):
    program = (
        "import kuramoto\n"
        "run = kuramoto.Run('tales-kuramoto'); model = run.model(); text = model.vocabulary * 10**6\n"
        f"print('begun', flush=True); {work}"
    )
    began = time.monotonic()
    stopped_by_ctrl_c(program, after=0.5)
    assert time.monotonic() - began < 30


def test_ablations_and_names(tmp_path):
    run = kuramoto.train(steps=1, model="kuramoto", ablations=["no-drift"], out=tmp_path / "run", **SMALL)
    assert run.config["model"]["drift"] == "none" and run.model().ablations == ["no-drift"]
    assert run.config == kuramoto.train(out=tmp_path / "again", keys=run.config).config
    assert list(kuramoto.runs(tmp_path).run) == [str(tmp_path / "again"), str(tmp_path / "run")]
    assert len(kuramoto.ablations()) == 21


def test_matched_widths():
    widths = kuramoto.match(5_000_000).width
    assert (widths["kuramoto"], widths["transformer"]) == (400, 276)


def test_results_of_plans():
    plan = RESULTS / "epoch-1m"
    table = kuramoto.lab.results(plan)
    assert set(table.arm) == {"kuramoto-tuned", "transformer-tuned"}
    assert len(kuramoto.lab.cells(plan)) == 2 and len(kuramoto.lab.curves(plan)) > 20
    assert not kuramoto.lab.claims(plan).empty
    assert kuramoto.lab.planned(plan)[0]["config"]["model"]["width"] == 176


def test_corpora(tmp_path):
    (tmp_path / "book.txt").write_bytes(b"to be or not to be, " * 100)
    book = kuramoto.Corpus(tmp_path / "book.txt", cache=tmp_path / "cache")
    assert book.name == "book.txt" and book.vocabulary == bytes(sorted(set(b"to be or not to be, ")))
    parts = [book.bytes(split) for split in ("train", "validation", "test")]
    assert b"".join(parts) == b"to be or not to be, " * 100 and [len(part) for part in parts] == [
        1800,
        100,
        100,
    ]
    np.testing.assert_array_equal(
        np.frombuffer(book.vocabulary, dtype=np.uint8)[book.tokens("train")],
        np.frombuffer(parts[0], dtype=np.uint8),
    )


def test_summaries_are_json(run):
    assert json.loads(json.dumps(run.summary)) == run.summary
