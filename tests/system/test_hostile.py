"""Every kind of abuse of the hostile benchmark, some times each: nothing breaks, and honest devices go on."""

import shutil
from collections.abc import Iterator

import pytest

from tests.benchmarks.hostile import ALL_KINDS, MEBIBYTE, Siege, besiege
from tests.benchmarks.hostile.kinds import KINDS
from tests.system.conftest import Prepared
from tests.system.processes import Platform

pytestmark = pytest.mark.long
TIMES = 12
CONNECTIONS = 24
SECONDS = 120.0
"""At most."""
MEMORY_BYTES = 100 * MEBIBYTE


@pytest.fixture(scope="module")
def siege(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Siege, Platform]]:
    state = tmp_path_factory.mktemp("hostile") / "state"
    shutil.copytree(prepared.state, state)
    platform = Platform(state)
    try:
        platform.start()
        requests = TIMES * len(KINDS)
        yield (
            besiege(
                platform,
                prepared.seeded,
                connections=CONNECTIONS,
                requests=requests,
                seconds=SECONDS,
                alone_s=3.0,
                after_s=3.0,
            ),
            platform,
        )
    finally:
        platform.stop()


def test_every_kind_was_sent_and_none_broke_anything(siege: tuple[Siege, Platform]) -> None:
    outcome = siege[0].outcome
    assert len(KINDS) >= 40
    assert outcome.sent.keys() == ALL_KINDS
    assert outcome.broken == {}
    assert siege[0].restarts == 0
    assert "Traceback" not in siege[1].log()


def test_memory_stays_bounded(siege: tuple[Siege, Platform]) -> None:
    before, peak, _ = siege[0].memory_bytes
    assert peak - before <= MEMORY_BYTES
    for name, (agent_before, agent_peak) in siege[0].agents_memory_bytes.items():
        assert agent_peak - agent_before <= MEMORY_BYTES, name


def test_the_attacked_agents_go_on(siege: tuple[Siege, Platform]) -> None:
    assert siege[0].agents_go_on


def test_secure_sums_are_published_beside_a_member_that_lies(siege: tuple[Siege, Platform]) -> None:
    assert siege[0].stuck == ""
    assert siege[0].sums >= 3
    assert siege[0].quarantined >= 1  # of the four lies two are proven, where the machine lets it answer in time


def test_offenders_are_told_of_and_not_each_time(siege: tuple[Siege, Platform]) -> None:
    log = siege[1].log()
    assert "refused 127.0.0." in log
    assert 0 < siege[0].log_lines < siege[0].outcome.requests


def test_rounds_are_published_beside_it(siege: tuple[Siege, Platform]) -> None:
    assert siege[0].rounds_beside_s
