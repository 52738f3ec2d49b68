"""What `status` and `why` tell people."""

from coterie_agent.home import Home
from coterie_agent.report import make_report, status_lines, why_lines
from coterie_agent.store.journal import Status
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
    assert "sent: update: 1 messages, 6 bytes" in lines


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


def test_answers_of_the_platform_are_told_where_it_was_asked(home: Home, joined: Store) -> None:
    def told(counted: Counted) -> str:
        nothing = Histogram()
        joined.journal.write_serving(Serving(0, 0, "v1", False, "float32", None, counted, nothing, nothing))
        (line,) = [line for line in status_lines(make_report(home, joined)) if line.startswith("predictions:")]
        return line

    assert "platform" not in told(Counted(requests=3, answered=2, last_answers=1))
    line = told(Counted(requests=6, answered=2, last_answers=1, platform_answers=2, platform_failures=1, late=1))
    assert line.endswith("1 by a last answer, 2 by the platform, which did not answer 1 more, 1 refused")
