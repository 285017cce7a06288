#!/usr/bin/env bash
# The explorer's page and reports of the lab in headless Chromium, driven by Playwright. SCREENSHOTS=FOLDER keeps
# pictures.
# usage: tests/browser.sh [FOLDER of a plan with a report; a small one is made without]
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
command -v chromium >/dev/null || packages chromium
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/browser/*.mjs "$work"
(cd "$work" && npm install --no-save --no-audit --no-fund playwright-core) >"$work/npm.log" 2>&1 || skip "playwright-core cannot be installed"
cargo build --release --quiet
program="${CARGO_TARGET_DIR:-$PWD/target}/release/kuramoto"
export CHROMIUM=$(command -v chromium)

plan=${1:-}
if [ -z "$plan" ]; then
    plan=$work/plan
    "$program" lab plan compare --scale smoke --seeds 1 --out "$plan" >/dev/null
    "$program" lab run "$plan" >/dev/null 2>&1
    "$program" lab report "$plan" >/dev/null
fi
node "$work/report.mjs" "${SCREENSHOTS:-}" "$plan/report.html" results/*/report.html

node "$work/colour.mjs" crates/explorer/assets
mkdir "$work/runs" "$work/nothing"
node "$work/visit.mjs" "$program" "$work/nothing" ${SCREENSHOTS:+"$SCREENSHOTS"}
node "$work/page.mjs" "$program" "$work/runs" ${SCREENSHOTS:+"$SCREENSHOTS"}
