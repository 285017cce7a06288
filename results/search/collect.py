#!/usr/bin/env python3
"""Adds the finished runs of a list to a table: what each changes, its results, and the hash of its weights.

usage: results/search/collect.py PROGRAM LIST FOLDER TABLE
Rows of TABLE whose runs are not in FOLDER stay as they are. A run that is in both must have the same weights.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

program, names, folder, table = sys.argv[1:]
listed = subprocess.run([program, "runs", folder, "--json"], check=True, capture_output=True, text=True)
runs = {Path(run["run"]).name: run for run in json.loads(listed.stdout)}
columns = ["name", "model", "changes", "seed", "parameters", "tokens", "validation", "test", "weights_sha256"]
rows = {}
if Path(table).exists():
    with open(table) as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
order = [line.split("\t") for line in Path(names).read_text().splitlines()]
for name, model, changes in order:
    run = runs.get(name)
    if not run or run["status"] != "finished":
        continue
    place = Path(folder, name)
    checkpoint = place / "checkpoints" / (place / "best").read_text().strip()
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    row = {
        "name": name, "model": model, "changes": changes, "seed": run["seed"], "parameters": run["parameters"],
        "tokens": run["tokens"], "validation": run["validation_bits_per_byte"], "test": run["test_bits_per_byte"],
        "weights_sha256": manifest["files"]["model.safetensors"]["sha256"],
    }  # fmt: skip
    if name in rows and rows[name]["weights_sha256"] != row["weights_sha256"]:
        sys.exit(f"{name}: its weights are {row['weights_sha256']}, in {table} they are {rows[name]['weights_sha256']}")
    rows[name] = row
with open(table, "w") as file:
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[name] for name, _, _ in order if name in rows)
