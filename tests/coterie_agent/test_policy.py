"""Why a device does not train: every condition, who asks for it, and that the owner can only be stricter."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_agent.policy import blocks_network, judge, judge_data
from coterie_agent.store.samples import Widths
from coterie_wire.conditions import Conditions, Requirements
from tests.coterie_agent.bundles import SPEC

NOTHING = Requirements(charging=False, unmetered=False)
READY = Conditions(charging="yes", network="wifi", idle="yes", temperature_c=30)


def codes(plan: Requirements | None, owner: Requirements, conditions: Conditions, hour: int = 12) -> set[str]:
    return {reason.code for reason in judge(plan, owner, conditions, hour)}


@pytest.mark.parametrize(
    ("required", "conditions", "code"),
    [
        (Requirements(unmetered=False), Conditions(charging="no"), "conditions.on_battery"),
        (Requirements(unmetered=False), Conditions(), "conditions.power_unknown"),
        (Requirements(charging=False), Conditions(network="metered"), "conditions.metered"),
        (Requirements(charging=False), Conditions(network="none"), "conditions.offline"),
        (Requirements(charging=False), Conditions(), "conditions.network_unknown"),
        (Requirements(charging=False, unmetered=False, idle=True), Conditions(idle="no"), "conditions.in_use"),
        (Requirements(charging=False, unmetered=False, idle=True), Conditions(), "conditions.idle_unknown"),
        (
            Requirements(charging=False, unmetered=False, max_temperature_c=60),
            Conditions(temperature_c=60.1),
            "conditions.too_hot",
        ),
        (
            Requirements(charging=False, unmetered=False, max_temperature_c=60),
            Conditions(),
            "conditions.temperature_unknown",
        ),
        (Requirements(charging=False, unmetered=False, hours=(22, 7)), Conditions(), "conditions.outside_hours"),
    ],
)
def test_each_condition_has_its_code_whoever_asks(required: Requirements, conditions: Conditions, code: str) -> None:
    assert codes(required, NOTHING, conditions) == {code}
    assert codes(NOTHING, required, conditions) == {code}
    assert codes(None, required, conditions) == {code}


def test_unknown_is_allowed_where_the_asker_says_so() -> None:
    lenient = Requirements(idle=True, max_temperature_c=50, unknown="allow")
    assert codes(lenient, NOTHING, Conditions()) == set()


def test_the_sentence_names_who_asks() -> None:
    (reason,) = judge(NOTHING, Requirements(), Conditions(charging="no", network="wifi"), 12)
    assert reason.sentence == "on battery; the owner asks for charging"


@pytest.mark.parametrize(
    ("hours", "hour", "inside"),
    [
        ((9, 17), 9, True),
        ((9, 17), 17, False),
        ((22, 7), 23, True),
        ((22, 7), 6, True),
        ((22, 7), 7, False),
        ((5, 5), 0, True),
    ],
)
def test_hours_are_half_open_and_span_midnight(hours: tuple[int, int], hour: int, inside: bool) -> None:
    required = Requirements(charging=False, unmetered=False, hours=hours)
    assert (codes(required, NOTHING, READY, hour) == set()) is inside


requirements = st.builds(
    Requirements,
    charging=st.booleans(),
    unmetered=st.booleans(),
    idle=st.booleans(),
    max_temperature_c=st.none() | st.floats(0, 120),
    hours=st.none() | st.tuples(st.integers(0, 23), st.integers(0, 23)),
    unknown=st.sampled_from(["refuse", "allow"]),
)
conditions_ = st.builds(
    Conditions,
    charging=st.sampled_from(["yes", "no", "unknown"]),
    network=st.sampled_from(["wifi", "ethernet", "metered", "none", "unknown"]),
    idle=st.sampled_from(["yes", "no", "unknown"]),
    temperature_c=st.none() | st.floats(-100, 200),
)


@given(plan=requirements, owner=requirements, conditions=conditions_, hour=st.integers(0, 23))
def test_the_owner_only_adds_blockers(
    plan: Requirements, owner: Requirements, conditions: Conditions, hour: int
) -> None:
    both = codes(plan, owner, conditions, hour)
    assert codes(plan, NOTHING, conditions, hour) <= both
    assert codes(None, owner, conditions, hour) <= both


def test_only_the_network_holds_back_transfers() -> None:
    for charging, network in itertools.product(("yes", "no"), ("wifi", "metered", "none")):
        blockers = judge(None, Requirements(), Conditions(charging=charging, network=network), 12)
        assert blocks_network(blockers) is (network != "wifi")


@pytest.mark.parametrize(
    ("widths", "usable", "code"),
    [
        (None, 0, "data.no_samples"),
        (Widths(3, 0), 2, "data.does_not_fit"),
        (Widths(4, 2), 2, "data.does_not_fit"),
        (Widths(4, 0), 0, "data.does_not_fit"),
    ],
)
def test_samples_must_fit_the_model(widths: Widths | None, usable: int, code: str) -> None:
    assert [reason.code for reason in judge_data(widths=widths, usable=usable, model=SPEC)] == [code]


def test_the_owner_of_samples_of_other_classes_alone_is_told_what_to_do() -> None:
    (reason,) = judge_data(widths=Widths(4, 0), usable=0, model=SPEC)
    assert "classes, which end at 2" in reason.sentence and "ingest --replace" in reason.sentence


def test_samples_that_fit_do_not_block() -> None:
    assert judge_data(widths=Widths(4, 0), usable=1, model=SPEC) == ()
    assert judge_data(widths=Widths(9, 0), usable=1, model=None) == ()
