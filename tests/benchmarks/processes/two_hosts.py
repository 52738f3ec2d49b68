"""A training by two workers in two network namespaces, with a shaped link between them.

``unshare -r -n python -m tests.benchmarks.processes.two_hosts TOLD``: it must be in a network namespace of its own. The
second worker's is one of a process that sleeps. TOLD is JSON; what is printed last is JSON, too.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import torch

from coterie.child.job import Progress
from coterie.cloud.bootstrap_job import Together
from coterie.cloud.worker import work
from coterie.cloud.worker_job import WorkerArguments
from tests.benchmarks.processes.timed_training import FIRST_EPOCHS, training_of

ADDRESSES = ("10.99.0.1", "10.99.0.2")
PORT = 29_500


def link(other: int, mbit: int) -> None:
    """Between this namespace and that of process `other`."""
    inside = ["nsenter", "-t", str(other), "-n"]
    shape = ["root", "tbf", "rate", f"{mbit}mbit", "burst", "64kb", "latency", "400ms"]
    for command in (
        ["ip", "link", "set", "lo", "up"],
        ["ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(other)],
        ["ip", "addr", "add", f"{ADDRESSES[0]}/24", "dev", "near"],
        ["ip", "link", "set", "near", "up"],
        [*inside, "ip", "addr", "add", f"{ADDRESSES[1]}/24", "dev", "far"],
        [*inside, "ip", "link", "set", "far", "up"],
        [*inside, "ip", "link", "set", "lo", "up"],
        ["tc", "qdisc", "add", "dev", "near", *shape],
        [*inside, "tc", "qdisc", "add", "dev", "far", *shape],
    ):
        subprocess.run(command, check=True)


def train(told: Mapping[str, Any], number: int) -> dict[str, object]:
    """One worker, in this process."""
    torch.set_num_threads(1)
    together = Together(number, 1, ADDRESSES[number], ADDRESSES[0], PORT, "secret")
    arguments = msgspec.structs.replace(training_of(told), together=together)
    seconds: list[float] = []

    def follow(progress: Progress) -> None:
        values = progress.values
        seconds.append(told["batch"] / values["samples_per_second"])

    result = work(WorkerArguments(arguments, number), follow)
    weights = "" if result.trained is None else result.trained.parameters.sha256
    return {"step_s": seconds[FIRST_EPOCHS:], "weights": weights}


def main(told: str, number: str = "") -> None:
    """With a number, one worker; else both."""
    if number:
        sys.stdout.write(json.dumps(train(json.loads(told), int(number))) + "\n")
        return
    other = subprocess.Popen(["unshare", "-n", "sleep", "3600"])
    try:
        mine = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{other.pid}/ns/net").readlink() == mine:
            time.sleep(0.01)
        link(other.pid, json.loads(told)["mbit"])
        program = [sys.executable, "-m", "tests.benchmarks.processes.two_hosts", told]
        inside = ["nsenter", "-t", str(other.pid), "-n"]
        second = subprocess.Popen([*inside, *program, "1"], stdout=subprocess.DEVNULL)
        try:
            subprocess.run([*program, "0"], check=True)
        finally:
            second.kill()
            second.wait()
    finally:
        other.kill()
        other.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
