#!/usr/bin/env bash
# The explorer's page without a server, on the models that come with the program, with the book: a folder that any
# static host serves. Needs the target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown) and, for the
# book, mdbook; without mdbook the site has no book.
# usage: crates/web/site.sh OUT [OPTION of kuramoto site..]
set -euo pipefail
out=$(realpath -m "${1:?usage: crates/web/site.sh OUT [OPTION of kuramoto site..]}")
shift
runs=$PWD
cd "$(dirname "$0")/../.."

target=${CARGO_TARGET_DIR:-$PWD/target}
# A folder of its own, because the flags would make cargo build everything else again.
RUSTFLAGS="-C target-feature=+simd128" cargo build --quiet --profile web --target wasm32-unknown-unknown \
    --target-dir "$target/web" --package kuramoto-web
module=$target/web/wasm32-unknown-unknown/web/kuramoto_web.wasm

book=()
if command -v "${MDBOOK:-mdbook}" >/dev/null; then
    "${MDBOOK:-mdbook}" build docs >/dev/null 2>&1
    book=(--book "$PWD/book")
else
    echo "no mdbook: the site has no book" >&2
fi
cargo build --release --quiet
cd "$runs" && "$target/release/kuramoto" site "$out" --module "$module" "${book[@]}" "$@"
