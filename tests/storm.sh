#!/usr/bin/env bash
# A standing storm: kills, disk errors, damaged, forged and odd files, absurd flags, HTTP abuse; five minutes by default.
#
#     tests/storm.sh                                     half with a fixed seed, half with a fresh one, which is printed
#     tests/storm.sh --seconds 7200 --seed 7             hours on request
#     tests/storm.sh --faults 1000 --inputs 10000        so many trials
#     tests/storm.sh --only kill-train/7/12              one trial again
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/common.sh

command -v python3 >/dev/null || skip "python3 is not installed"
# It makes system calls fail.
command -v strace >/dev/null || packages strace
strace -qqq -o /dev/null --seccomp-bpf -f -e inject=getcwd:error=EIO true 2>/dev/null ||
    skip "strace may not trace here (try it as root, or with --cap-add SYS_PTRACE in a container)"

cargo build --release --quiet
exec python3 tests/storm --program "$PWD/target/release/kuramoto" "$@"
