#!/usr/bin/env bash
# The Indexed Job of a plan, held against Kubernetes' own schema. No cluster is needed, and none is tried.
# Needs Python 3 with venv and a package index; skips with a line where they are not to be had.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! python3 -m venv "$work/venv" >/dev/null 2>&1; then
    echo "skipped: python3 with venv is not installed"
    exit 0
fi
if ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate >"$work/pip.log" 2>&1; then
    echo "skipped: kubernetes-validate could not be installed ($(tail -n 1 "$work/pip.log"))"
    exit 0
fi
cargo run --release --quiet -- lab plan compare --scale smoke --seeds 1 --out "$work/plan" >/dev/null
cargo run --release --quiet -- lab submit "$work/plan" --kubernetes --image example/kuramoto:1 --claim plans --throttle 2
"$work/venv/bin/kubernetes-validate" --strict "$work/plan/job.yaml"
