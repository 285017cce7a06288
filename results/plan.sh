#!/usr/bin/env bash
# Writes plan.json of every folder here anew, as the program of this tree makes it. Nothing is trained.
# usage: results/plan.sh ENWIK8 (the file, raw or as .gz, .xz or .zip)
set -euo pipefail
corpus=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The runs here were made when the paper's protocol still stopped at spikes.
plan() {
    cargo run --release --quiet -- lab plan "$@" --scale study --budget 120k --set bad-steps.policy=stop \
        --cache "$work/cache" >/dev/null
}

# Prepares the corpus, so that the plans below find it in the cache and hold no path of this machine.
plan compare --seeds 1 --data-path "$corpus" --out "$work/prepared"
plan compare --seeds 8 --out "$work/compare"
plan compare --seeds 8 --set length.tokens=4000000 --out "$work/compare-4m"
plan ablations --seeds 10 --set length.tokens=3000000 --out "$work/ablations"
for name in compare compare-4m ablations; do
    cp "$work/$name/plan.json" "results/$name/plan.json"
done
