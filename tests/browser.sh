#!/usr/bin/env bash
# The explorer's page in headless Chromium, driven by Playwright. Installs what it needs where that is possible, and says
# so where it is not. SCREENSHOTS=FOLDER keeps pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
if ! command -v chromium >/dev/null; then
    command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ] || skip "chromium is not installed"
    { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 || skip "chromium cannot be installed"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/browser/page.mjs "$work"
(cd "$work" && npm install --no-save --no-audit --no-fund playwright-core) >"$work/npm.log" 2>&1 || skip "playwright-core cannot be installed"
cargo build --release --quiet
mkdir "$work/runs"
CHROMIUM=$(command -v chromium) node "$work/page.mjs" "${CARGO_TARGET_DIR:-$PWD/target}/release/kuramoto" "$work/runs" ${SCREENSHOTS:+"$SCREENSHOTS"}
