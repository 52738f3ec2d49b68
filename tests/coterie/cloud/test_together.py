"""A gang whose workers are on two hosts, here two children that meet by TCP: the result of one gang on one host."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
import pytest
import torch.distributed as dist

from coterie.child.job import Limits
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, share_job
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult, Together
from coterie.cloud.collective import gloo_with
from coterie.cloud.errors import WorkersDied
from coterie.cloud.strategies import STRATEGIES, parse_strategy
from tests.coterie.cloud.training import arguments_of, write_job
from tests.free_ports import free_port

LIMITS = Limits(memory_bytes=8 << 30, confined=True, network=True)
STRATEGY: dict[str, object] = {"kind": "data_parallel", "workers": 2}


def train_apart(arguments: BootstrapArguments) -> BootstrapResult:
    """Each of the two workers under a host of its own."""
    port, secret = free_port(), secrets.token_hex(16)

    def part(first: int) -> BootstrapArguments:
        together = Together(first, 1, "127.0.0.1", "127.0.0.1", port, secret)
        return msgspec.structs.replace(arguments, together=together)

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(run_child, share_job.JOB, part(1), limits=LIMITS)
        result = run_child(bootstrap_job.JOB, part(0), limits=LIMITS)
        assert other.result(timeout=30) == share_job.ShareResult()
    return result


@pytest.mark.long
def test_two_hosts_train_what_one_would(tmp_path: Path) -> None:
    write_job(tmp_path)
    alone = run_child(
        bootstrap_job.JOB, arguments_of(tmp_path, STRATEGY, epochs=1), limits=Limits(memory_bytes=8 << 30)
    )
    expected = (tmp_path / "trained").read_bytes()
    result = train_apart(arguments_of(tmp_path, STRATEGY, epochs=1))
    assert (result, (tmp_path / "trained").read_bytes()) == (alone, expected)


@pytest.mark.long
def test_a_part_without_the_others_ends_at_its_first_death(tmp_path: Path) -> None:
    write_job(tmp_path)
    arguments = arguments_of(tmp_path, STRATEGY, epochs=1)
    # Nobody can listen at this address, so the worker dies when it begins.
    together = Together(0, 1, "192.0.2.1", "127.0.0.1", free_port(), "secret")
    with pytest.raises(WorkersDied) as caught:
        run_child(bootstrap_job.JOB, msgspec.structs.replace(arguments, together=together), limits=LIMITS)
    assert caught.value.fields["times"] == 1


def test_strategies_whose_workers_meet_by_gloo_are_spread_over_hosts() -> None:
    spread = {kind for kind in STRATEGIES.schema() if parse_strategy({"kind": kind}).spreads}
    assert spread == {"data_parallel", "sharded", "pipeline", "local_sgd"}


def test_workers_listen_at_the_address_that_they_are_told(tmp_path: Path) -> None:
    """Another one of this machine than its host name's."""

    class Two(NamedTuple):
        store: dist.Store
        group_rank: int
        group_size: int = 2

    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(hostname="127.0.0.3")]
    with ThreadPoolExecutor(2) as threads:
        file = dist.FileStore(str(tmp_path / "meeting"), 2)
        groups = list(threads.map(lambda rank: gloo_with(Two(file, rank), options), range(2)))
    listening = [one.laddr.ip for one in psutil.Process().net_connections() if one.status == psutil.CONN_LISTEN]
    connected = [one.laddr.ip for one in psutil.Process().net_connections() if one.status == psutil.CONN_ESTABLISHED]
    assert len(groups) == 2
    assert "127.0.0.3" in listening + connected
