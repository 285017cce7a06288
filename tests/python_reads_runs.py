"""Reads a run folder as a researcher would, and compares it with what the program says of itself."""

import json
import math
import pathlib
import sys

from safetensors.numpy import load_file
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
from tensorboard.plugins.hparams import metadata as hparams_metadata

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
trained = events.Scalars("loss/train_bits_per_byte")
assert [event.step for event in trained] == [row["step"] for row in rows]
for event, row in zip(trained, rows):
    assert abs(event.value - row["train_bits_per_byte"]) < 1e-5
validated = {row["step"]: row["validation_bits_per_byte"] for row in rows if "validation_bits_per_byte" in row}
assert {event.step for event in events.Scalars("loss/validation_bits_per_byte")} == set(validated) == {10, 20, 30}
assert any(tag.startswith("parameters/") for tag in events.Tags()["scalars"])
assert min(tag.split("/")[0] for tag in events.Tags()["scalars"]) == "loss", "the loss is shown first"

# The dashboards for hyperparameters and text, as TensorBoard's own server answers them.
multiplexer = EventMultiplexer({"run": str(run)}).Reload()
context = base_plugin.TBContext(data_provider=MultiplexerDataProvider(multiplexer, str(run)), multiplexer=multiplexer)
hparams = backend_context.Context(context)
metadata = hparams.hparams_metadata(RequestContext(), "")
experiment = hparams.experiment_from_metadata(RequestContext(), "", True, metadata, [])
assert [metric.name.tag for metric in experiment.metric_infos] == ["loss/validation_bits_per_byte", "loss/train_bits_per_byte"]
session = hparams_metadata.parse_session_start_info_plugin_data(metadata["run"][hparams_metadata.SESSION_START_INFO_TAG])
assert {info.name for info in experiment.hparam_infos} == set(session.hparams)
assert session.hparams["model"].string_value == "kuramoto" and session.hparams["width"].number_value == config["width"]
assert session.hparams["parameters"].number_value == summary["parameters"]
groups = list_session_groups.Handler(
    RequestContext(), hparams, "",
    api_pb2.ListSessionGroupsRequest(slice_size=10, allowed_statuses=[api_pb2.STATUS_UNKNOWN], include_metrics=True),
).run()
[group] = groups.session_groups
assert group.hparams["corpus"].string_value == summary["corpus"], "the table of hyperparameters lists the run"
values = {metric.name.tag: metric.value for metric in group.metric_values}
assert abs(values["loss/validation_bits_per_byte"] - summary["last_validation_bits_per_byte"]) < 1e-5
[sample] = events.Tensors("sample")
text = sample.tensor_proto.string_val[0].decode()
assert sample.step == rows[-1]["step"] and len(text) > 100 and all(line.startswith("    ") for line in text.splitlines())
assert multiplexer.SummaryMetadata("run", "sample").plugin_data.plugin_name == "text"
print(f"ok: {len(weights)} tensors, {len(trained)} steps read back by safetensors and TensorBoard")
