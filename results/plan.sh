#!/usr/bin/env bash
# Writes plan.json of every folder here anew, as the program of this tree makes it. Nothing is trained.
# usage: results/plan.sh ENWIK8 (the file, raw or as .gz, .xz or .zip)
# The Python source is looked for where its plan says; where it is not there, that plan stays as it is.
set -euo pipefail
corpus=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Most runs here were made when the paper's protocol still stopped at spikes.
plan() {
    plan_now "$@" --set bad-steps.policy=stop
}
plan_now() {
    cargo run --release --quiet -- lab plan "$@" --scale study --cache "$work/cache" >/dev/null
}
small=(--budget 120k)
tuned=(--arms kuramoto-tuned,transformer-tuned)

# Prepares the corpus, so that the plans below find it in the cache and hold no path of this machine.
plan compare "${small[@]}" --seeds 1 --data-path "$corpus" --out "$work/prepared"
plan compare "${small[@]}" --seeds 8 --out "$work/compare"
plan compare "${small[@]}" --seeds 8 --set length.tokens=4000000 --out "$work/compare-4m"
plan ablations "${small[@]}" --seeds 10 --set length.tokens=3000000 --out "$work/ablations"
plan ablations "${small[@]}" --seeds 6 --arms no-metric-gates --out "$work/metric-gates"
plan_now ablations "${small[@]}" --seeds 6 --arms no-metric-gates --protocol paper --out "$work/metric-gates-paper"
for millions in 4 10; do
    plan compare "${small[@]}" "${tuned[@]}" --seeds 8 --set optimizer.warmup=10% \
        --set length.tokens=${millions}000000 --out "$work/warmup-share-${millions}m"
done
plan compare --budget 1M "${tuned[@]}" --seeds 2 --set batch.sequences=64 --set length.epochs=1 \
    --set checkpoints.keep=0 --out "$work/epoch-1m"
if [ -e /data/python-source.txt ]; then
    plan_now compare "${small[@]}" --seeds 8 --data /data/python-source.txt --out "$work/python-source"
    cp "$work/python-source/plan.json" results/python-source/plan.json
fi
for name in compare compare-4m ablations metric-gates metric-gates-paper warmup-share-4m warmup-share-10m epoch-1m; do
    cp "$work/$name/plan.json" "results/$name/plan.json"
done
