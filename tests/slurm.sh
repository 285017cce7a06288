#!/usr/bin/env bash
# A plan through a real Slurm of one node: submitted as an array, one task stopped half way and queued again, all
# finished in the end; another plan cancelled. Slurm's own files live in a temporary folder, on ports of their own;
# nothing of a Slurm that is already here is touched.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

has_all() { command -v sbatch slurmctld slurmd munged >/dev/null; }

[ "$(id -u)" -eq 0 ] || skip "slurmd needs to be root to start tasks"
PATH="$PATH:/usr/sbin" has_all || packages slurm-wlm munge
export PATH="$PATH:/usr/sbin"

cargo build --release --quiet
program=$PWD/target/release/kuramoto
folder=$(mktemp -d)
tidy() {
    kill $(cat "$folder"/*.pid 2>/dev/null) 2>/dev/null || true
    # They save their state as they leave.
    for _ in $(seq 50); do rm -rf "$folder" 2>/dev/null && break || sleep 0.2; done
}
trap tidy EXIT

# munge proves to each part of Slurm who the other is.
head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 400 "$folder/munge.key"
chmod 755 "$folder"
munged --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" --force

host=$(hostname -s)
cat >"$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
SlurmctldPort=36817
SlurmdPort=36818
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
mkdir "$folder/state" "$folder/spool"
export SLURM_CONF="$folder/slurm.conf"
slurmctld
slurmd -N "$host" 2>/dev/null || slurmd
for _ in $(seq 30); do
    sinfo --noheader --format=%T 2>/dev/null | grep --quiet idle && break
    sleep 1
done
sinfo | grep --quiet idle || {
    tail "$folder"/slurm*.log
    skip "Slurm does not come up here"
}

# Two runs of a few seconds, one core each.
plan=$folder/plan
"$program" lab plan compare --scale smoke --seeds 1 --protocol tuned --set length.steps=1500 --set validation.every=500 \
    --out "$plan" >/dev/null
"$program" lab submit "$plan" --slurm --cpus 1 --throttle 2 --memory 200 --time 10
job=$(squeue --noheader --format=%A | sort -n | head -1)

echo "stopping task 0 half way, as Slurm does before a time limit"
for _ in $(seq 60); do
    [ "$(wc -l 2>/dev/null <"$plan"/runs/compare-kuramoto-*/metrics.jsonl || echo 0)" -gt 100 ] && break
    sleep 0.2
done
scancel --signal=USR1 --batch "${job}_0"
sleep 3
rows=$(wc -l <"$(echo "$plan"/runs/compare-kuramoto-*)/metrics.jsonl")
[ "$rows" -lt 1500 ] || { echo "task 0 was finished before it could be stopped"; exit 1; }
grep --quiet "stopped; everything is saved" "$plan/logs/0.log"

for _ in $(seq 300); do
    # Slurm holds back what was queued again for two minutes; this does not.
    scontrol update JobId="${job}_0" StartTime=now 2>/dev/null || true
    [ -z "$(squeue --noheader)" ] && break
    sleep 1
done
cat "$plan"/logs/*.log
"$program" lab status "$plan" | tee "$folder/status"
grep --quiet "^2 of 2 runs finished" "$folder/status" || { squeue; tail "$folder"/slurm*.log; exit 1; }
"$program" lab submit "$plan" --slurm | grep "nothing to submit"

echo "cancelling a plan: what runs saves, and is not queued again"
"$program" lab plan compare --scale smoke --seeds 1 --protocol tuned --set length.steps=100000 --out "$folder/long" >/dev/null
"$program" lab submit "$folder/long" --slurm --cpus 1 --memory 200 --time 10 >/dev/null
for _ in $(seq 60); do
    [ "$(cat "$folder"/long/runs/*/metrics.jsonl 2>/dev/null | wc -l)" -gt 200 ] && break
    sleep 0.5
done
scancel --name=kuramoto-long
for _ in $(seq 60); do
    [ -z "$(squeue --noheader)" ] && break
    sleep 0.5
done
[ -z "$(squeue --noheader)" ] || { squeue; exit 1; }
grep --no-filename "stopped; everything is saved" "$folder"/long/logs/*.log
echo "a plan went through Slurm; task 0 was stopped after $rows steps and went on"
