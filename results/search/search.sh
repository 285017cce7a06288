#!/usr/bin/env bash
# Trains the runs of a list that are not finished yet, one per core. Stop it and start it again as you like; collect.py
# makes a table of what is finished.
# usage: results/search/search.sh PROGRAM ENWIK8 LIST FOLDER
#   PROGRAM  kuramoto, built for release
#   ENWIK8   the file, raw or as .gz, .xz or .zip
#   LIST     a line per run: its name, its model, and what it changes (--set KEY=VALUE also for what is set here),
#            separated by tabs
#   FOLDER   of the run folders
set -euo pipefail
program=$(realpath "$1") enwik8=$(realpath "$2") list=$(realpath "$3")
mkdir -p "$4"
folder=$(realpath "$4")

one() {
    IFS=$'\t' read -r name model changes <<<"$1"
    local run=$folder/$name
    # A run that was stopped goes on; one that is finished is left as it is.
    if [ -e "$run/config.toml" ]; then
        "$program" train --resume "$run" --threads 1
    else
        # shellcheck disable=SC2086 # changes are several arguments
        "$program" train --preset 1m --data-path "$enwik8" --set budget=120000 --set batch.sequences=16 \
            --tokens 10000000 --validate-every 1000000 --validation-windows 2000 --keep 1 --threads 1 \
            --model "$model" --out "$run" $changes
    fi >>"$folder/$name.log" 2>&1 || echo "$name: see $folder/$name.log"
}
export -f one
export program enwik8 folder
xargs --arg-file="$list" --delimiter='\n' --max-procs="$(nproc)" -I{} bash -c 'one "$1"' _ {}
