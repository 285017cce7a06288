#!/usr/bin/env bash
# What the program writes, read by the tools its users have: weights by safetensors and NumPy, events by TensorBoard,
# exported arrays by NumPy and xarray.
# Needs Python 3 with venv and a package index; skips with a line where they are not to be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python_with "$work" numpy safetensors tensorboard xarray zarr setuptools\<81
cargo run --release --quiet -- train --steps 30 --validate-every 10 --width 8 --batch 4 --context 32 \
    --validation-windows 10 --set data.bytes=60000 --out "$work/run" --json >"$work/rows.jsonl" 2>/dev/null
"$work/venv/bin/python" tests/python_reads_runs.py "$work/run"

# Five windows, the last one short.
printf 'Anna was a merry baker who lived in the forest. %.0s' 1 2 3 >"$work/text"
export_run() { cargo run --release --quiet -- export "$work/run" "$@"; }
export_run --text "$work/text" --to "$work/all.npz" --arrays phase,phase_mid,phase_last,local_order,alignment,query_gate,key_gate,metric,value_gate,coupling,token_locking,byte,bits
export_run --text "$work/text" --to "$work/all.zarr" --arrays phase,phase_mid,phase_last,local_order,alignment,query_gate,key_gate,metric,value_gate,coupling,token_locking,byte,bits
export_run --text "$work/text" --to "$work/part.npz" --arrays phase --layers 0,2 --oscillators 0,3-5
export_run --text "$work/text" --to "$work/part.zarr" --arrays phase --layers 0,2 --oscillators 0,3-5
export_run --to weights --out "$work/weights"
"$work/venv/bin/python" tests/python_reads_exports.py "$work"
