"""Functions of Python that read and change a pass."""

import kuramoto
import numpy as np
import pytest
from conftest import TEXT

POINTS = ["phase", "gate.query", "gate.key", "gate.value", "attention.0", "phase.mid"]


def test_hooks_see_every_point_in_order(tales):
    seen = []
    logits = tales.logits(TEXT, hooks=lambda point, layer, array: seen.append((point, layer, array.copy())))
    expected = [(point, layer) for layer in range(3) for point in POINTS] + [("phase", 3)]
    assert [(point, layer) for point, layer, _ in seen] == expected
    np.testing.assert_array_equal(logits, tales.logits(TEXT))
    inside = tales.trace(TEXT)
    arrays = {(point, layer): array for point, layer, array in seen}
    np.testing.assert_array_equal(arrays["phase", 3], inside.phase[3])
    np.testing.assert_array_equal(arrays["attention.0", 1], inside.coupling[1, 0])
    np.testing.assert_array_equal(arrays["gate.key", 2], inside.key_gate[2])


def test_points_can_be_chosen(tales):
    def seen(wanted):
        points = []
        tales.logits(TEXT, hooks={wanted: lambda point, layer, array: points.append((layer, point))})
        return points

    assert seen("phase") == [(layer, "phase") for layer in range(4)]
    assert seen("layer.2.gate") == [(2, "gate.query"), (2, "gate.key"), (2, "gate.value")]
    assert seen("attention") == [(layer, "attention.0") for layer in range(3)]
    assert seen("layer.1") == [(1, point) for point in POINTS]


def test_changes_in_place_and_returned_arrays_act_alike(tales):
    def in_place(point, layer, array):
        array *= 0.5

    halved = tales.logits(TEXT, hooks={"layer.1.gate.value": in_place})
    returned = tales.logits(TEXT, hooks={"layer.1.gate.value": lambda point, layer, array: 0.5 * array})
    np.testing.assert_array_equal(halved, returned)
    assert not np.allclose(halved, tales.logits(TEXT))


def test_a_hook_does_what_the_ready_intervention_does(tales):
    def uniform(point, layer, attention):
        n = len(attention)
        return np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]

    for ready, point, hook in [
        (kuramoto.flatten("layer.1.attention", 1), "layer.1.attention", uniform),
        (kuramoto.clamp("layer.2.phase", 0.25), "layer.2.phase", lambda p, la, a: np.full_like(a, 0.25)),
        (kuramoto.rotate("layer.0.phase", 0.5), "layer.0.phase", lambda p, la, a: a + np.float32(0.5)),
    ]:
        by_hook = tales.logits(TEXT, hooks={point: hook})
        np.testing.assert_allclose(by_hook, tales.logits(TEXT, interventions=[ready]), atol=2e-3)
        assert not np.allclose(by_hook, tales.logits(TEXT), atol=2e-3)


def test_without_value_gates_nothing_moves(tales):
    still = tales.trace(TEXT, hooks={"gate.value": lambda point, layer, gate: np.zeros_like(gate)})
    np.testing.assert_array_equal(still.phase_mid, still.phase.isel(state=slice(0, 3)))


def test_what_a_hook_keeps_stays_good(tales):
    kept = []
    tales.logits(TEXT, hooks={"phase": lambda point, layer, array: kept.append(array)})
    expected = tales.trace(TEXT).phase.values
    tales.logits(b"." * 40)
    np.testing.assert_array_equal(np.stack(kept), expected)


def test_transformers_have_hooks(transformer):
    seen = []
    transformer.logits(TEXT, hooks=lambda point, layer, array: seen.append(point))
    heads = [f"attention.{head}" for head in range(4)]
    assert seen == 4 * ["state", *heads, "state.mid"] + ["state"]
    silent = transformer.logits(TEXT, hooks={"layer.0.state": lambda point, layer, array: 0 * array})
    assert not np.allclose(silent, transformer.logits(TEXT))


def test_a_hook_may_run_the_model(tales):
    inner = []
    tales.logits(TEXT, hooks={"layer.1.phase": lambda p, la, a: inner.append(tales.logits(TEXT))})
    np.testing.assert_array_equal(inner[0], tales.logits(TEXT))


def test_exceptions_of_hooks_are_raised(tales):
    calls = []

    def fail(point, layer, array):
        calls.append(layer)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        tales.logits(TEXT, hooks={"phase": fail})
    assert calls == [0]


@pytest.mark.parametrize(
    "nonsense, says",
    [
        (lambda a: a[:3], "shape"),
        (lambda a: "phases", "real numbers"),
        (lambda a: a * np.nan, "finite"),
        (lambda a: a * 1j, "real numbers"),
        (lambda a: [[1], [2, 3]], "inhomogeneous"),
    ],
)
def test_nonsense_is_refused(tales, nonsense, says):
    with pytest.raises((ValueError, TypeError), match=says):
        tales.logits(TEXT, hooks={"phase": lambda point, layer, array: nonsense(array)})


def test_attention_stays_causal(tales):
    with pytest.raises(ValueError, match="above the diagonal"):
        tales.logits(TEXT, hooks={"attention": lambda point, layer, array: np.ones_like(array)})
