"""Reads a run folder as a researcher would, and compares it with what the program says of itself."""

import json
import math
import pathlib
import sys

from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
summary = json.loads((run / "summary.json").read_text())
best = run / "checkpoints" / (run / "best").read_text().strip()

weights = load_file(best / "model.safetensors")
config = json.loads((best / "config.json").read_text())
assert sum(array.size for array in weights.values()) == summary["parameters"], "every parameter is there"
assert weights["emb"].shape == (config["vocab"], config["width"]), weights["emb"].shape
moments = load_file(best / "optimizer.safetensors")
assert set(moments) == {f"{which}.{name}" for which in ("first", "second") for name in weights}
assert all(math.isfinite(float(abs(array).max())) for array in {**weights, **moments}.values())

events = EventAccumulator(str(run), size_guidance={"scalars": 0})
events.Reload()
trained = events.Scalars("train/bits_per_byte")
assert [event.step for event in trained] == [row["step"] for row in rows]
for event, row in zip(trained, rows):
    assert abs(event.value - row["train_bits_per_byte"]) < 1e-5
validated = {row["step"]: row["validation_bits_per_byte"] for row in rows if "validation_bits_per_byte" in row}
assert {event.step for event in events.Scalars("validation/bits_per_byte")} == set(validated) == {10, 20, 30}
assert any(tag.startswith("parameters/") for tag in events.Tags()["scalars"])
print(f"ok: {len(weights)} tensors, {len(trained)} steps read back by safetensors and TensorBoard")
