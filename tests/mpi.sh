#!/usr/bin/env bash
# Training by 1 to 4 MPI processes: the same bits as one, a killed process, a signal, another number on resuming, bad input;
# and two hosts joined by a network alone, where namespaces can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null || ! ls /usr/lib/llvm*/lib/libclang* >/dev/null 2>&1; then
    packages libopenmpi-dev openmpi-bin libclang-dev
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Oversubscribed on few cores: waiting processes must let others run.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

fail() {
    echo "failed: $1"
    tail -n 20 "$work"/*.log
    exit 1
}

cargo clippy --release --quiet -p kuramoto-engine --features mpi -- -D warnings
cargo build --release --quiet
without=$work/without
cp "${CARGO_TARGET_DIR:-target}/release/kuramoto" "$without"
cargo build --release --quiet --features mpi
program=$work/kuramoto
cp "${CARGO_TARGET_DIR:-target}/release/kuramoto" "$program"
cd "$work"

new=(train --steps 60 --validate-every 20 --checkpoint-every 5 --keep 0 --batch 8 --threads 1 --test)
launch() { # launch PROCESSES NAME ARGUMENTS..: what it says goes to NAME.log
    local count=$1 name=$2
    shift 2
    timeout 300 mpirun -n "$count" "$program" "$@" >"$name.log" 2>&1
}
# What must not differ: parameters, moments, state and rows, but for times.
result() {
    sha256sum <"$1/checkpoints/step-60/model.safetensors"
    sha256sum <"$1/checkpoints/step-60/optimizer.safetensors"
    sed -E 's/"(seconds|tokens_per_second|utilisation)":[^,}]*//g' "$1/metrics.jsonl" | sha256sum
    grep -E '"(test|validation)_bits_per_byte"' "$1/summary.json"
}
same() { [ "$(result "$1")" = "$(result alone)" ] || fail "$1 is not the run of one process"; }
wait_for() { # wait_for FILE
    for _ in $(seq 600); do
        [ -e "$1" ] && return
        sleep 0.1
    done
    fail "$1 never came"
}

"$program" "${new[@]}" --out alone >alone.log 2>&1
for count in 1 2 3 4; do
    launch "$count" "of-$count" "${new[@]}" --out "of-$count" || fail "$count processes"
    same "of-$count"
done
echo "ok: 1, 2, 3 and 4 processes give the bits of one"

timeout 300 mpirun -n 3 "$program" "${new[@]}" --out killed >killed.log 2>&1 &
job=$!
wait_for killed/last
victim=$(pgrep -f -- "^$program .*--out killed" | tail -n 1)
kill -KILL "$victim"
if wait "$job"; then fail "a job that lost a process succeeded"; fi
for _ in $(seq 100); do
    pgrep -f -- "^$program .*--out killed" >/dev/null || break
    sleep 0.1
done
if pgrep -f -- "^$program .*--out killed" >/dev/null; then fail "processes of a dead job are left"; fi
[ "$(cat killed/last)" != step-60 ] || fail "the kill came too late to show anything"
launch 2 resumed train --resume killed --threads 1 || fail "resuming with two processes"
same killed
echo "ok: a killed process ends the job; two processes finish what three began, bit for bit"

timeout 300 mpirun -n 2 "$program" "${new[@]}" --out stopped >stopped.log 2>&1 &
job=$!
wait_for stopped/last
kill -TERM "$(pgrep -f -- "^$program .*--out stopped" | tail -n 1)"
code=0
wait "$job" || code=$?
[ "$code" = 143 ] || fail "a stopped job left with $code"
grep --quiet "everything is saved" stopped.log || fail "a stopped job did not save"
launch 4 again train --resume stopped --threads 1 || fail "resuming with four processes"
same stopped
echo "ok: a signal to one process stops and saves all; four processes finish what two began"

if launch 9 many "${new[@]}" --out many; then fail "more processes than lanes were accepted"; fi
grep --quiet "start fewer, or set batch.lanes" many.log && [ ! -e many ] || fail "more processes than lanes"
if launch 2 nonsense "${new[@]}" --preset nonsense; then fail "a wrong preset was accepted"; fi
[ "$(grep --count "choose quick, 1m or 5m" nonsense.log)" = 1 ] || fail "an error is not said once"
if timeout 60 mpirun -n 2 "$without" "${new[@]}" --out none >without.log 2>&1; then fail "two processes without MPI"; fi
grep --quiet -- "--features mpi" without.log && [ ! -e none ] || fail "a program without MPI did not say so"
if launch 9 resumed-by-many train --resume of-2 --steps 70; then fail "more processes than lanes resumed"; fi
[ "$(grep --count "each needs a lane" resumed-by-many.log)" = 1 ] || fail "an error on resuming is not said once"
if launch 3 fewer train --resume of-2 --steps 10; then fail "fewer steps than were taken"; fi
[ "$(grep --count "60 steps already" fewer.log)" = 1 ] || fail "fewer steps than were taken are not said once"
if launch 2 both train --resume of-2 --ablation no-value-gate; then fail "--ablation with --resume"; fi
[ "$(grep --count "not with --resume" both.log)" = 1 ] || fail "--ablation with --resume is not said once"
# Each process may have a cache of its own.
head -c 60000 /dev/urandom | base64 >text
timeout 60 mpirun -n 1 "$program" "${new[@]}" --data text --out cached : -n 1 "$program" "${new[@]}" --data text --cache other \
    --out cached >cached.log 2>&1 || fail "a cache of its own"
if launch 2 pinned "${new[@]}" --pin --out pinned; then fail "several processes were pinned to the same cores"; fi
[ ! -e pinned ] || fail "a refused run is left"
echo "ok: bad input is said once, and nothing is left behind"

# Two hosts: namespaces with a network of two between them. The agent starts processes there as ssh would.
remove_hosts() { for host in kuramoto-a kuramoto-b; do ip netns del "$host" 2>/dev/null || true; done; }
add_hosts() {
    ip netns add kuramoto-a && ip netns add kuramoto-b || return 1
    ip link add kuramoto-va netns kuramoto-a type veth peer name kuramoto-vb netns kuramoto-b || return 1
    for host in a:1 b:2; do
        ip -n "kuramoto-${host%:*}" addr add "10.77.0.${host#*:}/24" dev "kuramoto-v${host%:*}" || return 1
        ip -n "kuramoto-${host%:*}" link set "kuramoto-v${host%:*}" up && ip -n "kuramoto-${host%:*}" link set lo up
    done
    ip netns exec kuramoto-a unshare --uts true
}
if ! add_hosts >hosts.log 2>&1; then
    remove_hosts
    skip "two hosts: network namespaces cannot be had ($(tail -n 1 hosts.log))"
fi
trap 'remove_hosts; rm -rf "$work"' EXIT
cat >agent <<'AGENT'
#!/usr/bin/env bash
host=kuramoto-a
[ "$1" = 10.77.0.2 ] && host=kuramoto-b
shift
exec ip netns exec "$host" unshare --uts bash -c "hostname $host; $*"
AGENT
chmod +x agent
network=(--mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24)
timeout 300 ./agent 10.77.0.1 mpirun --mca plm_rsh_agent "$work/agent" "${network[@]}" --host 10.77.0.1:2,10.77.0.2:2 -n 4 \
    bash -c "'hostname >>hosts; exec $program ${new[*]} --out hosted'" >hosted.log 2>&1 || fail "two hosts"
[ "$(sort hosts | uniq -c | xargs)" = "2 kuramoto-a 2 kuramoto-b" ] || fail "not two processes on each host"
same hosted
echo "ok: two hosts give the bits of one process"
