"""Nonsense gets a clear exception: never an abort, never a deadlock."""

import copy
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading

import kuramoto
import numpy as np
import pytest
from conftest import SMALL, TEXT
from kuramoto import errors


@pytest.mark.parametrize(
    "call, kind, says",
    [
        (lambda m: m.logits(b""), ValueError, "at least one byte"),
        (lambda m: m.logits(b"a" * 257), ValueError, "257 bytes, and this model reads at most 256"),
        (lambda m: m.bits(b"a"), ValueError, "at least two"),
        (lambda m: m.logits("Ω"), ValueError, "'Ω'"),
        (lambda m: m.logits(7), TypeError, "of type int"),
        (lambda m: m.logits(np.zeros(3)), TypeError, "uint8"),
        (lambda m: m.logits(TEXT, hooks={"phases": print}), ValueError, "no point of this model"),
        (lambda m: m.logits(TEXT, hooks={"layer.9.phase": print}), ValueError, "layers 0 to 2"),
        (lambda m: m.logits(TEXT, hooks={"attention.1": print}), ValueError, "heads 0 to 0"),
        (lambda m: m.logits(TEXT, hooks={"layer.3.gate": print}), ValueError, "layers 0 to 2"),
        (lambda m: m.logits(TEXT, hooks={"layer.01.gate": print}), ValueError, "no point"),
        (lambda m: m.logits(TEXT, hooks={"attention.H": print}), ValueError, "no point"),
        (lambda m: m.encode(np.array([72, 105])), TypeError, "uint8"),
        (lambda m: m.trace(None), TypeError, "of type NoneType"),
        (
            lambda m: m.logits(TEXT, interventions=[kuramoto.clamp("layer.0.phase", 1e300)]),
            ValueError,
            "finite",
        ),
        (
            lambda m: m.logits(TEXT, interventions=[kuramoto.rotate("layer.0.phase", 1, tokens=[99])]),
            ValueError,
            "token 99",
        ),
        (lambda m: kuramoto.rotate("layer.0.phase", 1, oscillators=[]), ValueError, "empty"),
        (lambda m: m.parameters.update({"tau": 1e300}), ValueError, "finite"),
        (lambda m: m.measures(TEXT, windows=-1), ValueError, "-1 is not allowed"),
        (lambda m: m.generate(TEXT, top_k=-1), ValueError, "-1 is not allowed"),
        (lambda m: kuramoto.train(threads=-1), ValueError, "-1 is not allowed"),
        (lambda m: kuramoto.train(steps=1, tokens=5), ValueError, "do not go together"),
        (lambda m: kuramoto.train(ablations="no-brain"), ValueError, "no-brain"),
        (lambda m: kuramoto.runs("/nowhere"), ValueError, "not a folder"),
        (lambda m: kuramoto.Run("tales-kuramoto").eval(corpus="tales"), TypeError, "kuramoto.Corpus"),
        (lambda m: m.logits(TEXT, hooks=3), TypeError, "mapping"),
        (lambda m: m.logits(TEXT, hooks={"phase": 3}), TypeError, "function"),
        (lambda m: m.logits(TEXT, interventions=[{"at": "layer.0.phase"}]), ValueError, "interventions"),
        (
            lambda m: m.logits(TEXT, interventions=[kuramoto.fade("layer.0.phase", 1)]),
            ValueError,
            "no step leads",
        ),
        (lambda m: m.parameters["omega"], KeyError, "choose from emb"),
        (lambda m: m.parameters.update({"tau": np.nan}), ValueError, "finite"),
        (lambda m: m.parameters.update({"tau": "big"}), TypeError, "real numbers"),
        (lambda m: m.parameters.update({"tua": 1.0}), ValueError, "there is no parameter"),
        (lambda m: m.astype("float16"), ValueError, "float32 or float64"),
        (lambda m: m.pulls(TEXT, layer=3), ValueError, "layers 0 to 2"),
        (lambda m: m.pulls(TEXT, layer=0, token=999), ValueError, "bytes 0 to"),
        (lambda m: m.generate(b""), ValueError, "at least one byte"),
        (lambda m: m.generate(TEXT, n=-1), ValueError, "-1 is not allowed"),
        (lambda m: m.generate(TEXT, temperature=-1), ValueError, "temperature"),
        (lambda m: m.lesion(TEXT, "brain"), ValueError, "choose from oscillators"),
        (lambda m: m.lesion(TEXT, doses=[2]), ValueError, "from 0 to 1"),
        (lambda m: m.measures(TEXT, against=["chance"]), ValueError, "choose from untrained"),
        (lambda m: m.gradient_of(np.zeros((2, 3)), np.zeros((2, 3))), TypeError, "uint8"),
        (
            lambda m: m.gradient_of(np.zeros((2, 3), np.uint8), np.zeros((2, 2), np.uint8)),
            ValueError,
            "same shape",
        ),
        (
            lambda m: m.gradient_of(np.full((1, 3), 99, np.uint8), np.zeros((1, 3), np.uint8)),
            ValueError,
            "token 99",
        ),
        (lambda m: kuramoto.Model({"kind": "kuramoto", "width": 0}), ValueError, "width = 0"),
        (lambda m: kuramoto.Model({"kind": "mamba"}), ValueError, "mamba"),
        (
            lambda m: kuramoto.Model({"kind": "kuramoto", "vocab": 2, "width": 4}, vocabulary=b"ba"),
            ValueError,
            "order",
        ),
        (
            lambda m: kuramoto.Model({"kind": "kuramoto", "width": 16_000}, context=65_000),
            MemoryError,
            "memory",
        ),
        (lambda m: kuramoto.Run("nowhere"), FileNotFoundError, "is not a run folder"),
        (lambda m: kuramoto.load("tales-kuramoto", "step-7"), RuntimeError, "step-7"),
        (lambda m: kuramoto.load("tales-kuramoto", "worst"), ValueError, "best, last or step-N"),
        (lambda m: kuramoto.train(stepz=3), ValueError, "did you mean steps"),
        (lambda m: kuramoto.train(keys={"optimizer.beta": 1}), ValueError, "did you mean beta"),
        (lambda m: kuramoto.train(data="no-such-file.txt"), ValueError, "no-such-file.txt"),
        (lambda m: kuramoto.train(preset="huge"), ValueError, "huge"),
        (lambda m: kuramoto.train(ablations=["no-brain"]), ValueError, "no-brain"),
        (lambda m: kuramoto.train(threads=0), ValueError, "threads = 0"),
        (lambda m: kuramoto.match("many"), ValueError, "many"),
        (
            lambda m: kuramoto.Corpus("tales", bytes=1000).bytes("half"),
            ValueError,
            "train, validation or test",
        ),
        (lambda m: kuramoto.lab.results("nowhere"), RuntimeError, "plan.json"),
    ],
)
def test_a_sentence_says_what_is_wrong(tales, call, kind, says):
    with pytest.raises(kind, match=says) as raised:
        call(tales)
    assert "panicked" not in str(raised.value)


def test_transformers_have_no_phases(transformer):
    for call in (transformer.trace, transformer.lesion, lambda text: transformer.pulls(text, 0)):
        with pytest.raises(errors.SettingError, match="has no phases"):
            call(TEXT)


def test_a_damaged_run_is_refused(run, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(run.folder, damaged)
    weights = damaged / f"checkpoints/step-{run.best_step}/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(errors.RunError, match="sha256"):
        kuramoto.load(damaged)
    (damaged / "config.toml").write_text("nonsense")
    with pytest.raises(errors.KuramotoError):
        kuramoto.Run(damaged)


def test_nothing_is_overwritten(run):
    with pytest.raises(errors.RunError, match="not empty"):
        kuramoto.train(steps=1, out=run.folder, **SMALL)


def test_threads_at_once(tales):
    expected = {byte: tales.logits(TEXT + bytes([byte])) for byte in b"abcd"}
    wrong = []

    def work(byte):
        for _ in range(20):
            if not np.array_equal(tales.logits(TEXT + bytes([byte])), expected[byte]):
                wrong.append(byte)

    def read(point, layer, array):
        return array

    threads = [threading.Thread(target=work, args=(byte,)) for byte in expected]
    threads += [threading.Thread(target=lambda: [tales.logits(TEXT, hooks=read) for _ in range(5)])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not wrong


def in_child(queue):
    model = kuramoto.load("tales-kuramoto")
    model.parameters["tau"] = 2.0
    model.lesion(TEXT, "tau", doses=[0.5])
    queue.put(model.logits(TEXT))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_too(tales):
    # Whatever threads the parent has had, a child has none of them.
    model = tales.copy()
    model.parameters["tau"] = 2.0
    model.lesion(TEXT, "tau", doses=[0.5])
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=in_child, args=(queue,))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), model.logits(TEXT))
    child.join(timeout=60)
    assert child.exitcode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_generator_does_not_cross_a_fork(tales):
    drawn = tales.generate(TEXT, n=100)
    next(drawn)
    child = os.fork()
    if child == 0:
        try:
            next(drawn)
            os._exit(1)
        except errors.KuramotoError:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_models_and_runs_can_be_copied_and_pickled(tales, run):
    for again in (copy.copy(tales), copy.deepcopy(tales), pickle.loads(pickle.dumps(tales))):
        np.testing.assert_array_equal(again.logits(TEXT), tales.logits(TEXT))
        again.parameters["tau"] = 0.0
        assert tales.parameters["tau"] != 0
    assert pickle.loads(pickle.dumps(run)) == run


def test_importing_is_quick_and_leaves_pytorch_alone():
    program = (
        "import sys, kuramoto\n"
        "assert not {'torch', 'pandas', 'xarray', 'tqdm'} & set(sys.modules), 'not needed yet'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
