import pytest

from coterie.federations.models import Federation
from coterie.transfer.selectors import standing_of
from coterie_learning.plan import parse_plan, plan_document


@pytest.mark.parametrize(
    ("plan", "stands"),
    [
        ({}, False),
        ({"help": {"kind": "cartel"}}, True),
        ({"pace": {"kind": "alone"}}, True),
        ({"local": {"kind": "distill"}}, True),
    ],
)
def test_a_plan_stands_where_devices_have_models_of_their_own(plan: dict[str, object], stands: bool) -> None:
    federation = Federation(slug="x", state=Federation.State.RUNNING, plan=plan_document(parse_plan(plan)))
    assert (standing_of(federation) is not None) == stands
    federation.state = Federation.State.FINISHED
    assert standing_of(federation) is None
