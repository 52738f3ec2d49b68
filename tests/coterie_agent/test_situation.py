"""What the agent's threads share."""

import pytest

from coterie_agent.situation import Situation
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import Directive

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
