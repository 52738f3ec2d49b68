"""The law of live sync, for every write: the events that it causes make of a stale snapshot a fresh one."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import ClassVar

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.child.job import Progress
from coterie.cloud_training.leasing import fail, record_progress, succeed
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.core.acting import OperatorRole
from coterie.core.hints import wait_for_hints
from coterie.fleet.models import Device, Presence
from coterie.fleet.services import create_enrolment_token, enrol_device, leave_fleet
from coterie.fleet_evaluation.advancing import advance_evaluation
from coterie.fleet_evaluation.services import cancel_evaluation
from coterie.gateway.console.frames import Documents, apply
from coterie.gateway.console.hub import kinds_touched
from coterie.gateway.console.mirror import Mirror
from coterie.gateway.console.reading import KINDS, read
from coterie.registry.models import ModelPair
from coterie.registry.services import reject_pair
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import start_rollout
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Assignment, Round
from coterie.transfer.advancing import sweep
from coterie.transfer.asking import withdraw_help
from coterie.transfer.models import HelpRequest
from coterie_wire.conditions import Reason
from coterie_wire.messages import Progress as DeviceProgress
from tests.coterie.agent_rollouts import world as agents
from tests.coterie.audit.test_every_write import PASSWORD, WRITES, send
from tests.coterie.cloud_training.taking import begin_job
from tests.coterie.conftest import CAPABILITIES
from tests.coterie.fleet_evaluation.world import Evaluated
from tests.coterie.rollouts.world import TERMS, World, report
from tests.coterie.transfer.peers import KNOWS_2, Member, make_peers
from tests.coterie.world import (
    ON_BATTERY,
    START,
    fleet_of,
    in_this_process,
    later,
    make_dataset,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("idle_example", "writable")]
Capture = Callable[..., AbstractContextManager[object]]
WAIT_S = 10.0


class RecordingLayer:
    """A channel layer that remembers what was sent to consoles."""

    apps: ClassVar[list[str]] = []

    def __init__(self, **_: object) -> None:
        pass

    async def group_send(self, group: str, message: Mapping[str, str]) -> None:
        if group == "console":
            self.apps.append(message["app"])


@pytest.fixture
def keeps_law(settings, django_capture_on_commit_callbacks: Capture) -> Callable[[], AbstractContextManager[None]]:
    """Checks the law for what is written inside its block, at one moment: devices do not leave while a test runs."""
    now = timezone.now()
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": f"{__name__}.RecordingLayer"}}
    RecordingLayer.apps.clear()

    @contextmanager
    def checked(*, changes: bool = True) -> Iterator[None]:
        watched = [str(pk) for pk in Device.objects.values_list("pk", flat=True)]
        mirror = Mirror("epoch")
        mirror.take(KINDS, read(KINDS, watched, now))
        stale = apply({}, mirror.snapshot())
        RecordingLayer.apps.clear()
        with django_capture_on_commit_callbacks(execute=True):
            yield
        wait_for_hints(within_s=WAIT_S)
        told = stale
        kinds = kinds_touched(RecordingLayer.apps)
        for event in mirror.take(kinds, read(kinds, watched, now)):
            told = apply(told, event)
        fresh: Documents = {document.key: document for document in read(KINDS, watched, now)}
        assert told == fresh
        if changes:
            assert told != stale, "nothing that consoles know has changed"

    return checked


@pytest.mark.parametrize("endpoint", WRITES, ids=" ".join)
def test_holds_for_every_write_of_an_operator(endpoint: tuple[str, str], keeps_law) -> None:
    me = create_operator(username="me", role=OperatorRole.ADMINISTRATOR).operator
    me.set_password(PASSWORD)
    me.save()
    client = APIClient()
    client.force_login(me)
    write = WRITES[endpoint](me)
    with keeps_law():
        assert send(client, endpoint[0], write) < 300


def test_holds_for_a_devices_life(keeps_law) -> None:
    secret = create_enrolment_token(label="x", expires_at=later(3600), now=START).secret
    with keeps_law():
        device = enrol_device(secret=secret, name="kitchen", capabilities=CAPABILITIES, now=START).device
    (scripted,) = fleet_of(1)
    with keeps_law():
        scripted.check_in(timezone.now())
    with keeps_law():
        scripted.check_in(timezone.now(), blockers=(ON_BATTERY,))
    with keeps_law():
        leave_fleet(device=device, now=timezone.now())


def test_holds_for_each_step_of_a_round(keeps_law) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=2, min_updates=1, over_selection=1.0)
    now = timezone.now()
    first, second = fleet_of(2)

    def advance(at: datetime) -> None:
        advance_federation(federation_id=federation.pk, now=at)

    with keeps_law():
        advance(now)
    with keeps_law():
        directive = first.check_in(now)
    with keeps_law():
        second.check_in(now)
    assert directive.assignment is not None
    mine = directive.assignment.assignment
    for stage, done in (("accepted", 0), ("training", 1), ("training", 2), ("uploading", 2)):
        with keeps_law():
            first.check_in(now, progress=DeviceProgress(mine, stage, done, 2))
    with keeps_law():
        first.deliver(mine, now, seed=1)
    Assignment.objects.filter(device=second.row).update(offered_at=later(0))
    Device.objects.filter(pk=second.row.pk).update(last_seen_at=later(0))
    Presence.objects.filter(device=second.row).update(seen_at=later(0))
    with keeps_law():
        advance(now)
    assert Assignment.objects.get(device=second.row).state == "released"
    for _ in range(2):
        with keeps_law(changes=False):
            advance(now)
    round_ = Round.objects.get(state="merging")
    with keeps_law():
        merge_round(round_, clock=timezone.now, merger=in_this_process)
    assert Round.objects.get(pk=round_.pk).state == "published"


@pytest.mark.long
def test_holds_for_each_step_of_a_help_request(keeps_law) -> None:
    make_peers()
    now = timezone.now()
    target, *others = members = [Member(name) for name in ("target", "nearest", "next")]
    for member in members:
        member.check_in(now)
    with keeps_law():
        target.ask(1, now)
    with keeps_law():
        sweep(now=now)  # nobody has told that it could help
    for member in others:
        member.tell(KNOWS_2, now)
    with keeps_law():
        sweep(now=now + timedelta(seconds=3))
    with keeps_law():
        ((first, declined),) = [(member, serve) for member in others if (serve := member.check_in(now).serve)]
    with keeps_law():
        first.decline(declined.transfer, now)
    with keeps_law():
        sweep(now=now)
    (second,) = (member for member in others if member is not first)
    with keeps_law():
        serve = second.check_in(now).serve
    assert serve is not None
    with keeps_law():
        second.serve(serve.transfer, now)
    with keeps_law():
        target.merged(serve.transfer, now)
    with keeps_law():
        target.judge(serve.transfer, now)
    assert HelpRequest.objects.get().state == "judged"
    with keeps_law():
        target.ask(2, now)
    with keeps_law():
        withdraw_help(device=target.row, request_id=str(target.asks), now=now)


def test_holds_for_each_step_of_a_roll_out(keeps_law) -> None:
    world = World(devices=2)
    Device.objects.update(present_until=later(3600))
    rollout = start_rollout(version=world.candidate, terms=TERMS, now=START)
    with keeps_law():
        advance_federation(federation_id=world.federation.pk, now=later(1))
    for device in world.group(Rollout.objects.get()):
        with keeps_law():
            report(device, rollout, after=0.1)
    assert rollout.state == "rolled_back"


def test_holds_for_each_step_of_a_roll_out_of_agents(keeps_law, settings, tmp_path) -> None:
    agents.published_in(agents.repository(tmp_path).root, settings)
    device = agents.device("kitchen")
    with keeps_law():
        rollout = agents.start()
    with keeps_law():
        agents.advance(rollout)
    with keeps_law():
        agents.report(rollout, device, "installed")
        agents.advance(rollout, 1)


def test_holds_for_each_step_of_an_evaluation(keeps_law) -> None:
    world = Evaluated(devices=2)
    evaluation = world.start(devices=2, reports=2)
    with keeps_law():
        advance_evaluation(evaluation_id=evaluation.pk, now=later(1))
    for device in world.devices:
        with keeps_law():
            world.tell(device, 0.5)
            advance_evaluation(evaluation_id=evaluation.pk, now=later(2))
    other = world.start(devices=2, reports=2)
    with keeps_law():
        cancel_evaluation(evaluation=other, now=later(3))


def test_holds_for_a_job(keeps_law) -> None:
    job = bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    lease = job.pk
    with keeps_law():
        taken = begin_job(job.pk, lease, START)
    assert taken is not None
    with keeps_law():
        record_progress(job.pk, lease, Progress("training", 1, 4, {}), later(1))
    with keeps_law():
        assert fail(taken, lease, Reason("child.crashed", "it crashed"), later(2))
    TrainingJob.objects.update(state="running", lease_token=lease)
    taken.refresh_from_db()
    with keeps_law():
        assert succeed(taken, lease, later(3))


def test_holds_for_what_is_published_and_judged(keeps_law) -> None:
    pair = make_pair()
    with keeps_law():
        make_version(pair)
    ModelPair.objects.update(state="checking")
    with keeps_law():
        reject_pair(pair=pair, reason=Reason("compile.unsupported", "no FFT"), now=START)
