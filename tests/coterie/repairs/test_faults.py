"""Each kind of fault is found where it is, told as a sentence with what to do, and not found where all is well."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.cache import caches
from django.utils import timezone
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator, issue_token
from coterie.audit.actions import ACTIONS
from coterie.audit.models import Entry
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.core.scheduler_heartbeat import record_task
from coterie.federations.models import Federation
from coterie.fleet.copies import note_copy
from coterie.fleet.models import Device
from coterie.fleet.services import EnrolledDevice, pause_device, quarantine_device, revoke_device
from coterie.merging.models import Merge, Update
from coterie.registry.models import ModelPair
from coterie.repairs.faults import Repair, find_faults
from coterie.repairs.services import mute_repair, shown
from coterie.rounds import reasons
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Assignment, Round, Route
from tests.coterie.rounds.neighbours import Neighbour
from tests.coterie.world import (
    START,
    fleet_of,
    in_this_process,
    later,
    make_dataset,
    make_device,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = pytest.mark.django_db

HOUR = 3600.0


def faults(seconds: float = 0.0) -> dict[str, Repair]:
    return {repair.key.partition(":")[0]: repair for repair in find_faults(now=later(seconds))}


@pytest.fixture
def running() -> Federation:
    """A federation with a model, whose round is planned."""
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2)
    advance_federation(federation_id=federation.pk, now=START)
    return federation


def test_where_all_is_well_there_is_none(running: Federation) -> None:
    for device in fleet_of(2):
        device.check_in(START)
    assert faults() == {}


def test_a_failed_job_can_be_tried_again_until_a_later_one_succeeds() -> None:
    job = bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    TrainingJob.objects.update(state="failed", reason_code="child.out_of_memory", reason_sentence="it took too much")
    found = faults()["job_failed"]
    assert (found.code, found.severity) == ("child.out_of_memory", "error")
    assert found.sentence == "The bootstrap of pair failed: it took too much"
    assert found.remedies[0].path == f"/api/jobs/{job.pk}/retry/"
    later_job = bootstrap_pair(pair=job.pair, dataset=make_dataset(), options=TrainingOptions(), now=later(1))
    TrainingJob.objects.filter(pk=later_job.pk).update(state="succeeded")
    assert faults() == {}


def test_a_job_that_waits_for_the_storage_says_so_until_it_goes_on() -> None:
    job = bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    assert faults() == {}, "a queue is none"
    TrainingJob.objects.update(reason_code="storage.unavailable", reason_sentence="it goes on 5 s from now: refused")
    found = faults()["job_waits"]
    assert (found.code, found.subject_id) == ("storage.unavailable", str(job.pk))
    assert found.sentence == "The bootstrap of pair waits: it goes on 5 s from now: refused"
    assert found.advice.startswith("See why the object storage does not answer")
    TrainingJob.objects.update(state="running", reason_code="", reason_sentence="")
    assert faults() == {}


def test_a_rejected_pair_says_why() -> None:
    make_pair()
    ModelPair.objects.update(
        name="Gait, 2nd", state="rejected", reason_code="compile.unsupported", reason_sentence="no FFT"
    )
    assert faults()["pair_rejected"].sentence == "The pair Gait, 2nd was rejected: no FFT"


def test_a_federation_without_a_model_asks_for_a_bootstrap() -> None:
    federation = make_federation(make_pair())
    advance_federation(federation_id=federation.pk, now=START)
    (remedy,) = faults()["no_model"].remedies
    assert remedy.path.startswith("/api/pairs/")


def test_a_round_may_wait_for_an_hour(running: Federation) -> None:
    assert "needs_devices" not in faults(HOUR - 1)
    assert "needs 2 devices, 0 eligible" in faults(HOUR + 1)["needs_devices"].sentence


class TestSites:
    """Neighbours of four supernodes, in an open round."""

    @pytest.fixture
    def leaders(self) -> list[Neighbour]:
        pair = make_pair()
        make_version(pair)
        plan = {"topology": {"kind": "supernodes"}}
        federation = make_federation(pair, plan=plan, target_updates=7, min_updates=3)
        leaders = [Neighbour(f"leader-{place}", place, leads=True, islands=True) for place in range(4)]
        for device in (*leaders, *(Neighbour(f"member-{place}", 4 + place) for place in range(3))):
            device.say(START)
        for _ in range(2):
            advance_federation(federation_id=federation.pk, now=START)
        return leaders

    def test_an_island_with_a_majority_is_no_fault(self, leaders: list[Neighbour]) -> None:
        assert faults(1) == {}
        one = min(leaders, key=lambda leader: leader.row.pk)
        Device.objects.filter(pk=one.row.pk).update(present_until=START)
        assert "island" not in faults(1), "two of three can lead it"

    def test_supernodes_that_are_away_are_named(self, leaders: list[Neighbour]) -> None:
        voters = sorted(leaders, key=lambda leader: leader.row.pk)[:3]
        Device.objects.filter(pk__in=[voter.row.pk for voter in voters[:2]]).update(present_until=START)
        found = faults(1)["island"]
        assert (found.code, found.severity) == ("island.without_majority", "warning")
        names = f"{voters[0].row.name} and {voters[1].row.name} are away, of the 3 supernodes"
        assert found.sentence.startswith(f"In digits {names} that keep the roles of site:a")

    def test_a_site_with_fewer_supernodes_than_an_island_has_is_told(self, leaders: list[Neighbour]) -> None:
        for leader in leaders[2:]:
            leader.row.capabilities["relay"]["islands"] = False
            leader.row.save()
        assert faults(1)["island"].sentence.startswith("In digits site:a has 2 supernodes of the 3 that keep its roles")

    def test_a_site_without_a_supernode_is_told_with_how_many_send_by_themselves(
        self, leaders: list[Neighbour]
    ) -> None:
        assert "no_supernode" not in faults(1)
        alone = reasons.no_supernode("site:b")
        Route.objects.exclude(reason_code="route.leads").update(
            supernode=None, reason_code=alone.code, reason_sentence=alone.sentence
        )
        found = faults(1)["no_supernode"]
        assert "no device of site:b is present, powered and allowed" in found.sentence
        count = Route.objects.filter(reason_code=alone.code).count()
        assert found.sentence.endswith(f"so the updates of {count} leave by themselves.")

    def test_the_federation_is_called_by_the_name_that_people_gave_it(self, leaders: list[Neighbour]) -> None:
        Federation.objects.update(name="Halls")
        for leader in leaders[2:]:
            leader.row.capabilities["relay"]["islands"] = False
            leader.row.save()
        found = [faults(1)["island"]]
        alone = reasons.no_supernode("site:b")
        Route.objects.exclude(reason_code="route.leads").update(
            supernode=None, reason_code=alone.code, reason_sentence=alone.sentence
        )
        found.append(faults(1)["no_supernode"])
        for fault in found:
            assert (fault.sentence.startswith("In Halls "), fault.subject_name) == (True, "Halls")


def test_three_abandoned_rounds_in_a_row_are_a_fault(running: Federation) -> None:
    def end(number: int, state: str) -> None:
        Round.objects.create(
            federation=running,
            number=number,
            state=state,
            opens_at=START,
            finished_at=later(number),
            seed=0,
            reason_code="rounds.too_few_updates",
            reason_sentence="needs 2 updates, 1 came",
        )

    Round.objects.all().delete()
    for number in (1, 2):
        end(number, "abandoned")
    assert "rounds_abandoned" not in faults()
    end(3, "abandoned")
    found = faults()["rounds_abandoned"]
    assert "needs 2 updates, 1 came" in found.sentence
    assert found.remedies[0].path == f"/api/federations/{running.pk}/pause/"


def test_a_federation_that_paused_itself_is_a_fault(running: Federation) -> None:
    Federation.objects.update(state="paused")
    assert not any(key.startswith("kept_back") for key in faults())
    Federation.objects.update(reason_code="federations.kept_back", reason_sentence="it paused itself after 5")
    found = faults()["kept_back"]
    assert (found.code, found.severity) == ("federations.kept_back", "error")
    assert found.remedies[0].path == f"/api/federations/{running.pk}/start/"


def test_a_merge_that_is_tried_again_is_a_fault(running: Federation) -> None:
    devices = fleet_of(2)
    for device in devices:
        device.check_in(START)
    advance_federation(federation_id=running.pk, now=START)
    for seed, device in enumerate(devices):
        assigned = device.check_in(START).assignment
        assert assigned is not None
        device.deliver(assigned.assignment, START, seed=seed)
    advance_federation(federation_id=running.pk, now=START)
    assert Merge.objects.update(attempts=1) == 1
    assert "merge_fails" not in faults()
    Merge.objects.update(attempts=2)
    assert "attempt 2" in faults()["merge_fails"].sentence


def test_rejected_updates_are_counted_by_why(running: Federation) -> None:
    for device in fleet_of(2):
        device.check_in(START)
    advance_federation(federation_id=running.pk, now=START)
    Assignment.objects.update(
        state="rejected", reason_code="update.not_finite", reason_sentence="it holds NaN", changed_at=START
    )
    found = faults()["updates_rejected"]
    assert (found.code, "2 devices" in found.sentence) == ("update.not_finite", True)
    assert "updates_rejected" not in faults(25 * HOUR)


def left_out(running: Federation, code: str) -> Device:
    """The device of an update that a merge has left out."""
    device, *_ = devices = fleet_of(2)
    for one in devices:
        one.check_in(START)
    for number, one in enumerate(devices):
        assignment = one.check_in(START).assignment
        assert assignment is not None
        one.deliver(assignment.assignment, START, seed=number)
    advance_federation(federation_id=running.pk, now=later(1))
    merge_round(Round.objects.get(state="merging"), clock=lambda: later(1), merger=in_this_process)
    Update.objects.filter(device=device.row).update(fault_code=code, fault_sentence="its norm is 9000")
    return device.row


def test_a_device_whose_update_was_left_out_may_be_paused(running: Federation) -> None:
    device = left_out(running, "update.outlier")
    found = faults()["device_distrusted"]
    assert found.subject_id == str(device.pk)
    assert "its norm is 9000" in found.sentence
    assert (found.remedies[0].action, found.remedies[0].path) == (
        "fleet.pause_device",
        f"/api/devices/{device.pk}/pause/",
    )
    pause_device(device=device, now=later(2))
    assert "device_distrusted" not in faults()
    assert "files_damaged" not in faults()


def test_a_damaged_update_is_the_disks_fault(running: Federation) -> None:
    left_out(running, "update.damaged")
    assert "device_distrusted" not in faults()
    assert faults()["files_damaged"].code == "update.damaged"


def test_a_damaged_base_is_the_disks_fault(running: Federation) -> None:
    left_out(running, "")
    Merge.objects.update(reason_code="merge.blob_damaged")
    assert "abandoned" in faults()["files_damaged"].sentence
    assert "files_damaged" not in faults(25 * HOUR)


@pytest.mark.parametrize(("count", "said"), [(1, "One device has"), (2, "2 devices have")])
def test_silent_devices_are_counted_once(count: int, said: str) -> None:
    for device in fleet_of(count):
        device.check_in(START)
    make_device("never seen")
    assert "devices_silent" not in faults(23 * HOUR)
    assert faults(25 * HOUR)["devices_silent"].sentence.startswith(said)


def test_a_token_in_use_that_expires_soon_is_a_fault() -> None:
    operator = create_operator(username="ada").operator
    used, idle = (
        issue_token(operator=operator, name=name, expires_at=START + timedelta(days=3), now=START).token
        for name in ("used", "idle")
    )
    type(used).objects.filter(pk=used.pk).update(last_used_at=START)
    assert [repair.subject_name for repair in find_faults(now=START)] == ["used of ada"]
    assert idle.last_used_at is None


def test_a_device_as_which_two_agents_run_is_told() -> None:
    device = make_device("kitchen")
    assert "device_copied" not in faults()
    note_copy(device_id=str(device.pk), now=later(0))
    assert "Two agents run as kitchen" in faults(60)["device_copied"].sentence
    assert "device_copied" not in faults(HOUR)


def test_that_no_worker_ends_tasks_is_a_fault_where_workers_are_processes(settings: Settings) -> None:
    caches["pulse"].clear()
    assert "no_worker" not in faults(), "embedded mode's worker is in the server"
    settings.EMBEDDED = False
    assert "is a Celery worker running?" in faults()["no_worker"].sentence
    record_task(later(0))
    assert "no_worker" not in faults(30)
    assert "no_worker" in faults(70)


def test_every_button_is_an_action_that_sessions_know(running: Federation) -> None:
    Device.objects.all().delete()
    bootstrap_pair(pair=make_pair("other"), dataset=make_dataset(), options=TrainingOptions(), now=START)
    TrainingJob.objects.update(state="failed")
    remedies = [remedy for repair in find_faults(now=later(2 * HOUR)) for remedy in repair.remedies]
    assert {remedy.method for remedy in remedies} == {"POST", "GET"}
    assert all(remedy.action in ACTIONS if remedy.method == "POST" else remedy.action == "" for remedy in remedies)


def test_a_device_in_quarantine_is_released_or_removed(running: Federation, api: APIClient) -> None:
    device = make_device("mill")
    quarantine_device(device=device, why="merges left out 3 of its latest 10 updates", now=START)
    found = faults()["device_quarantined"]
    assert (found.code, found.since) == ("fleet.quarantined", START)
    assert "3 of its latest 10" in found.sentence
    assert [remedy.action for remedy in found.remedies] == ["fleet.resume_device", "fleet.revoke_device", ""]
    assert api.post(found.remedies[0].path).json()["quarantine"] == ""
    assert "device_quarantined" not in faults()
    actions = [entry.action for entry in Entry.objects.filter(subject_id=str(device.pk)).order_by("at")]
    assert actions == ["fleet.quarantine_device", "fleet.resume_device"]


class TestMutes:
    @pytest.fixture(autouse=True)
    def fault(self) -> None:
        make_pair()
        ModelPair.objects.update(state="rejected", reason_sentence="no FFT")

    def test_an_ignored_fault_is_gone_until_it_is_restored(self, api: APIClient) -> None:
        (found,) = api.get("/api/repairs/").json()
        made = api.post("/api/muted-repairs/", {"key": found["key"]})
        assert (made.status_code, made.json()["sentence"]) == (201, found["sentence"])
        assert api.get("/api/repairs/").json() == []
        assert api.get("/api/overview/").json()["repairs"] == 0
        assert api.delete(f"/api/muted-repairs/{made.json()['id']}/").status_code == 204
        assert api.get("/api/repairs/").json() == [found]

    def test_a_snoozed_fault_comes_back(self, api: APIClient) -> None:
        (found,) = api.get("/api/repairs/").json()
        for hours, faults_shown in ((1, 0), (-1, 1)):
            api.post("/api/muted-repairs/", {"key": found["key"], "until": timezone.now() + timedelta(hours=hours)})
            assert len(api.get("/api/repairs/").json()) == faults_shown

    def test_a_clock_that_is_set_back_prolongs_no_snooze(self) -> None:
        (found,) = find_faults(now=START)
        mute_repair(key=found.key, until=later(60), now=START)
        assert [shown(now=later(at)) for at in (1, 59, -5)] == [[], [], []]
        assert shown(now=later(61)) == shown(now=later(-86_400)) == [found]

    def test_only_what_is_there_can_be_muted(self, api: APIClient) -> None:
        answer = api.post("/api/muted-repairs/", {"key": "nothing"})
        assert (answer.status_code, answer.json()["code"]) == (404, "repairs.unknown")


def test_another_signing_key_is_told_as_long_as_devices_trust_the_former(
    enrol: Callable[..., EnrolledDevice], settings: Settings
) -> None:
    enrol("kiosk")
    assert faults() == {}
    settings.SIGNING_KEY = "11" * 32
    found = faults()["signing_key_changed"]
    assert (found.severity, found.subject_name) == ("error", "kiosk")
    enrol("newcomer")
    assert faults()["signing_key_changed"].sentence.startswith("One device joined")
    revoke_device(device=Device.objects.get(name="kiosk"), now=later(1))
    assert faults() == {}


def test_jobs_that_were_not_confined_are_told_until_one_is() -> None:
    bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    TrainingJob.objects.update(state="succeeded", started_at=later(1), unconfined="being cut off from the network")
    assert "without being cut off from the network" in faults()["jobs_unconfined"].sentence
    bootstrap_pair(pair=make_pair("other"), dataset=make_dataset(), options=TrainingOptions(), now=later(2))
    assert "jobs_unconfined" in faults()
    TrainingJob.objects.filter(started_at=None).update(state="succeeded", started_at=later(3))
    assert faults() == {}
