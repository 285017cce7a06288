#!/usr/bin/env bash
# What the program writes, read by the tools its users have: weights by safetensors and NumPy, events by TensorBoard.
# Needs Python 3 with venv and a package index; skips with a line where they are not to be had.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! python3 -m venv "$work/venv" >/dev/null 2>&1; then
    echo "skipped: python3 with venv is not installed"
    exit 0
fi
if ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check numpy safetensors tensorboard setuptools\<81 >"$work/pip.log" 2>&1; then
    echo "skipped: numpy, safetensors and tensorboard could not be installed ($(tail -n 1 "$work/pip.log"))"
    exit 0
fi
cargo run --release --quiet -- train --steps 30 --validate-every 10 --width 8 --batch 4 --context 32 \
    --validation-windows 10 --set data.bytes=60000 --out "$work/run" --json >"$work/rows.jsonl" 2>/dev/null
"$work/venv/bin/python" tests/python_reads_runs.py "$work/run"
