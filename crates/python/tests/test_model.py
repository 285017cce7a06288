"""Running models and looking inside."""

import kuramoto
import numpy as np
import pytest
from conftest import TEXT


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("name", ["tales-kuramoto", "enwik8-transformer-1m"])
def test_bits_are_those_of_the_logits(name):
    model = kuramoto.load(name)
    logits, tokens = model.logits(TEXT), model.encode(TEXT)
    assert logits.shape == (len(TEXT), len(model.vocabulary)) and logits.dtype == np.float32
    expected = -log_softmax(logits[:-1].astype(float))[np.arange(len(TEXT) - 1), tokens[1:]] / np.log(2)
    np.testing.assert_allclose(model.bits(TEXT), expected, atol=1e-5)


def test_text_is_bytes_a_string_or_an_array(tales):
    expected = tales.logits(TEXT)
    for text in (TEXT.decode(), bytearray(TEXT), np.frombuffer(TEXT, dtype=np.uint8)):
        np.testing.assert_array_equal(tales.logits(text), expected)


def test_precisions_agree(tales):
    double = tales.astype("float64")
    assert double.dtype == np.float64 and double.logits(TEXT).dtype == np.float64
    np.testing.assert_allclose(tales.logits(TEXT), double.logits(TEXT), atol=1e-3)


def test_the_gradient_is_that_of_finite_differences(tales):
    model = tales.astype("float64")
    loss, gradient = model.gradient(TEXT)
    assert loss == pytest.approx(model.bits(TEXT).mean() * np.log(2))
    for name in ("tau", "layers.1.log_r1", "layers.0.omega"):
        start, step = model.parameters[name], np.zeros_like(model.parameters[name])
        step.flat[0] = 1e-6
        model.parameters[name] = start + step
        above = model.gradient(TEXT)[0]
        model.parameters[name] = start - step
        below = model.gradient(TEXT)[0]
        model.parameters[name] = start
        assert (above - below) / 2e-6 == pytest.approx(gradient[name].flat[0], abs=1e-7)


def test_parameters_are_a_mapping_that_can_be_set(tales):
    model = tales.copy()
    before = model.logits(TEXT)
    assert set(model.parameters) == {name for name, _, _ in model._native.layout()}
    model.parameters.update({"tau": 0.0, "layers.0.omega": np.zeros(84)})
    assert not np.allclose(before, model.logits(TEXT))
    np.testing.assert_array_equal(before, tales.logits(TEXT))
    # One that does not fit leaves all as they are.
    with pytest.raises(ValueError, match="shape"):
        model.parameters.update({"tau": 5.0, "emb": np.zeros(3)})
    assert model.parameters["tau"] == 0.0


def test_the_most_likely_byte_is_generated(tales):
    text = TEXT[:20]
    for byte in tales.generate(TEXT[:20], n=10, temperature=0):
        assert byte == tales.predict(text, top=1).index[0]
        text += byte


def test_generation_depends_on_its_seed_only(tales):
    def drawn(seed):
        return b"".join(tales.generate(TEXT, n=300, seed=seed))

    assert drawn(1) == drawn(1) != drawn(2) and len(drawn(1)) == 300
    assert len(b"".join(tales.generate(n=5))) == 5
    # An iterator that is dropped half way leaves nothing behind that waits.
    next(iter(tales.generate(TEXT, n=10**9)))


def test_a_trace_has_everything_by_name(tales):
    inside = tales.trace(TEXT)
    n = len(TEXT)
    assert dict(inside.sizes) == {
        "layer": 3, "state": 4, "token": n, "source": n, "oscillator": 84, "head": 1, "next": 50
    }  # fmt: skip
    np.testing.assert_allclose(inside.coupling.sum("source"), 1, atol=1e-5)
    # G, and what follows from it, by their definitions.
    phasor = np.exp(1j * inside.phase.isel(state=slice(0, 3)).values)
    resultant = np.einsum("ltu,luj->ltj", inside.coupling.isel(head=0).values, phasor)
    np.testing.assert_allclose(inside.resultant, resultant, atol=1e-4)
    np.testing.assert_allclose(inside.local_order, np.abs(resultant).mean(-1), atol=1e-4)
    last = np.exp(1j * inside.phase.isel(state=-1).values)
    np.testing.assert_allclose(inside.global_order[-1], np.abs(last.mean(0)).mean(), atol=1e-5)
    np.testing.assert_array_equal(inside.logits, tales.logits(TEXT))
    np.testing.assert_allclose(inside.bits[1:], tales.bits(TEXT), atol=1e-5)
    assert bytes(inside.byte.values) == TEXT


def test_pulls_add_up_to_the_step(tales):
    inside = tales.trace(TEXT)
    for layer in range(3):
        pulls = tales.pulls(TEXT, layer, token=20)
        step = (inside.phase_mid.sel(layer=layer) - inside.phase.sel(state=layer)).sel(token=20)
        np.testing.assert_allclose(pulls.scale * pulls.term.sum("source"), step, atol=1e-4)
        np.testing.assert_allclose(pulls.coupling, inside.coupling[layer, 0, 20, :21], atol=1e-6)


def test_measures_and_surrogates(tales):
    text = TEXT * 20
    table = tales.measures(text, against=["untrained", "uniform"], windows=3).set_index(
        ["of", "measure", "layer"]
    )
    local = tales.trace(text[:256]).local_order
    assert table.loc[("model", "local-order", 0), "mean"] == pytest.approx(local[0].mean().item(), abs=0.05)
    assert (
        table.loc[("uniform", "self-coupling", 0), "mean"] < table.loc[("model", "self-coupling", 0), "mean"]
    )


def test_a_lesion_raises_bits(tales):
    table = tales.lesion(TEXT * 6, "layer", layers=[0, 2], doses=[0, 0.5, 1])
    assert list(table.layer) == [0, 0, 0, 2, 2, 2] and (table.rise[table.dose == 0] == 0).all()
    assert (table.rise[table.dose == 1] > 0.1).all()


def test_untrained_models(tales):
    config = {"kind": "transformer", "vocab": 3, "width": 8, "layers": 1}
    model = kuramoto.Model(config, vocabulary=b"abc", context=8, seed=1)
    assert model.config["rotary-base"] == 10_000 and model.context == 8
    np.testing.assert_array_equal(
        model.logits(b"abc"), kuramoto.Model(config, vocabulary=b"abc", seed=1).logits(b"abc")
    )
    assert not np.allclose(model.logits(b"abc"), kuramoto.Model(config, vocabulary=b"abc").logits(b"abc"))
