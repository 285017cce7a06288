#!/usr/bin/env python3
"""Writes the finished runs of a list as a table: what each changes, its results, and the hash of its weights.

usage: results/search/collect.py PROGRAM LIST FOLDER >results/search/runs.csv
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

program, names, folder = sys.argv[1:]
listed = subprocess.run([program, "runs", folder, "--json"], check=True, capture_output=True, text=True)
runs = {Path(run["run"]).name: run for run in json.loads(listed.stdout)}
columns = ["name", "model", "changes", "seed", "parameters", "tokens", "validation", "test", "weights_sha256"]
table = csv.writer(sys.stdout, lineterminator="\n")
table.writerow(columns)
for line in Path(names).read_text().splitlines():
    name, model, changes = line.split("\t")
    run = runs.get(name)
    if not run or run["status"] != "finished":
        continue
    place = Path(folder, name)
    checkpoint = place / "checkpoints" / (place / "best").read_text().strip()
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    table.writerow([
        name, model, changes, run["seed"], run["parameters"], run["tokens"],
        run["validation_bits_per_byte"], run["test_bits_per_byte"], manifest["files"]["model.safetensors"]["sha256"],
    ])  # fmt: skip
