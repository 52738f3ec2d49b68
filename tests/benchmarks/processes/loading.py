"""A worker that loads its part of a model and ends: its peak memory in bytes is what is printed last.

``python -m tests.benchmarks.processes.loading TOLD NUMBER``: TOLD is JSON of `BootstrapArguments`, of strategy
`one_process` or `sharded`, with the file by which workers meet beside its output.
"""

import sys

import torch

from coterie.child.memory import give_large_back, peak_memory_bytes
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.collective import gang_of
from coterie.cloud.learner import Learner
from coterie.cloud.sharded import load_shards
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.worker_job import WorkerArguments
from coterie_wire.structs import from_json


def main(told: str, number: str) -> None:
    """Load, and tell."""
    torch.set_num_threads(1)
    training = from_json(told.encode(), BootstrapArguments)
    if training.strategy["kind"] == "one_process":
        Learner(training)
    else:
        give_large_back()
        count = parse_strategy(training.strategy).count
        arguments = WorkerArguments(training, int(number), meeting=f"{training.output}.meeting")
        with gang_of(arguments, count):
            load_shards(arguments, count)
    sys.stdout.write(f"{peak_memory_bytes()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
