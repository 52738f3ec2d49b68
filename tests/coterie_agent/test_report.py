"""What `status` and `why` tell people."""

import shutil
import time
from collections.abc import Iterator
from types import SimpleNamespace

import msgspec
import pytest

from coterie_agent.consent import reason_not_agreed
from coterie_agent.home import Home, RunLock
from coterie_agent.report import make_report, status_lines, why_lines
from coterie_agent.store.journal import Link, Status
from coterie_agent.store.opened import Store
from coterie_agent.store.serving import Counted, Serving
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.latency import Histogram
from coterie_wire.messages import Progress
from tests.coterie_agent.fake_platform import FakePlatform


def test_the_latest_rounds_and_everything_sent_are_told(joined: Store, home: Home, platform: FakePlatform) -> None:
    for number in range(5):
        platform.assign(f"a{number}")
        assert platform.assignment is not None
        joined.work.accept(msgspec.structs.replace(platform.assignment, round=number))
        joined.work.finish("dropped", "the round has closed", now=number)
    joined.journal.record_sent("update", 6, day="2026-01-01")
    lines = status_lines(make_report(home, joined))
    assert [line for line in lines if "the round has closed" in line] == [
        f"round {number} of digits: dropped: the round has closed" for number in (4, 3, 2)
    ]
    assert "sent: update: 1 message, 6 bytes" in lines


@pytest.fixture
def running(home: Home, joined: Store) -> Iterator[None]:
    """The agent runs."""
    with RunLock(home.lock):
        yield


def test_a_device_that_does_not_run_says_so_and_not_what_it_waited_for_as_it_ran(joined: Store, home: Home) -> None:
    no_samples = Reason("data.no_samples", "no samples on the device yet")
    status = msgspec.structs.replace(waiting_for(no_samples), blockers=(no_samples,))
    joined.journal.write_status(status)
    (line,) = why_lines(make_report(home, joined))
    assert line.endswith("[agent.not_running]")
    with RunLock(home.lock):
        assert make_report(home, joined).waits == (no_samples,)


def test_what_ended_it_is_told_first(joined: Store, home: Home) -> None:
    revoked = Reason("fleet.revoked", "An operator has revoked this device.")
    joined.journal.write_status(msgspec.structs.replace(waiting_for(revoked), ended=revoked))
    assert [reason.code for reason in make_report(home, joined).waits] == ["fleet.revoked", "agent.not_running"]


def test_the_round_in_hand_is_told_by_its_federation(joined: Store, home: Home, platform: FakePlatform) -> None:
    platform.assign("a1")
    assert platform.assignment is not None
    joined.work.accept(platform.assignment)
    status = waiting_for(Reason("rounds.no_federation", "none"))
    progress = Progress("a1", "training", steps_done=3, steps_total=9)
    joined.journal.write_status(msgspec.structs.replace(status, progress=progress))
    assert "round 1 of digits: training, step 3 of 9" in status_lines(make_report(home, joined))


def test_a_full_disk_on_which_no_status_can_be_written_is_told(
    joined: Store, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
    joined.journal.write_status(waiting_for(Reason("rounds.delivered", "the update is in")))
    assert [reason.code for reason in make_report(home, joined).waits] == ["agent.not_running", "store.full"]
    full = Reason("store.full", "the disk is full")
    joined.journal.write_status(msgspec.structs.replace(waiting_for(full), blockers=(full,)))
    with RunLock(home.lock):
        assert make_report(home, joined).waits == (full,), "once"


@pytest.mark.usefixtures("running")
def test_what_a_secure_sum_waits_for_is_told(joined: Store, home: Home) -> None:
    joined.journal.write_status(
        Status(
            at=1.0,
            link="https",
            link_problem=None,
            conditions=Conditions(),
            blockers=(),
            wait=None,
            progress=Progress("a1", "uploading"),
            version="v1",
            sum_wait=Reason("secure_sum.gathering", "1 of 3 devices are there"),
        )
    )
    assert "1 of 3 devices are there [secure_sum.gathering]" in why_lines(make_report(home, joined))


def waiting_for(wait: Reason) -> Status:
    """What the agent last wrote, where the platform says that it waits for this."""
    return Status(
        at=1.0,
        link="https",
        link_problem=None,
        conditions=Conditions(),
        blockers=(),
        wait=wait,
        progress=None,
        version="v1",
    )


@pytest.mark.usefixtures("running")
def test_what_the_owner_is_asked_is_told_once_and_no_more_once_he_has_agreed(joined: Store, home: Home) -> None:
    wait = reason_not_agreed("digits")
    joined.journal.write_status(waiting_for(wait))
    joined.agreements.ask("digits", ("readable",))
    codes = [reason.code for reason in make_report(home, joined).waits]
    assert codes == ["owner.not_agreed"]
    joined.agreements.agree(("readable",), how="terminal", read="")
    codes = [reason.code for reason in make_report(home, joined).waits]
    assert codes == ["owner.agreed_since"], "the platform repeats why the device gave a round back"


@pytest.mark.parametrize(
    ("link", "told"), [("socket", "in contact over socket"), ("offline", "not in contact with the platform")]
)
def test_an_agent_that_runs_is_not_taken_for_one_that_was_last_seen_long_ago(
    joined: Store, home: Home, link: Link, told: str
) -> None:
    status = waiting_for(Reason("rounds.no_federation", "no federation that is running asks this device"))
    joined.journal.write_status(msgspec.structs.replace(status, link=link, at=time.time() - 7200))
    assert "last change: 2 h ago" in status_lines(make_report(home, joined))
    lock = RunLock(home.lock)
    lock.acquire()
    assert f"{told}; nothing has changed for 2 h" in status_lines(make_report(home, joined))
    lock.release()


def test_answers_of_the_platform_are_told_where_it_was_asked(home: Home, joined: Store) -> None:
    def told(counted: Counted) -> str:
        nothing = Histogram()
        joined.journal.write_serving(Serving(0, 0, "v1", False, "float32", None, counted, nothing, nothing))
        (line,) = [line for line in status_lines(make_report(home, joined)) if line.startswith("predictions:")]
        return line

    assert "platform" not in told(Counted(requests=3, answered=2, last_answers=1))
    line = told(Counted(requests=6, answered=2, last_answers=1, platform_answers=2, platform_failures=1, late=1))
    assert line.endswith("1 by a last answer, 2 by the platform, which did not answer 1 more, 1 refused")


def test_the_version_is_told_by_its_number(joined: Store, home: Home, platform: FakePlatform) -> None:
    joined.journal.write_status(waiting_for(Reason("rounds.pause", "the next round may open in 20 s")))
    assert "model version: v1" in status_lines(make_report(home, joined)), "it was in use, and is fetched again"
    joined.work.hold_model(platform.bundle.signed)
    number = platform.bundle.manifest.number
    assert f"model version: {number} (v1)" in status_lines(make_report(home, joined))
