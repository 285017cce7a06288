#!/usr/bin/env bash
# The Indexed Job of a plan, held against Kubernetes' own schema. No cluster is needed, and none is tried.
# Needs Python 3 with venv and a package index; skips with a line where they are not to be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python_with "$work" kubernetes-validate
cargo run --release --quiet -- lab plan compare --scale smoke --seeds 1 --out "$work/plan" >/dev/null
cargo run --release --quiet -- lab submit "$work/plan" --kubernetes --image example/kuramoto:1 --claim plans --throttle 2
"$work/venv/bin/kubernetes-validate" --strict "$work/plan/job.yaml"
