"""A storm of kills, failing disks, damaged files and absurd input over the program, seeded and counted.

Every trial must keep what docs/reliability.md promises. A trial is known by its name, KIND/SEED/NUMBER, and can be
repeated alone with --only.
"""

import argparse
import concurrent.futures
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

import damage
import faults
import flags
import page
from base import Base, Trial
from program import Broken

FAULTS = {**faults.KINDS, **damage.KINDS}
INPUTS = {**damage.INPUTS, **flags.INPUTS, **page.INPUTS}
KINDS = {**FAULTS, **INPUTS}
# How often a kind is tried; what takes long comes less often.
WEIGHT = {
    "kill-train": 6, "kill-lab": 2, "kill-reader": 4, "disk-train": 6, "disk-lab": 2, "disk-reader": 6,
    "flip": 12, "corpus": 4, "odd-file": 10, "odd-name": 2,
    "forged-file": 12, "forged-plan": 4, "flags": 40, "request-body": 60, "request": 60, "crowd": 1,
}  # fmt: skip


# Set by Ctrl-C and SIGTERM: trials that run come to their end, and what was tried is counted.
STOP = threading.Event()


class Storm:
    def __init__(self, base, seed):
        self.base, self.seed = base, seed
        self.tried, self.failed, self.lock = Counter(), Counter(), threading.Lock()

    def trial(self, name):
        """Runs one trial; returns why it failed, or nothing."""
        kind = name.split("/")[0]
        folder = self.base.folder / "trials" / name
        why = None
        try:
            KINDS[kind](Trial(self.base, random.Random(name), folder))
        except Broken as broken:
            why = str(broken)
        except Exception:  # a fault of the storm's own is a failure too
            why = traceback.format_exc()
        with self.lock:
            self.tried[kind] += 1
            if why is not None:
                self.failed[kind] += 1
                print(f"\nFAILED {name}: {why}\n  again: tests/storm.sh --only {name}", flush=True)
        unlock(folder)
        shutil.rmtree(folder, ignore_errors=True)
        return why

    def names(self, kinds, count=None):
        """Names of trials of these kinds, mixed by their weights; without end if no count is given."""
        rng = random.Random(f"order/{self.seed}")
        kinds = sorted(kinds)
        numbers = Counter()
        while count is None or sum(numbers.values()) < count:
            kind = rng.choices(kinds, [WEIGHT[kind] for kind in kinds])[0]
            numbers[kind] += 1
            yield f"{kind}/{self.seed}/{numbers[kind]}"

    def run(self, names, jobs, until=None):
        """Runs trials side by side until there are no more, or the time is over."""
        source = iter(names)

        def work():
            while not STOP.is_set() and (until is None or time.monotonic() < until):
                with self.lock:
                    name = next(source, None)
                if name is None:
                    return
                self.trial(name)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(work) for _ in range(jobs)]:
                done.result()


def unlock(folder):
    """Makes a folder removable by its owner."""
    for root, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


def table(storms):
    """Kind, tried, failed; then the plain line."""
    tried, failed = Counter(), Counter()
    for storm in storms:
        tried += storm.tried
        failed += storm.failed
    print(f"\n{'kind':<14}{'tried':>8}{'failed':>8}")
    for title, kinds in (("faults", FAULTS), ("inputs", INPUTS)):
        for kind in (kind for kind in kinds if tried[kind]):
            print(f"{kind:<14}{tried[kind]:>8}{failed[kind]:>8}")
        print(f"{title:<14}{sum(tried[kind] for kind in kinds):>8}{sum(failed[kind] for kind in kinds):>8}")
    total, bad = sum(tried.values()), sum(failed.values())
    print(f"\n{total - bad} passed, {bad} failed", flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(prog="tests/storm.sh", description=__doc__)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help="how long, instead of how many [default: 300]")
    parser.add_argument("--faults", type=int, default=0, help="kills, disk errors, damaged and odd files to try")
    parser.add_argument("--inputs", type=int, default=0, help="forged files, command lines and requests to try")
    parser.add_argument("--seed", action="append", help="of trials; several share the time [default: 1 and a fresh one]")
    parser.add_argument("--only", metavar="NAME", help="repeat one trial, or all of a kind (KIND)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trials at a time")
    arguments = parser.parse_args()
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, lambda *_: STOP.set())
    seeds = arguments.seed or ["1", str(random.SystemRandom().randrange(10**9))]
    print(f"seeds: {' '.join(seeds)}", flush=True)
    # In memory, where there is room: the storm is about order and errors, and a disk would only slow it.
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and shutil.disk_usage(memory).free > 1 << 30 else None
    with tempfile.TemporaryDirectory(prefix="kuramoto-storm-", dir=where, ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        flags.check_commands(arguments.program)
        base = Base(arguments.program, folder)
        storms = [Storm(base, seed) for seed in seeds]
        try:
            for storm in storms:
                if arguments.only and "/" in arguments.only:
                    storm.trial(arguments.only)
                    break
                kinds = [arguments.only] if arguments.only else KINDS
                if arguments.faults or arguments.inputs:
                    share = len(storms)
                    for group, count in ((FAULTS, arguments.faults), (INPUTS, arguments.inputs)):
                        storm.run(storm.names(group, -(-count // share)), arguments.jobs)
                else:
                    until = time.monotonic() + (arguments.seconds or 300) / len(storms)
                    storm.run(storm.names(kinds), arguments.jobs, until)
        finally:
            page.close_all()
        sys.exit(1 if table(storms) else 0)


main()
