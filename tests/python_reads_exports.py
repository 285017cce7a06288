"""Opens what `kuramoto export` writes as a researcher would, and checks it against itself and against the weights."""

import json
import math
import pathlib
import sys

import numpy as np
import xarray as xr
from safetensors.numpy import load_file

folder = pathlib.Path(sys.argv[1])
text = (folder / "text").read_bytes()
weights = load_file(folder / "weights" / "model.safetensors")
config = json.loads((folder / "weights" / "config.json").read_text())
model = config["model"]
layers, k, context = model["layers"], model["width"], config["context"]

arrays = np.load(folder / "all.npz")
described = json.loads(arrays["attributes"].item().decode())
whole = xr.open_zarr(folder / "all.zarr")
for name, dimensions in described["dimensions"].items():
    assert list(whole[name].dims) == dimensions, (name, whole[name].dims)
    np.testing.assert_array_equal(whole[name].values, arrays[name], err_msg=name)
assert whole.attrs["step"] == config["step"] and whole.attrs["context"] == context
assert whole["phase"].attrs["units"] == "radians"

assert arrays["phase"].shape == (layers, len(text), k)
assert bytes(arrays["byte"]) == text
# The first state is the embedding of the bytes.
tokens = np.searchsorted(config["vocabulary"], np.frombuffer(text, np.uint8))
np.testing.assert_array_equal(arrays["phase"][0], weights["emb"][tokens])
# Couplings by distance sum to one; the local order follows from them and the phases.
coupling = arrays["coupling"]
np.testing.assert_allclose(coupling.sum(axis=-1), 1, atol=1e-5)
layer, window = layers - 1, context  # the second window
t = window + 5
back = coupling[layer, 0, t, :6]
resultant = sum(back[b] * np.exp(1j * arrays["phase"][layer, t - b]) for b in range(6))
assert math.isclose(np.abs(resultant).mean(), arrays["local_order"][layer, t], rel_tol=1e-4)
locking = [np.abs(np.exp(1j * (arrays["phase"][layer, t] - arrays["phase"][layer, t - b])).mean()) for b in range(6)]
np.testing.assert_allclose(arrays["token_locking"][layer, t, :6], locking, atol=1e-5)
assert not arrays["token_locking"][layer, t, 6:].any()
# The metric is tau / sqrt(k/h) times both gates, which follow from the phases: softplus, divided by its mean.
psi = lambda phases: np.concatenate([np.cos(phases), np.sin(phases)], axis=-1)
heads = model["heads"]
for name, gate in [("wq", "query_gate"), ("wk", "key_gate")]:
    opened = np.log1p(np.exp(psi(arrays["phase"]) @ weights[f"gates.{name}.weight"].T + weights[f"gates.{name}.bias"]))
    opened = opened.reshape(*opened.shape[:-1], heads, k // heads)
    expected = (opened / opened.mean(axis=-1, keepdims=True)).reshape(arrays[gate].shape)
    np.testing.assert_allclose(arrays[gate], expected, rtol=1e-3, atol=1e-5)
metric = weights["tau"] / math.sqrt(k // heads) * arrays["query_gate"] * arrays["key_gate"]
np.testing.assert_allclose(arrays["metric"], metric, rtol=1e-5)
# The readout of the last state gives the bits of the next byte.
last = arrays["phase_last"]
logits = weights["logit_scale"] / math.sqrt(k) * psi(last) @ psi(weights["proto"]).T
log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
bits = -log_p[np.arange(len(text) - 1), tokens[1:]] / math.log(2)
np.testing.assert_allclose(arrays["bits"][:-1], bits, atol=1e-3)
assert math.isnan(arrays["bits"][-1])

# A selection keeps its numbers: layer 2 is layer 2, wherever it lies.
part = np.load(folder / "part.npz")
selected = xr.open_zarr(folder / "part.zarr")
assert list(selected.layer.values) == [0, 2] and list(selected.oscillator.values) == [0, 3, 4, 5]
np.testing.assert_array_equal(selected.phase.sel(layer=2, oscillator=4).values, arrays["phase"][2, :, 4])
np.testing.assert_array_equal(part["phase"], arrays["phase"][[0, 2]][:, :, [0, 3, 4, 5]])
print(f"ok: {len(described['dimensions'])} arrays of {len(text)} bytes agree in NumPy and xarray, with the weights and with each other")
