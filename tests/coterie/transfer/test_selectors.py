import pytest

from coterie.federations.models import Federation
from coterie.transfer.selectors import effective_plan_of
from coterie_learning.plan import parse_plan, plan_document
from tests.coterie.world import START


@pytest.mark.django_db  # a federation is in a project
@pytest.mark.parametrize(
    ("plan", "stands", "to_the_end"),
    [
        ({}, False, False),
        ({"help": {"kind": "cartel"}}, True, False),
        ({"pace": {"kind": "alone"}}, True, False),
        ({"local": {"kind": "distill"}}, True, False),
        ({"personal": {"kind": "fine_tuned"}}, True, True),
    ],
)
def test_a_plan_stands_where_devices_have_models_of_their_own(
    plan: dict[str, object], stands: bool, to_the_end: bool
) -> None:
    federation = Federation(slug="x", plan=plan_document(parse_plan(plan)))
    states = Federation.State
    stood = {}
    for state in (states.DRAFT, states.RUNNING, states.PAUSED, states.FINISHED):
        federation.state = state
        stood[state] = effective_plan_of(federation) is not None
    assert stood == {states.DRAFT: False, states.RUNNING: stands, states.PAUSED: stands, states.FINISHED: to_the_end}
    federation.archived_at = START
    assert effective_plan_of(federation) is None
