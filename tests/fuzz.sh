#!/usr/bin/env bash
# Runs every fuzz target for a minute (or the seconds given), as many at a time as there are cores, from the seeds in
# fuzz/corpus. What a run finds beside them is thrown away; an input that breaks a target is printed and fails the test.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/common.sh

seconds=${1:-60}
if ! cargo fuzz --version >/dev/null 2>&1 && [ "${CI:-}" = true ]; then
    cargo install --quiet --locked cargo-fuzz || true
fi
cargo fuzz --version >/dev/null 2>&1 || skip "cargo-fuzz is not installed (cargo install cargo-fuzz)"

# Coverage is an unstable option of the compiler, which a stable one takes with this.
export RUSTC_BOOTSTRAP=1
cargo fuzz build --sanitizer none || skip "the fuzz targets cannot be built here"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fuzz() {
    local target=$1 found="$work/$1"
    mkdir -p "$found/corpus" "$found/artifacts"
    # A target that needs more than ten seconds, or a gigabyte, for one input has a fault too.
    if cargo fuzz run --sanitizer none "$target" "$found/corpus" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 \
        -artifact_prefix="$found/artifacts/" >"$found/log" 2>&1; then
        echo "$target: $(grep -o 'Done .*' "$found/log")"
    else
        echo "FAILED $target"
        tail -n 30 "$found/log"
        for input in "$found"/artifacts/*; do
            [ ! -f "$input" ] || echo "its input, in base64: $(base64 --wrap=0 "$input")"
        done
        return 1
    fi
}
export -f fuzz
export work seconds
cargo fuzz list | xargs --max-procs "$(nproc)" --replace={} bash -c 'fuzz {}'
