"""Colla in simulation, small: six people of two routines, eight places."""

import pytest

from coterie.federations.errors import PlanDoesNotFit
from coterie.federations.services import check_plan_fits
from coterie.simulation.contenders import parse_contender
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.scenario import Scenario, parse_scenario
from coterie_learning.plan import Plan
from tests.coterie.simulation.small import ROUNDS, run
from tests.coterie.world import make_pair

DAY_S = 86_400.0
SCENARIO: dict[str, object] = {
    "title": "Six people",
    "devices": 6,
    "window": 50,
    "begins_s": 5 * DAY_S,
    "stream": {
        "kind": "places",
        "places": 8,
        "hours": 4,
        "groups": 2,
        "personal": 0.0,
        "events_per_day": 5,
        "cycle_days": 5,
        "cycles": 3,
        "cloud_devices": 4,
        "cloud_days": 10,
    },
    "learner": {"kind": "neural", "hidden": 8, "batch_size": 32},
    "bootstrap": {"hidden": 8, "epochs": 10, "device_epochs": 10},
}
LOCAL = {"kind": "distill", "learning_rate": 0.3, "epochs": 40, "patience": 40, "period_days": 5, "lambda_d": 0.7}
MERGE = {"kind": "distill", "lambda_c": 0.2, "epochs": 10, "device_epochs": 10}
PACE = {"kind": "sync", "target_updates": 6, "min_updates": 6, "over_selection": 1, "pause_s": 5 * DAY_S}
PACE["deadline_s"] = DAY_S
COLLA = {"local": LOCAL, "merge": MERGE, "pace": PACE, "groups": {"kind": "affinity"}}


def people(**changes: object) -> Scenario:
    return parse_scenario({**SCENARIO, **changes}, path="people.toml")


@pytest.fixture(scope="module")
def colla() -> SimulationOutcome:
    return run(COLLA, people())


def test_two_routines_become_two_groups_with_models_of_their_own(colla: SimulationOutcome) -> None:
    assert [round_.outcome for round_ in colla.rounds] == ["merged", "merged"]
    last = colla.splits[-1]
    assert len({last.groups[f"device-{number}"] for number in (0, 2, 4)}) == 1
    assert len({last.groups[f"device-{number}"] for number in (1, 3, 5)}) == 1
    assert len(set(last.groups.values())) == 2
    assert last.reason.startswith("2 groups")
    assert {device.group for device in colla.devices} == {"group-1", "group-2"}


def test_what_travels_is_counted(colla: SimulationOutcome) -> None:
    assert set(colla.bytes_by_kind) == {"graphs", "teachers", "updates", "versions"}
    assert colla.bytes_by_kind["updates"] < colla.bytes_by_kind["versions"], "int8, and only rows of seen places"


@pytest.mark.long
def test_without_a_teacher_and_with_the_whole_head_it_is_each_device_by_itself() -> None:
    local = {**LOCAL, "lambda_d": 1.0, "head": "all"}
    colla = run({**COLLA, "local": local, "groups": {"kind": "one"}}, people())
    alone = run({"local": local, "pace": {"kind": "alone", "period_s": 5 * DAY_S}}, people())
    assert [device.correct for device in colla.devices] == [device.correct for device in alone.devices]
    taught = run({**COLLA, "local": {**local, "lambda_d": 0.3}, "groups": {"kind": "one"}}, people())
    assert [device.correct for device in taught.devices] != [device.correct for device in alone.devices]


@pytest.mark.long
def test_the_cloud_can_learn_from_everybodys_samples_instead() -> None:
    central = parse_contender(
        {"baseline": {"kind": "centralised", "model": "cloud", "period_s": 5 * DAY_S}}, path="central.toml"
    )
    outcome = run(central, people())
    assert outcome.bytes_by_kind["raw"] > sum(sum(device.samples) for device in outcome.devices) * 4 * 12
    with pytest.raises(DoesNotFit, match="bootstrap"):
        run(central, people(bootstrap=None))


@pytest.mark.long
def test_what_cannot_be_simulated_together_is_refused() -> None:
    with pytest.raises(DoesNotFit, match="cloud model"):
        run({**COLLA, "merge": {"kind": "fed_avg"}, "groups": {"kind": "one"}}, people())
    with pytest.raises(DoesNotFit, match="bootstrap"):
        run(COLLA, people(bootstrap=None))
    with pytest.raises(DoesNotFit, match="neural"):
        run({"pace": ROUNDS}, people(learner={"kind": "linear"}, bootstrap=None))


@pytest.mark.django_db
def test_what_a_platform_refuses_is_refused_with_its_sentence() -> None:
    plan = parse_contender({"merge": {"kind": "distill"}}, path="plan.toml")
    assert isinstance(plan, Plan)
    with pytest.raises(PlanDoesNotFit) as by_platform:
        check_plan_fits(plan, make_pair(), None)
    with pytest.raises(DoesNotFit) as by_simulation:
        run({"merge": {"kind": "distill"}, "pace": ROUNDS}, people(bootstrap=None))
    assert str(by_platform.value.fields["problem"]) in str(by_simulation.value)
