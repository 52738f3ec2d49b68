"""An evaluation from its beginning to each of its ends, with scripted devices."""

import json

import pytest

from coterie.federations.services import create_federation, finish_federation, start_federation
from coterie.fleet.services import leave_fleet, pause_device
from coterie.fleet_evaluation import device_api
from coterie.fleet_evaluation.errors import (
    EvaluationHasEnded,
    ImplausibleEvaluation,
    Masked,
    NoFederation,
    NotADeviceVersion,
    OtherPair,
    TooFewAsked,
    UnknownEvaluation,
)
from coterie.fleet_evaluation.models import Evaluation
from coterie.fleet_evaluation.services import cancel_evaluation, start_evaluation
from coterie.registry.models import Role
from coterie.rounds.retention import versions_in_use
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.trial import Fit
from tests.coterie.fleet_evaluation.world import OLD, Evaluated
from tests.coterie.world import START, later, make_pair, make_version

pytestmark = pytest.mark.django_db
SECURE = {
    "privacy": {"kind": "secure_aggregation"},
    "codec": {"kind": "float32"},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
}


def test_a_sample_measures_another_version_than_it_holds() -> None:
    world = Evaluated(devices=6, tags=(("kiosk",), ("kiosk", "lab")))
    evaluation = world.start(devices=4, reports=3)
    assert world.older.pk in versions_in_use()
    assert world.asked(0) == []
    assert world.swept(evaluation, 1).state == "measuring"
    asked = world.asked(2)
    assert len(asked) == 4
    directive = world.check_in(asked[0], later(3))
    assert directive.evaluate is not None
    manifest = json.loads(bytes(directive.evaluate.manifest.manifest))
    assert manifest["version"] == str(world.older.pk)
    assert directive.evaluate.remaining_s == pytest.approx(98)
    shares = (0.5, 0.6, 0.7, 0.8)
    for device, share, samples in zip(asked, shares, (10, 20, 30, 40), strict=True):
        assert world.swept(evaluation, 4).state == "measuring"
        world.tell(device, share, samples=samples, at=4)
        world.tell(device, 0.0, at=4)  # told again: the first stands
        assert world.check_in(device, later(4)).evaluate is None
    ended = world.swept(evaluation, 5)
    assert (ended.state, ended.reason_code) == ("finished", "fleet_evaluation.measured")
    assert ended.reason_sentence == "accuracy 70.00% on 100 samples of 4 devices"
    found = ended.found()
    assert found is not None and found.summary is not None and found.summary.accuracies is not None
    assert (found.devices, found.reports, found.faults) == (4, 4, 0)
    assert (found.summary.accuracies.mean, found.summary.accuracies.worst) == (pytest.approx(0.65), 0.5)
    assert found.by_tag["kiosk"].devices == 4
    labs = [device for device in asked if "lab" in device.row.tags]
    assert (found.by_tag["lab"].devices if labs else 0) == len(labs)


def test_the_sample_is_drawn_by_the_evaluation_not_by_who_came_first() -> None:
    world = Evaluated(devices=12)
    samples = set()
    for _ in range(3):
        evaluation = world.swept(world.start(devices=3), 1)
        samples.add(frozenset(evaluation.parts.values_list("device", flat=True)))
    assert len(samples) > 1


def test_it_waits_for_devices_that_are_there_and_able() -> None:
    world = Evaluated(devices=2)
    pause_device(device=world.devices[0].row, now=START)
    evaluation = world.swept(world.start(reports=2), 1)
    assert (evaluation.state, evaluation.reason_code) == ("planned", "fleet_evaluation.needs_devices")
    assert evaluation.reason_sentence == "needs 2 devices that are there and can evaluate, 1 are"
    evaluation = world.swept(evaluation, 101)
    assert (evaluation.state, evaluation.reason_code) == ("failed", "fleet_evaluation.needs_devices")


def test_agents_that_do_not_know_evaluations_are_not_asked() -> None:
    world = Evaluated(devices=2, able=False)
    assert world.swept(world.start(), 1).reason_sentence == "needs 1 devices that are there and can evaluate, 0 are"


def test_only_devices_with_the_tag_are_asked() -> None:
    world = Evaluated(devices=4, tags=(("kiosk",), ("lab",)))
    evaluation = world.swept(world.start(tag="lab"), 1)
    assert {tuple(part.device.tags) for part in evaluation.parts.select_related("device")} == {("lab",)}


def test_devices_of_another_federation_of_the_pair_are_not_asked() -> None:
    world = Evaluated(devices=2)
    pair = make_pair("other")
    start_federation(
        federation=create_federation(name="younger", pair=pair, plan=world.federation.plan, held_out=None, now=START),
        now=START,
    )
    version = make_version(pair, seed=4)
    evaluation = start_evaluation(version=version, devices=5, reports=1, within_s=100, now=START)
    assert world.swept(evaluation, 1).reason_sentence.endswith("0 are")


def test_the_deadline_ends_it_with_what_there_is() -> None:
    world = Evaluated(devices=3)
    evaluation = world.swept(world.start(reports=2), 1)
    world.tell(world.devices[0], 0.5)
    world.tell(world.devices[1], 0.7)
    assert world.swept(evaluation, 3).reason_sentence == "2 of 3 devices have told how it does"
    ended = world.swept(evaluation, 102)
    assert (ended.state, ended.reason_sentence) == ("finished", "accuracy 60.00% on 40 samples of 2 devices")
    part = evaluation.parts.get(device=world.devices[2].row)
    late = ReportEvaluation(str(evaluation.pk), 20, Fit(1.0, 0.1))
    device_api.report_evaluation(world.devices[2].row, late, later(103))  # too late, and no error of the device's
    part.refresh_from_db()
    assert part.reported_at is None


def test_too_few_reports_fail_it_and_faults_say_why() -> None:
    world = Evaluated(devices=2)
    evaluation = world.swept(world.start(reports=2), 1)
    world.tell(world.devices[0], 0.5)
    world.fail(world.devices[1])
    ended = world.swept(evaluation, 3)
    assert (ended.state, ended.reason_code) == ("failed", "fleet_evaluation.too_few_reports")
    assert ended.reason_sentence == (
        "needs figures of 2 devices, 1 came in time, and 1 could not measure it: no samples are on the device"
    )
    assert ended.figures["summary"]["devices"] == 1


def test_nobody_waits_for_a_device_that_has_left() -> None:
    world = Evaluated(devices=2)
    evaluation = world.swept(world.start(), 1)
    world.tell(world.devices[0], 0.5)
    leave_fleet(device=world.devices[1].row, now=later(2))
    assert world.swept(evaluation, 3).state == "finished"


def test_an_operator_stops_it_and_devices_are_told() -> None:
    world = Evaluated(devices=2)
    evaluation = world.swept(world.start(), 1)
    assert len(world.asked(2)) == 2
    cancel_evaluation(evaluation=evaluation, now=later(3))
    assert (evaluation.state, evaluation.reason_code) == ("cancelled", "fleet_evaluation.stopped")
    assert world.asked(4) == []
    with pytest.raises(EvaluationHasEnded):
        cancel_evaluation(evaluation=evaluation, now=later(5))


def test_it_ends_with_its_federation() -> None:
    world = Evaluated(devices=2)
    evaluation = world.swept(world.start(), 1)
    finish_federation(federation=world.federation, now=later(2))
    assert world.swept(evaluation, 2).reason_code == "fleet_evaluation.federation_finished"


def test_several_go_on_at_once_and_a_device_takes_one_after_the_other() -> None:
    world = Evaluated(devices=1)
    first, second = world.start(), world.start()
    world.swept(first, 1)
    asked = world.check_in(world.devices[0], later(2)).evaluate
    assert asked is not None
    part = world.devices[0].row.evaluation_parts.get(evaluation=asked.evaluation)
    report = ReportEvaluation(str(part.evaluation_id), 20, Fit(1.0, 0.5))
    device_api.report_evaluation(world.devices[0].row, report, later(3))
    then = world.check_in(world.devices[0], later(3)).evaluate
    assert then is not None
    assert {asked.evaluation, then.evaluation} == {str(first.pk), str(second.pk)}


def test_a_clock_that_was_set_back_does_not_lengthen_it() -> None:
    world = Evaluated(devices=1)
    evaluation = world.swept(world.start(), 100_000)
    assert world.swept(evaluation, 1).due_at <= later(101)


def test_what_makes_no_sense_is_refused() -> None:
    world = Evaluated(devices=1)
    wanted = {"devices": 5, "reports": 1, "within_s": 60, "now": START}
    with pytest.raises(NotADeviceVersion):
        start_evaluation(version=make_version(world.pair, seed=9, role=Role.CLOUD), **wanted)
    with pytest.raises(TooFewAsked):
        start_evaluation(version=world.older, **{**wanted, "reports": 6})
    lonely = make_version(make_pair("lonely"), seed=3)
    with pytest.raises(NoFederation):
        start_evaluation(version=lonely, **wanted)
    with pytest.raises(OtherPair):
        start_evaluation(version=lonely, federation=world.federation, **wanted)
    evaluation = world.swept(world.start(), 1)
    device = world.devices[0].row
    for name in ("not a number", str(world.pair.pk)):
        with pytest.raises(UnknownEvaluation):
            device_api.report_evaluation(device, ReportEvaluation(name, 1, Fit(1.0, 0.5)), START)
    with pytest.raises(ImplausibleEvaluation):
        device_api.report_evaluation(device, ReportEvaluation(str(evaluation.pk), 1, Fit(1.0)), START)


def test_a_plan_that_hides_what_each_device_measures_refuses_it() -> None:
    world = Evaluated(devices=1)
    evaluation = world.swept(world.start(), 1)
    federation = world.federation
    federation.plan = {**federation.plan, **SECURE}
    federation.save()
    ended = world.swept(evaluation, 2)
    assert (ended.state, ended.reason_code) == ("cancelled", "fleet_evaluation.masked")
    with pytest.raises(Masked) as caught:
        world.start()
    assert "hides in a sum what each device measures (secure_aggregation)" in str(caught.value)
    assert not Evaluation.objects.filter(state__in=Evaluation.ACTIVE).exists()


def test_an_agent_that_was_set_back_to_0_1_is_not_told_what_it_would_refuse() -> None:
    world = Evaluated(devices=1)
    world.swept(world.start(), 1)
    assert world.check_in(world.devices[0], later(2)).evaluate is not None
    assert world.check_in(world.devices[0], later(3), capabilities=OLD).evaluate is None
