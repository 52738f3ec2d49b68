"""A round under a plan that hides updates in their sum, by the whole agent: what leaves, what counts, what ends it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_agent.home import Home
from coterie_agent.store.opened import Store
from coterie_agent.store.work import Outcome
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.contribution import Contents
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.secure_sum.vector import Vector, word
from coterie_wire.conditions import Reason
from coterie_wire.messages import CheckIn, OfferUpdate, ReleaseAssignment
from coterie_wire.secure_sum import SumNews
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_agent.conftest import Agent
from tests.coterie_agent.fake_platform import PLAN, Denied, FakePlatform
from tests.coterie_agent.summing import Device, Link, Platform
from tests.coterie_learning.secure_sum.session import vector_of

NewAgent = Callable[..., Agent]
SUMMED = {
    **PLAN,
    "codec": {"kind": "float32"},
    "privacy": {"kind": "secure_aggregation", "min_devices": 3, "corrupted": 0.0, "norm": 100.0, "bits": 32},
}
PARSED = parse_device_plan(msgspec.json.encode(SUMMED))
MASKING = PARSED.privacy.masking()
assert MASKING is not None
CONTENTS = Contents(SPEC, PARSED.local, MASKING, members=3, seed=1)
pytestmark = pytest.mark.usefixtures("stocked")


@pytest.fixture
def summed(platform: FakePlatform, tmp_path: Path) -> Platform:
    """The sum that the device is in, with two others."""
    found = Platform(3, MASKING.terms, CONTENTS.layout)
    platform.sum = found
    platform.check_in_s = 0.2
    platform.others = [
        Device(
            Home(tmp_path / name),
            Link(name, found),
            lambda _, place=place: vector_of(place, CONTENTS.layout),
            MASKING.terms,
        )
        for place, name in enumerate(("second", "third"))
    ]
    return found


def ended(agent: Agent, store: Store) -> tuple[Outcome, str]:
    """How the assignment ended."""
    while not store.work.is_finished("a1"):
        now = agent.situation.now
        assert not now.stopping
        agent.situation.wait(now.edition, 0.2)
    (finished,) = store.work.outcomes()
    return finished.outcome, finished.sentence


def of_the_device(found: Platform) -> Vector:
    """The sum without what the two others added to it."""
    total, others = found.sum(), [vector_of(place, found.layout) for place in range(2)]
    numbers = total.numbers - others[0].numbers - others[1].numbers
    return Vector(total.bits, numbers.astype(word(total.bits)), total.tail - others[0].tail - others[1].tail)


def test_an_update_counts_in_the_sum_and_nothing_of_it_leaves_alone(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    agent = new_agent(chunk_bytes=1024).start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].metadata is not None)
    platform.assign("a1", plan=SUMMED)
    assert ended(agent, stocked)[0] == "accepted"
    check_ins = len(platform.check_ins)
    platform.wait_for(lambda: len(platform.check_ins) > check_ins)

    own = of_the_device(summed)
    told = CONTENTS.summed(own.numbers, own.tail, 1, parameters(), Float32Codec())
    assert 40 <= told.samples <= 55
    assert told.figures is not None
    assert told.figures.loss_after < told.figures.loss_before
    update = Float32Codec().decode(told.payload, expected=SPEC.parameters)
    assert all(np.abs(tensor).max() > 0.01 for tensor in update.values())

    sent = {sent.what: sent.bytes for sent in stocked.journal.sent_totals()}
    assert sent["masked-update"] == summed.offers["d1"].size_bytes
    assert not {"update", "offer-update"} & sent.keys()
    assert not any(isinstance(message, OfferUpdate) for message in platform.received)


def figures(check_in: CheckIn) -> bool:
    """Whether it tells of the device's data or steps."""
    progress = check_in.progress
    return check_in.metadata is not None or (progress is not None and progress.steps_total > 0)


def test_no_figures_are_told_from_the_assignment_on_until_one_hides_nothing(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    agent = new_agent().start()
    platform.wait_for(lambda: platform.check_ins)
    platform.assign("a1", plan=SUMMED)
    assert ended(agent, stocked)[0] == "accepted"
    check_ins = len(platform.check_ins)
    platform.wait_for(lambda: len(platform.check_ins) > check_ins + 1)
    assert platform.check_ins[0].metadata is None, "before the platform has said whether a plan hides them"
    begun = next(at for at, one in enumerate(platform.check_ins) if one.progress is not None)
    assert not any(map(figures, platform.check_ins[begun:]))
    platform.sum = None
    platform.assign("a2", plan=PLAN)
    platform.wait_for(lambda: "a2" in platform.accepted and platform.check_ins[-1].metadata is not None)


def test_a_device_that_is_stopped_in_the_sum_goes_on_in_it(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    def at_the_vector(path: str) -> None:
        if "uploads" in path:
            platform.fault = None
            first.situation.stop()
            raise ConnectionError

    platform.fault = at_the_vector
    first = new_agent().start()
    platform.assign("a1", plan=SUMMED)
    first.join()
    assert not summed.files["d1"]
    second = new_agent().start()
    assert ended(second, stocked)[0] == "accepted"
    own = of_the_device(summed)
    assert CONTENTS.summed(own.numbers, own.tail, 1, parameters(), Float32Codec()).samples >= 40


def test_news_of_the_platform_end_the_devices_waiting(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    reason = Reason("secure_sum.gathering", "1 of 3 devices are there")
    summed.tampered = lambda news: SumNews("session", "wait", again_s=3600, reason=reason)
    agent = new_agent().start()
    platform.assign("a1", plan=SUMMED)
    while agent.situation.now.sum_wait is None:
        agent.situation.wait(agent.situation.now.edition, 0.2)
    assert agent.situation.now.sum_wait == reason
    summed.tampered = lambda news: news
    platform.wake()
    assert ended(agent, stocked)[0] == "accepted"
    assert agent.situation.now.sum_wait is None


def test_a_sum_that_ends_without_the_update_drops_it_and_says_why(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    over = SumNews("session", "over", reason=Reason("secure_sum.too_few", "too few devices were left"))
    summed.tampered = lambda news: over
    agent = new_agent().start()
    platform.assign("a1", plan=SUMMED)
    assert ended(agent, stocked) == ("dropped", "too few devices were left")
    assert stocked.secure_sum.find("a1") is None


def test_a_round_that_has_closed_drops_the_update(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    def closed(path: str) -> None:
        if "ask-sum" in path:
            raise Denied(409, "rounds.assignment_closed", "the round has closed")

    platform.fault = closed
    agent = new_agent().start()
    platform.assign("a1", plan=SUMMED)
    assert ended(agent, stocked) == ("dropped", "the round has closed")


def test_a_vector_that_was_damaged_is_given_back_and_the_secrets_are_destroyed(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform, home: Home
) -> None:
    def damage(path: str) -> None:
        if "uploads" in path:
            platform.fault = None
            with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
                connection.execute("UPDATE masked_vector SET content = zeroblob(length(content))")
            raise ConnectionError

    platform.fault = damage
    agent = new_agent().start()
    platform.assign("a1", plan=SUMMED)
    assert ended(agent, stocked)[0] == "released"
    (release,) = (message for message in platform.received if isinstance(message, ReleaseAssignment))
    assert release.reason.code == "agent.sum_damaged"
    assert stocked.secure_sum.find("a1") is None
    assert not summed.files["d1"]


def test_a_crowd_that_is_smaller_than_promised_gets_nothing(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, summed: Platform
) -> None:
    """The platform says that two are enough, where the plan says three."""
    summed.count, summed.terms = 2, MASKING.terms._replace(fewest=2)
    platform.others = platform.others[:1]
    platform.others[0].terms = summed.terms
    agent = new_agent().start()
    platform.assign("a1", plan=SUMMED)
    assert ended(agent, stocked)[0] == "released"
    (release,) = (message for message in platform.received if isinstance(message, ReleaseAssignment))
    assert release.reason.code == "secure_sum.too_few"
    assert summed.boxes.keys() <= {"second"}
