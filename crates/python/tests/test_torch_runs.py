"""The PyTorch modules against the Rust engine: logits, gradients, steps, and run folders both ways."""

import kuramoto
import numpy as np
import pytest
import torch
from conftest import SMALL, TEXT
from kuramoto import torch_training
from kuramoto.torch import (
    ABLATIONS,
    VARIANTS,
    KuramotoConfig,
    KuramotoLM,
    TransformerConfig,
    TransformerLM,
    from_run,
)

torch.set_num_threads(1)
VOCAB, WIDTH, LAYERS, SEQUENCES, LENGTH = 11, 12, 3, 3, 17
CONFIGS = [(f"{name or 'reference'}-h{heads}", KuramotoConfig, name, heads)
           for name in ["", *ABLATIONS, *VARIANTS] for heads in (1, 3)]  # fmt: skip
CONFIGS += [(f"transformer-h{heads}", TransformerConfig, "", heads) for heads in (1, 3, 4)]


def both(case, dtype):
    """The same model here and there, with parameters that are not a training's start."""
    _, kind, ablation, heads = case
    config = kind(vocab=VOCAB, width=WIDTH, layers=LAYERS, heads=heads, dropout=0.0)
    if ablation:
        config = config.ablate(ablation)
    rust = kuramoto.Model(config.to_dict(), context=LENGTH, dtype=dtype)
    assert rust.config == config.to_dict()
    generator = np.random.default_rng(7)
    rust.parameters.update(
        {name: value + 0.1 * generator.normal(size=value.shape) for name, value in rust.parameters.items()}
    )
    module = (KuramotoLM if kind is KuramotoConfig else TransformerLM)(config)
    module.to(getattr(torch, dtype))
    module.load_state_dict({name: torch.tensor(value) for name, value in rust.parameters.items()})
    batch = generator.integers(0, VOCAB, size=(2, SEQUENCES, LENGTH), dtype=np.uint8)
    return rust, module, batch


def close(what, found, expected, size, tolerance):
    """The norm of the error against a size."""
    error = np.linalg.norm(np.asarray(found, float) - np.asarray(expected, float))
    assert error <= tolerance * size, f"{what}: {error / size:.1e}"


# Against the norm of all logits and of the whole gradient; in float32 both round in their own order.
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-9), ("float32", 2e-5)])
@pytest.mark.parametrize("case", CONFIGS, ids=[case[0] for case in CONFIGS])
def test_logits_and_gradients_agree(case, dtype, tolerance):
    rust, module, (tokens, targets) = both(case, dtype)
    logits, loss = module(torch.tensor(tokens.astype(np.int64)), torch.tensor(targets.astype(np.int64)))
    for sequence, expected in zip(tokens, logits.detach().numpy()):
        close("logits", rust.logits(sequence), expected, np.linalg.norm(expected), tolerance)
    loss.backward()
    nats, gradient = rust.gradient_of(tokens, targets)
    close("loss", nats, loss.item(), loss.item(), tolerance)
    norm = np.sqrt(sum((parameter.grad**2).sum().item() for parameter in module.parameters()))
    assert set(gradient) == {name for name, _ in module.named_parameters()}
    for name, parameter in module.named_parameters():
        close(name, gradient[name], parameter.grad.numpy(), norm, tolerance)


@pytest.mark.parametrize("model", ["kuramoto", "transformer"])
def test_a_run_in_pytorch_is_a_run_of_the_engine(model, tmp_path):
    """The same start, batches, schedule and optimizer: eight steps agree in every loss and parameter."""
    settings = dict(SMALL, steps=8, model=model, dropout=0.0, heads=2)
    settings["keys"] = {**settings.get("keys", {}), "optimizer.multipliers.ffn": 0.5}
    engine = kuramoto.train(out=tmp_path / "engine", **settings)
    torch_run = torch_training.train(out=tmp_path / "torch", device="cpu", progress=False, **settings)
    assert {**torch_run.config, "length": {}} == {**engine.config, "length": {}}
    for column in ("train_bits_per_byte", "gradient_norm", "validation_bits_per_byte", "learning_rate"):
        np.testing.assert_allclose(torch_run.rows[column], engine.rows[column], rtol=2e-4, err_msg=column)
    for name, value in engine.model("last").parameters.items():
        np.testing.assert_allclose(torch_run.model("last").parameters[name], value, atol=2e-3, err_msg=name)
    assert "PyTorch" in torch_run.summary["device"] and torch_run.status == "finished"
    # And the engine goes on from where PyTorch stopped, as from where it stopped itself.
    for run in (engine, torch_run):
        run.resume(steps=12)
    np.testing.assert_allclose(
        torch_run.rows["train_bits_per_byte"], engine.rows["train_bits_per_byte"], rtol=2e-3
    )


@pytest.mark.parametrize("name", ["enwik8-kuramoto-1m", "enwik8-transformer-1m", "tales-kuramoto"])
def test_shipped_models_open_in_pytorch(name):
    module, model = from_run(name), kuramoto.load(name)
    with torch.no_grad():
        logits = module(module.encode(TEXT)[None])[0].numpy()
    np.testing.assert_allclose(logits, model.logits(TEXT), atol=2e-3)
    assert sum(parameter.numel() for parameter in module.parameters()) == kuramoto.models().parameters[name]


def test_what_is_saved_comes_back(tmp_path, run):
    corpus = run.corpus()
    module = from_run(run.folder)
    saved = module.save(
        tmp_path / "saved", corpus=corpus, step=5, rows=[{"step": 5, "validation_bits_per_byte": 4.5}]
    )
    assert saved.status == "finished" and saved.summary["validation_bits_per_byte"] == 4.5
    for name, value in from_run(tmp_path / "saved").state_dict().items():
        assert torch.equal(value, module.state_dict()[name])
    assert (
        saved.eval("test", corpus=corpus)["bits_per_byte"] == run.eval("test", corpus=corpus)["bits_per_byte"]
    )
    with pytest.raises(ValueError, match="holds a kuramoto"):
        TransformerLM.from_run(tmp_path / "saved")
    with pytest.raises(RuntimeError, match="weights only"):
        saved.resume(steps=9)
    with pytest.raises(ValueError, match="already"):
        module.save(tmp_path / "saved", corpus=corpus, step=5)
    with pytest.raises(ValueError, match="vocabulary"):
        module.save(tmp_path / "other", corpus=kuramoto.Corpus("tales", bytes=3_000), step=5)
    with pytest.raises(ValueError, match="rows"):
        module.save(tmp_path / "other", corpus=corpus, step=5, rows=[{"step": 6}])
    with pytest.raises(RuntimeError, match="another configuration or corpus"):
        module.save(tmp_path / "saved", corpus=kuramoto.Corpus("tales", bytes=50_000), step=5)
    assert not (tmp_path / "other").exists()


def test_settings_mean_in_pytorch_what_they_mean_in_the_program(tmp_path, run):
    patient = {**SMALL["keys"], "validation.every": 1, "init-from.run": str(run.folder)}
    settings = {**SMALL, "steps": 40, "learning_rate": 1.0, "patience": 2, "test": True, "keys": patient}
    del settings["validate_every"], settings["width"], settings["layers"]
    by_torch = torch_training.train(out=tmp_path / "torch", device="cpu", progress=False, **settings)
    engine = kuramoto.train(out=tmp_path / "engine", **settings)
    assert by_torch.status == engine.status == "stopped early"
    assert list(by_torch.rows.index) == list(engine.rows.index)
    assert by_torch.rows.train_bits_per_byte.iloc[0] == pytest.approx(
        engine.rows.train_bits_per_byte.iloc[0], rel=1e-5
    )
    assert by_torch.summary["test_bits_per_byte"] == pytest.approx(
        engine.summary["test_bits_per_byte"], rel=1e-3
    )
    with pytest.raises(ValueError, match="skip"):
        torch_training.train(out=tmp_path / "other", on_bad_step="skip", **SMALL)


def test_a_seed_decides_dropout(tmp_path):
    def losses(name, seed):
        out = tmp_path / name
        run = torch_training.train(
            out=out, steps=3, dropout=0.3, seed=seed, device="cpu", progress=False, **SMALL
        )
        return list(run.rows.train_bits_per_byte)

    assert losses("a", 1) == losses("b", 1) != losses("c", 2)


def test_a_run_in_pytorch_that_is_stopped_is_saved_and_locked(tmp_path):
    seen = []

    def stop(row):
        if row["step"] == 5:
            seen.append(kuramoto.Run(tmp_path / "run").status)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        torch_training.train(
            steps=9, out=tmp_path / "run", device="cpu", progress=False, on_row=stop, **SMALL
        )
    run = kuramoto.Run(tmp_path / "run")
    assert seen == ["training"] and (run.status, run.last_step) == ("interrupted", 5)
    assert run.resume().status == "finished"


def test_training_in_pytorch_overwrites_nothing(run):
    with pytest.raises(RuntimeError, match="not empty"):
        torch_training.train(steps=1, out=run.folder, **SMALL)
