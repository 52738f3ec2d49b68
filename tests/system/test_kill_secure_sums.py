"""Kill the platform in each step of a secure sum: the round's model is that of a quiet run, bit for bit."""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import ClassVar

import pytest
from nacl.signing import SigningKey

from coterie_wire.messages import Capabilities
from tests.system.cohort import DEVICES, Cohort
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.summed_device import PLAN, SUMS, Member

RANDOM_KILLS = 4
STEPS = ("join", "share", "mask", "reveal")


class SumCohort(Cohort):
    """Its devices' updates are summed under masks."""

    capabilities: ClassVar[Capabilities] = SUMS

    def __init__(self, site: Site, name: str) -> None:
        super().__init__(site, name, plan=PLAN)
        self.identities = [SigningKey.generate() for _ in self.devices]

    def begun(self, number: int) -> list[Member]:
        """Round `number`, in which nobody has joined yet."""
        parts = zip(self.devices, self.open_round(number), self.identities, strict=True)
        return [
            Member(device, assignment, number, 100 * number + index, identity)
            for index, (device, assignment, identity) in enumerate(parts)
        ]

    def hold(self, number: int) -> None:
        members = self.begun(number)
        with ThreadPoolExecutor(DEVICES) as pool:
            list(pool.map(Member.run, members))
        self.published[number] = self.parameters_after(number)


@pytest.fixture(scope="module")
def disturbed(site: Site) -> Iterator[SumCohort]:
    with closing(SumCohort(site, "disturbed-sums")) as cohort:
        yield cohort


@pytest.fixture(scope="module")
def quiet(site: Site) -> Iterator[SumCohort]:
    with closing(SumCohort(site, "quiet-sums")) as cohort:
        yield cohort


def assert_as_quiet(disturbed: SumCohort, quiet: SumCohort, number: int) -> None:
    while (turn := quiet.planned_round()) <= number:
        quiet.hold(turn)
    assert disturbed.published[number] == quiet.published[number]


@pytest.mark.parametrize(("step", "everything"), [("join", False), ("share", True), ("mask", False), ("reveal", True)])
@pytest.mark.long
def test_killed_when_some_have_taken_a_step(
    disturbed: SumCohort, quiet: SumCohort, step: str, everything: bool
) -> None:
    number = disturbed.planned_round()
    members = disturbed.begun(number)
    kill: Callable[[], None] = disturbed.site.platform.kill_all if everything else disturbed.site.platform.kill_server
    for taken in STEPS[: STEPS.index(step)]:
        for member in members:
            eventually(lambda member=member, taken=taken: member.act() == taken)  # type: ignore[misc]
    eventually(lambda: members[0].act() == step)
    kill()
    with ThreadPoolExecutor(DEVICES) as pool:
        list(pool.map(Member.run, members))
    disturbed.published[number] = disturbed.parameters_after(number)
    assert_as_quiet(disturbed, quiet, number)


@pytest.mark.long
def test_killed_at_random_moments(disturbed: SumCohort, quiet: SumCohort) -> None:
    moments = random.Random(11)
    number = disturbed.planned_round()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(disturbed.hold, number)
        for _ in range(RANDOM_KILLS):
            time.sleep(moments.uniform(0, 1))  # waits for nothing: any moment is as good
            disturbed.site.platform.kill_server()
        held.result()
    assert_as_quiet(disturbed, quiet, number)
