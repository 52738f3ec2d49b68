"""What `status` and `why` tell people."""

import time

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
        joined.work.accept(platform.assignment)
        joined.work.finish("dropped", "the round has closed", now=number)
    joined.journal.record_sent("update", 6, day="2026-01-01")
    lines = status_lines(make_report(home, joined))
    assert [line for line in lines if "the round has closed" in line] == [
        f"dropped: a{number}: the round has closed" for number in (4, 3, 2)
    ]
    assert "sent: update: 1 message, 6 bytes" in lines


def test_a_device_that_does_not_run_says_so(joined: Store, home: Home) -> None:
    (line,) = why_lines(make_report(home, joined))
    assert line.endswith("[agent.not_running]")


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


def test_what_the_owner_is_asked_is_told_once_and_no_more_once_he_has_agreed(joined: Store, home: Home) -> None:
    wait = reason_not_agreed("digits")
    joined.journal.write_status(waiting_for(wait))
    joined.agreements.ask("digits", ("readable",))
    codes = [reason.code for reason in make_report(home, joined).waits]
    assert codes == ["agent.not_running", "owner.not_agreed"]
    joined.agreements.agree(("readable",), how="terminal", read="")
    codes = [reason.code for reason in make_report(home, joined).waits]
    assert codes == ["agent.not_running", "owner.agreed_since"], "the platform repeats why the device gave a round back"


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
