"""What the agent's threads share."""

import msgspec
import pytest

from coterie_agent.situation import Situation
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.meeting import Gathering
from coterie_wire.messages import Assignment, Directive
from tests.coterie_agent.bundles import Bundle

NO_SAMPLES, HOT = Reason("data.no_samples", "none yet"), Reason("conditions.too_hot", "80 °C")


@pytest.mark.parametrize(
    ("wait", "left"),
    [
        (NO_SAMPLES, None),
        (HOT, HOT),
        (Reason("rounds.delivered", "the update is in"), Reason("rounds.delivered", "the update is in")),
    ],
)
def test_what_the_platform_repeats_of_a_blocker_passes_with_it(wait: Reason, left: Reason | None) -> None:
    situation = Situation()
    situation.set_conditions(Conditions(), (NO_SAMPLES, HOT))
    situation.set_directive(Directive(check_in_s=30.0, wait=wait), at=0.0)
    situation.set_conditions(Conditions(), (HOT,))
    assert situation.now.directive is not None
    assert situation.now.directive.wait == left


def test_a_gathering_that_comes_with_a_later_answer_is_found(bundle: Bundle) -> None:
    gathering = Gathering(bundle.signed, meetings=2, settling=0, group=2, wait_s=1.0)
    first = Assignment("a1", "digits", 1, msgspec.Raw(b"{}"), bundle.signed, 11, 60.0)
    situation = Situation()
    situation.set_directive(Directive(check_in_s=30.0, assignment=first), at=0.0)
    assert situation.now.gathering("a1") is None
    later = msgspec.structs.replace(first, gathering=gathering)
    situation.set_directive(Directive(check_in_s=30.0, assignment=later), at=1.0)
    assert situation.now.gathering("a1") == gathering
    assert situation.now.gathering("a2") is None, "of another round"
