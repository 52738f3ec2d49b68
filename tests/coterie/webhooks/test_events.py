"""Every state that an integrator waits for is told, once."""

import pytest
from django.utils.timezone import now as now_here

from coterie.cloud_training.leasing import succeed
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.federations.models import Federation
from coterie.federations.services import finish_federation, pause_federation, start_federation
from coterie.fleet.services import leave_fleet, quarantine_device, revoke_device
from coterie.registry.models import ModelPair
from coterie.registry.services import move_champion, reject_pair
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Round
from coterie.webhooks.models import Delivery, Event, Webhook
from coterie_wire.conditions import Reason
from tests.coterie.cloud_training.taking import begin_job
from tests.coterie.world import (
    START,
    fleet_of,
    later,
    make_dataset,
    make_device,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def webhook() -> Webhook:
    return Webhook.objects.create(
        name="all", url="https://hook.example/", events=[event.value for event in Event], secret="x", created_at=START
    )


def told() -> list[str]:
    """What was told since the last time."""
    events = list(Delivery.objects.order_by("created_at", "pk").values_list("event", flat=True))
    Delivery.objects.all().delete()
    return sorted(events)


def test_a_federation_is_told_when_its_state_changes_and_only_then() -> None:
    pair = make_pair()
    make_version(pair)
    assert told() == ["champion.changed"]
    federation = make_federation(pair)
    start_federation(federation=federation, now=START)
    assert told() == ["federation.started"]
    for _ in range(2):
        pause_federation(federation=federation, now=START)
    assert told() == ["federation.paused"]
    for _ in range(2):
        finish_federation(federation=federation, now=START)
    assert told() == ["federation.finished"]


def test_a_round_is_told_when_it_opens_and_when_it_is_abandoned() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=2, over_selection=1.0)
    devices = fleet_of(2)
    Delivery.objects.all().delete()
    for device in devices:
        device.check_in(now_here())
    for _ in range(2):
        advance_federation(federation_id=federation.pk, now=now_here())
    assert told() == ["round.opened"]
    deadline = Round.objects.get().deadline_at
    assert deadline is not None
    for _ in range(3):
        advance_federation(federation_id=federation.pk, now=deadline)
    assert "round.abandoned" in told()


def test_a_device_is_told_of_when_it_joins_is_quarantined_and_ends() -> None:
    device = make_device("hall")
    for _ in range(2):
        quarantine_device(device=device, why="it sends nonsense", now=START)
    assert told() == ["device.quarantined"]
    for _ in range(2):
        revoke_device(device=device, now=START)
    leave_fleet(device=device, now=START)
    assert told() == ["device.ended"]


def test_enrolment_is_told(enrol: object) -> None:
    assert callable(enrol)
    enrol("kitchen")
    assert Delivery.objects.get().body["name"] == "kitchen"


def test_pairs_jobs_and_champions_are_told() -> None:
    pair = make_pair()
    ModelPair.objects.update(state="checking")
    for _ in range(2):
        reject_pair(pair=pair, reason=Reason("compile.unsupported", "no FFT"), now=START)
    delivery = Delivery.objects.get()
    assert (delivery.event, delivery.body["state"], delivery.body["sentence"]) == ("pair.judged", "rejected", "no FFT")
    other = make_pair("other")
    job = bootstrap_pair(pair=other, dataset=make_dataset(), options=TrainingOptions(), now=START)
    Delivery.objects.all().delete()
    taken = begin_job(job.pk, job.pk, START)
    assert taken is not None
    assert succeed(taken, job.pk, later(1))
    assert told() == ["job.succeeded"]
    version = make_version(other)
    Delivery.objects.all().delete()
    move_champion(version=version, now=START)
    assert told() == ["champion.changed"]
    assert not Federation.objects.exists()
