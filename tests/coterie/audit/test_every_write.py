"""Every write of the REST API leaves an entry, and whoever may not write changes nothing: no endpoint is left out."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from coterie.accounts.custom_roles import create_custom_role
from coterie.accounts.models import BrowserSession, Operator, Organisation, Project, SecondFactor
from coterie.accounts.passkeys import PasskeyAnswer, add_passkey, begin_passkey
from coterie.accounts.projects import create_organisation, create_project, give_role
from coterie.accounts.relying_party import RelyingParty
from coterie.accounts.second_factor import begin_second_factor, confirm_second_factor
from coterie.accounts.services import create_operator, issue_token, save_filter
from coterie.accounts.sign_on_roles import map_claim
from coterie.agent_rollouts.models import AgentRollout
from coterie.alerts.models import Channel, Rule
from coterie.alerts.services import create_channel, create_rule
from coterie.analytics.services import ask_question
from coterie.audit.actions import ACTIONS
from coterie.audit.models import Entry
from coterie.cloud.fleet_run_job import DESCRIPTION
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.core.acting import OperatorRole
from coterie.device_logs.services import request_log
from coterie.federations.models import Federation
from coterie.federations.services import archive_federation, create_federation, start_federation
from coterie.fleet.models import Device
from coterie.fleet.services import archive_device, create_enrolment_token, pause_device, revoke_device
from coterie.fleet_evaluation.services import start_evaluation
from coterie.merging.models import Merge
from coterie.registry.describing import archive_pair, archive_version
from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
from coterie.registry.services import publish_version
from coterie.repairs.services import mute_repair
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import start_rollout
from coterie.rounds.models import Round
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from coterie.webhooks.models import Delivery, Event, Webhook
from coterie.webhooks.services import create_webhook, try_webhook
from coterie_wire.tensors import encode_tensors
from tests.contract.error_catalogue import codes_given
from tests.coterie.accounts.authenticator import code_of
from tests.coterie.accounts.passkey_device import PasskeyDevice
from tests.coterie.alliances.world import Two, halves
from tests.coterie.analytics.answering import agreeing
from tests.coterie.conftest import PUBLIC_URL
from tests.coterie.rollouts.world import another_version
from tests.coterie.world import START, keep, make_dataset, make_device, make_federation, make_pair, make_version

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("idle_example", "writable")]

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Write:
    """A request that succeeds for an administrator, and the entry that it leaves."""

    action: str
    path: str
    body: Mapping[str, object] | None = None
    form: bool = False
    begins_more: bool = False
    """Whether it begins work for which one's own token is not enough."""


def file(content: bytes) -> io.BytesIO:
    upload = io.BytesIO(content)
    upload.name = "file"
    return upload


def samples() -> bytes:
    out = io.BytesIO()
    np.savez(out, x=np.zeros((4, 4), np.float32), y=np.array([0, 1, 2, 0]))
    return out.getvalue()


def job(state: TrainingJob.State) -> TrainingJob:
    made = bootstrap_pair(pair=make_pair(), dataset=make_dataset(), options=TrainingOptions(), now=START)
    TrainingJob.objects.update(state=state)
    return made


def enrolment() -> int:
    return create_enrolment_token(label="x", expires_at=timezone.now(), now=START).token.pk


def draft() -> str:
    return str(create_federation(name="digits", pair=make_pair(), plan={}, now=START).pk)


def after_a_trial() -> str:
    """A federation with versions of its own, of which the pair has not the newest."""
    pair = make_version(make_pair()).pair
    federation = create_federation(name="trial", pair=pair, plan={}, own_versions=True, now=START)
    start_federation(federation=federation, now=START)
    make_version(pair, seed=1)
    return str(federation.pk)


def two_versions() -> str:
    pair = make_pair()
    first = make_version(pair)
    origin, blob = ModelVersion.Origin.MERGE, keep(b"second")
    publish_version(
        pair_id=pair.pk, role=Role.DEVICE, origin=origin, parent=first, parameters=blob, metrics={}, now=START
    )
    return str(pair.pk)


def unused_version() -> ModelVersion:
    """Of a pair that a federation uses."""
    pair = make_pair()
    first = make_version(pair)
    make_federation(pair)
    return another_version(first, "second")


def rolled_out() -> str:
    return str(start_rollout(version=unused_version(), terms={}, now=START).pk)


def in_first_phase() -> str:
    rollout = start_rollout(version=unused_version(), terms={}, now=START)
    rollout.state, rollout.champion = Rollout.State.MEASURING, rollout.version.parent
    rollout.begun_at = rollout.phase_since = START
    rollout.save()
    return str(rollout.pk)


def agent_rolled_out(state: str) -> str:
    terms = {"phases": [0.5, 1.0], "hold_s": 1.0, "probation_s": 1.0, "most_failures": 0.1}
    rollout = AgentRollout.objects.create(version="9.0.0", state=state, created_at=START, phase_since=START, **terms)
    return str(rollout.pk)


CONTENT = {"count": {"kind": "classes", "classes": 3}, "min_devices": 3, "corrupted": 0.0}


def a_question() -> dict[str, object]:
    """Of devices whose owners agree."""
    agreeing(3)
    federation = make_federation(make_version(make_pair()).pair)
    return {"federation": str(federation.pk), "content": CONTENT, "epsilon": None, "devices": 3}


def asked() -> str:
    agreeing(3)
    question = ask_question(
        federation=make_federation(make_version(make_pair()).pair),
        title="",
        content=CONTENT,
        epsilon=None,
        devices=3,
        within_s=60,
        now=START,
    )
    return str(question.pk)


def an_alliance() -> dict[str, object]:
    lower, upper = halves()
    devices = {"columns_device": make_device("bank").pk, "labels_device": make_device("insurer").pk}
    given = {**devices, "columns_version": lower.pk, "labels_version": upper.pk}
    return {"name": "two", **{name: str(key) for name, key in given.items()}}


def evaluated() -> str:
    version = unused_version()
    return str(start_evaluation(version=version, devices=5, reports=2, within_s=60, now=START).pk)


def resting() -> str:
    device = make_device("hall")
    pause_device(device=device, now=START)
    return str(device.pk)


NO_TENSORS = encode_tensors({})
A_FLEET = encode_tensors({DESCRIPTION: np.frombuffer(b'{"names": ["m.pt2", "d.npz"], "devices": null}', np.uint8)})


def simulated_fleet() -> SimulatedFleet:
    return SimulatedFleet.objects.create(file=keep(NO_TENSORS), created_at=START, used_at=START)


def simulation_run() -> SimulationRun:
    wanted = {"plan": {}, "seed": 0, "rounds": 1, "evaluate_every": 1}
    return SimulationRun.objects.create(
        fleet=simulated_fleet(), key="k", wanted=wanted, created_at=START, hinted_at=START
    )


def rejected_pair() -> str:
    pair = make_pair()
    ModelPair.objects.filter(pk=pair.pk).update(state="rejected", reason_code="x.y", reason_sentence="it is broken")
    return str(pair.pk)


def muted() -> int:
    return mute_repair(key=f"pair_rejected:{rejected_pair()}", until=None, now=START).pk


def hook() -> Webhook:
    return create_webhook(name="x", url=HOOK, events=[Event.JOB_FAILED], now=START).webhook


def channel() -> Channel:
    return create_channel(name="on call", kind=Channel.Kind.SLACK, url=HOOK, now=START).channel


def alert_rule() -> int:
    return create_rule(name="jobs", kind=Rule.Kind.JOB_FAILED, channels=[channel().pk], now=START).pk


def delivered() -> str:
    delivery = try_webhook(webhook=hook(), now=START)
    Delivery.objects.update(state="delivered")
    return str(delivery.pk)


def begun(me: Operator) -> SecondFactor:
    return begin_second_factor(operator=me, now=timezone.now())


def recovery_code(me: Operator) -> str:
    code = code_of(begun(me))
    return confirm_second_factor(operator=me, code=code, now=timezone.now())[0]


HERE = RelyingParty("localhost", PUBLIC_URL)


def made_passkey(me: Operator) -> dict[str, object]:
    return PasskeyDevice(HERE.origin).make(begin_passkey(operator=me, party=HERE, now=timezone.now()))


def passkey_and_code(me: Operator) -> tuple[int, str]:
    answer = PasskeyAnswer(made_passkey(me), HERE)
    added = add_passkey(operator=me, name="laptop", answer=answer, now=timezone.now())
    return added.passkey.pk, added.recovery_codes[0]


def removal(passkey: int, code: str) -> Write:
    return Write("accounts.remove_passkey", f"/api/session/passkeys/{passkey}/remove/", {"code": code})


def with_second_factor() -> int:
    bob = create_operator(username="bob", role=OperatorRole.OPERATOR).operator
    recovery_code(bob)
    return bob.pk


def signed_in_elsewhere(me: Operator) -> int:
    return BrowserSession.objects.create(operator=me, key="elsewhere", began_at=START, seen_at=START).pk


def another() -> int:
    return create_operator(username="bob", role=OperatorRole.OPERATOR).operator.pk


def put_right() -> str:
    """A stored file that was found damaged and is sound again."""
    blob = keep(b"a file")
    Blob.objects.update(damaged_at=START)
    return str(blob.pk)


def abandoned_round() -> int:
    """Over its merge, whose updates are kept."""
    pair = make_pair()
    version = make_version(pair)
    federation = make_federation(pair)
    merge = Merge.objects.create(
        federation=federation,
        number=1,
        state="abandoned",
        plan=federation.plan,
        seed=1,
        base_version=version,
        reason_at=START,
        asked_at=START,
        finished_at=START,
    )
    return Round.objects.create(
        federation=federation,
        number=1,
        state="abandoned",
        merge=merge,
        plan=federation.plan,
        base_version=version,
        seed=1,
        opens_at=START,
        deadline_at=START,
        finished_at=START,
    ).pk


def archived_pair() -> str:
    pair = make_pair()
    archive_pair(pair=pair, now=START)
    return str(pair.pk)


def archived_version() -> str:
    version = unused_version()
    archive_version(version=version, now=START)
    return str(version.pk)


def revoked() -> Device:
    device = make_device("hall")
    revoke_device(device=device, now=START)
    return device


def sends_logs() -> Device:
    device = make_device("hall")
    device.capabilities = {"logs": {}}
    device.save()
    return device


def archived_device() -> str:
    device = revoked()
    archive_device(device=device, now=START)
    return str(device.pk)


def archived_federation() -> str:
    federation = Federation.objects.get(pk=draft())
    archive_federation(federation=federation, now=START)
    return str(federation.pk)


def organisation() -> int:
    return create_organisation(name="Beta", now=START).pk


def project() -> int:
    return create_project(organisation=create_organisation(name="Beta", now=START), name="second", now=START).pk


def granted() -> int:
    bob = create_operator(username="bob", role=None).operator
    return give_role(operator=bob, role=OperatorRole.VIEWER, to=Project.objects.get(pk=project()), now=START).pk


def caretaker() -> int:
    place = Organisation.objects.get(pk=organisation())
    return create_custom_role(organisation=place, name="caretaker", actions=["fleet.pause_device"], now=START).pk


def mapped() -> int:
    place = Project.objects.get(pk=project())
    return map_claim(claim_value="ward-staff", role=OperatorRole.VIEWER, to=place, now=START).pk


HOOK = "https://8.8.8.8/hook"
LATER = "2040-01-01T00:00Z"
WRITES: Mapping[tuple[str, str], Callable[[Operator], Write]] = {
    ("post", "/api/tokens/"): lambda _: Write("accounts.issue_token", "/api/tokens/", {"name": "ci"}),
    ("delete", "/api/tokens/{id}/"): lambda me: Write(
        "accounts.revoke_token", f"/api/tokens/{issue_token(operator=me, name='old', now=START).token.pk}/"
    ),
    ("post", "/api/operators/"): lambda _: Write("accounts.create_operator", "/api/operators/", {"username": "bob"}),
    ("patch", "/api/operators/{id}/"): lambda _: Write(
        "accounts.change_operator", f"/api/operators/{another()}/", {"role": "viewer"}
    ),
    ("post", "/api/operators/{id}/sign-in-link/"): lambda _: Write(
        "accounts.issue_sign_in_link", f"/api/operators/{another()}/sign-in-link/"
    ),
    ("post", "/api/organisations/"): lambda _: Write(
        "accounts.create_organisation", "/api/organisations/", {"name": "Beta"}
    ),
    ("patch", "/api/organisations/{id}/"): lambda _: Write(
        "accounts.change_organisation", f"/api/organisations/{organisation()}/", {"name": "Gamma"}
    ),
    ("post", "/api/projects/"): lambda _: Write(
        "accounts.create_project", "/api/projects/", {"organisation": organisation(), "name": "second"}
    ),
    ("patch", "/api/projects/{id}/"): lambda _: Write(
        "accounts.change_project", f"/api/projects/{project()}/", {"archived": True}
    ),
    ("post", "/api/grants/"): lambda _: Write(
        "accounts.give_role",
        "/api/grants/",
        {"username": Operator.objects.get(pk=another()).username, "role": "viewer", "project": project()},
    ),
    ("post", "/api/custom-roles/"): lambda _: Write(
        "accounts.create_custom_role",
        "/api/custom-roles/",
        {"organisation": organisation(), "name": "caretaker", "actions": ["fleet.pause_device"]},
    ),
    ("patch", "/api/custom-roles/{id}/"): lambda _: Write(
        "accounts.change_custom_role", f"/api/custom-roles/{caretaker()}/", {"actions": ["fleet.resume_device"]}
    ),
    ("delete", "/api/custom-roles/{id}/"): lambda _: Write(
        "accounts.remove_custom_role", f"/api/custom-roles/{caretaker()}/"
    ),
    ("post", "/api/sign-on-roles/"): lambda _: Write(
        "accounts.map_claim",
        "/api/sign-on-roles/",
        {"claim_value": "ward-staff", "role": "viewer", "project": project()},
    ),
    ("delete", "/api/sign-on-roles/{id}/"): lambda _: Write("accounts.unmap_claim", f"/api/sign-on-roles/{mapped()}/"),
    ("delete", "/api/grants/{id}/"): lambda _: Write("accounts.take_role", f"/api/grants/{granted()}/"),
    ("post", "/api/session/"): lambda _: Write(
        "accounts.sign_in", "/api/session/", {"username": "me", "password": PASSWORD}
    ),
    ("delete", "/api/session/"): lambda _: Write("accounts.sign_out", "/api/session/"),
    ("post", "/api/session/password/"): lambda _: Write(
        "accounts.change_password", "/api/session/password/", {"current": PASSWORD, "new": f"{PASSWORD}!"}
    ),
    ("post", "/api/session/second-factor/"): lambda _: Write(
        "accounts.set_second_factor", "/api/session/second-factor/", {"password": PASSWORD}
    ),
    ("post", "/api/session/second-factor/confirm/"): lambda me: Write(
        "accounts.set_second_factor", "/api/session/second-factor/confirm/", {"code": code_of(begun(me))}
    ),
    ("post", "/api/session/second-factor/recovery-codes/"): lambda me: Write(
        "accounts.set_second_factor", "/api/session/second-factor/recovery-codes/", {"code": recovery_code(me)}
    ),
    ("post", "/api/session/second-factor/remove/"): lambda me: Write(
        "accounts.set_second_factor", "/api/session/second-factor/remove/", {"code": recovery_code(me)}
    ),
    ("post", "/api/session/passkeys/"): lambda me: Write(
        "accounts.add_passkey", "/api/session/passkeys/", {"name": "laptop", "answer": made_passkey(me)}
    ),
    ("post", "/api/session/passkeys/{id}/remove/"): lambda me: removal(*passkey_and_code(me)),
    ("post", "/api/operators/{id}/reset-second-factor/"): lambda _: Write(
        "accounts.reset_second_factor", f"/api/operators/{with_second_factor()}/reset-second-factor/"
    ),
    ("delete", "/api/browser-sessions/{id}/"): lambda me: Write(
        "accounts.end_session", f"/api/browser-sessions/{signed_in_elsewhere(me)}/"
    ),
    ("post", "/api/saved-filters/"): lambda _: Write(
        "accounts.save_filter", "/api/saved-filters/", {"table": "devices", "name": "hot", "query": {"tag": "x"}}
    ),
    ("delete", "/api/saved-filters/{id}/"): lambda me: Write(
        "accounts.remove_filter",
        f"/api/saved-filters/{save_filter(operator=me, table='devices', name='hot', query={}).pk}/",
    ),
    ("post", "/api/muted-repairs/"): lambda _: Write(
        "repairs.mute_repair", "/api/muted-repairs/", {"key": f"pair_rejected:{rejected_pair()}"}
    ),
    ("delete", "/api/muted-repairs/{id}/"): lambda _: Write("repairs.restore_repair", f"/api/muted-repairs/{muted()}/"),
    ("post", "/api/webhooks/"): lambda _: Write(
        "webhooks.create_webhook", "/api/webhooks/", {"name": "x", "url": HOOK, "events": ["job.failed"]}
    ),
    ("patch", "/api/webhooks/{id}/"): lambda _: Write(
        "webhooks.change_webhook", f"/api/webhooks/{hook().pk}/", {"is_active": False}
    ),
    ("delete", "/api/webhooks/{id}/"): lambda _: Write("webhooks.remove_webhook", f"/api/webhooks/{hook().pk}/"),
    ("post", "/api/webhooks/{id}/test/"): lambda _: Write("webhooks.try_webhook", f"/api/webhooks/{hook().pk}/test/"),
    ("post", "/api/webhook-deliveries/{id}/retry/"): lambda _: Write(
        "webhooks.retry_delivery", f"/api/webhook-deliveries/{delivered()}/retry/"
    ),
    ("post", "/api/alert-channels/"): lambda _: Write(
        "alerts.create_channel", "/api/alert-channels/", {"name": "x", "kind": "slack", "url": HOOK}
    ),
    ("patch", "/api/alert-channels/{id}/"): lambda _: Write(
        "alerts.change_channel", f"/api/alert-channels/{channel().pk}/", {"url": f"{HOOK}/other"}
    ),
    ("delete", "/api/alert-channels/{id}/"): lambda _: Write(
        "alerts.remove_channel", f"/api/alert-channels/{channel().pk}/"
    ),
    ("post", "/api/alert-channels/{id}/test/"): lambda _: Write(
        "alerts.try_channel", f"/api/alert-channels/{channel().pk}/test/"
    ),
    ("post", "/api/alert-rules/"): lambda _: Write(
        "alerts.create_rule", "/api/alert-rules/", {"name": "x", "kind": "job_failed", "channels": [channel().pk]}
    ),
    ("patch", "/api/alert-rules/{id}/"): lambda _: Write(
        "alerts.change_rule", f"/api/alert-rules/{alert_rule()}/", {"is_active": False}
    ),
    ("delete", "/api/alert-rules/{id}/"): lambda _: Write("alerts.remove_rule", f"/api/alert-rules/{alert_rule()}/"),
    ("post", "/api/rounds/{id}/merge-again/"): lambda _: Write(
        "rounds.merge_again", f"/api/rounds/{abandoned_round()}/merge-again/"
    ),
    ("post", "/api/enrolment-tokens/"): lambda _: Write(
        "fleet.create_enrolment_token", "/api/enrolment-tokens/", {"label": "x", "expires_at": LATER}
    ),
    ("post", "/api/enrolment-tokens/{id}/revoke/"): lambda _: Write(
        "fleet.revoke_enrolment_token", f"/api/enrolment-tokens/{enrolment()}/revoke/"
    ),
    ("patch", "/api/devices/{id}/"): lambda _: Write(
        "fleet.change_device", f"/api/devices/{make_device('hall').pk}/", {"name": "kitchen"}
    ),
    ("post", "/api/devices/{id}/revoke/"): lambda _: Write(
        "fleet.revoke_device", f"/api/devices/{make_device('hall').pk}/revoke/"
    ),
    ("post", "/api/devices/{id}/renew-credential/"): lambda _: Write(
        "fleet.renew_credential", f"/api/devices/{make_device('hall').pk}/renew-credential/"
    ),
    ("post", "/api/credential-renewals/"): lambda _: Write("fleet.renew_credentials", "/api/credential-renewals/"),
    ("post", "/api/devices/{id}/forget/"): lambda _: Write(
        "owners.forget_device", f"/api/devices/{make_device('hall').pk}/forget/"
    ),
    ("post", "/api/devices/{id}/pause/"): lambda _: Write(
        "fleet.pause_device", f"/api/devices/{make_device('hall').pk}/pause/"
    ),
    ("post", "/api/devices/{id}/resume/"): lambda _: Write("fleet.resume_device", f"/api/devices/{resting()}/resume/"),
    ("post", "/api/devices/{id}/pin/"): lambda _: Write(
        "fleet.pin_device",
        f"/api/devices/{make_device('hall').pk}/pin/",
        {"version": str(make_version(make_pair()).pk)},
    ),
    ("post", "/api/device-actions/"): lambda _: Write(
        "fleet.change_device",
        "/api/device-actions/",
        {"action": "add_tags", "devices": [str(make_device("hall").pk)], "tags": ["kiosk"]},
    ),
    ("post", "/api/pairs/"): lambda _: Write(
        "registry.submit_pair",
        "/api/pairs/",
        {"name": "x", "device": file(b"device"), "cloud": file(b"cloud"), "labels": ["a", "b"]},
        form=True,
    ),
    ("post", "/api/blobs/{sha256}/repair/"): lambda _: Write(
        "registry.repair_blob", f"/api/blobs/{put_right()}/repair/"
    ),
    ("post", "/api/example/"): lambda _: Write("accounts.issue_token", "/api/example/", begins_more=True),
    ("patch", "/api/pairs/{id}/"): lambda _: Write(
        "registry.describe_pair", f"/api/pairs/{make_pair().pk}/", {"notes": "since May"}
    ),
    ("post", "/api/pairs/{id}/archive/"): lambda _: Write(
        "registry.archive_pair", f"/api/pairs/{make_pair().pk}/archive/"
    ),
    ("post", "/api/pairs/{id}/restore/"): lambda _: Write(
        "registry.restore_pair", f"/api/pairs/{archived_pair()}/restore/"
    ),
    ("patch", "/api/versions/{id}/"): lambda _: Write(
        "registry.describe_version", f"/api/versions/{make_version(make_pair()).pk}/", {"name": "the fair's"}
    ),
    ("post", "/api/versions/{id}/archive/"): lambda _: Write(
        "registry.archive_version", f"/api/versions/{unused_version().pk}/archive/"
    ),
    ("post", "/api/versions/{id}/restore/"): lambda _: Write(
        "registry.restore_version", f"/api/versions/{archived_version()}/restore/"
    ),
    ("post", "/api/devices/{id}/archive/"): lambda _: Write(
        "fleet.archive_device", f"/api/devices/{revoked().pk}/archive/"
    ),
    ("post", "/api/devices/{id}/restore/"): lambda _: Write(
        "fleet.restore_device", f"/api/devices/{archived_device()}/restore/"
    ),
    ("post", "/api/federations/{id}/archive/"): lambda _: Write(
        "federations.archive_federation", f"/api/federations/{draft()}/archive/"
    ),
    ("post", "/api/federations/{id}/restore/"): lambda _: Write(
        "federations.restore_federation", f"/api/federations/{archived_federation()}/restore/"
    ),
    ("post", "/api/pairs/{id}/champion/"): lambda _: Write(
        "registry.roll_back", f"/api/pairs/{two_versions()}/champion/", {}
    ),
    ("post", "/api/pairs/{id}/bootstrap/"): lambda _: Write(
        "cloud_training.bootstrap_pair",
        f"/api/pairs/{make_pair().pk}/bootstrap/",
        {"dataset": str(make_dataset().pk)},
    ),
    ("post", "/api/federations/{id}/plan-forecasts/"): lambda _: Write(
        "twin.try_plan", f"/api/federations/{draft()}/plan-forecasts/", {"scenario": "digits-alike"}
    ),
    ("post", "/api/simulated-fleets/"): lambda _: Write(
        "simulation_runs.keep_fleet", "/api/simulated-fleets/", {"file": file(A_FLEET)}, form=True
    ),
    ("post", "/api/simulated-fleets/{id}/runs/"): lambda _: Write(
        "simulation_runs.ask_for_runs",
        f"/api/simulated-fleets/{simulated_fleet().pk}/runs/",
        {"runs": [{"plan": {}, "seed": 0, "rounds": 1}]},
    ),
    ("post", "/api/simulation-runs/{id}/cancel/"): lambda _: Write(
        "simulation_runs.cancel_run", f"/api/simulation-runs/{simulation_run().pk}/cancel/", {"why": "no need"}
    ),
    ("delete", "/api/simulated-fleets/{id}/"): lambda _: Write(
        "simulation_runs.remove_fleet", f"/api/simulated-fleets/{simulated_fleet().pk}/"
    ),
    ("post", "/api/versions/{id}/quantise/"): lambda _: Write(
        "cloud_training.quantise_version",
        f"/api/versions/{make_version(make_pair()).pk}/quantise/",
        {"dataset": str(make_dataset().pk)},
    ),
    ("post", "/api/pairs/{id}/distill/"): lambda _: Write(
        "cloud_training.distill_pair",
        f"/api/pairs/{make_version(make_pair(), role=Role.CLOUD).pair_id}/distill/",
        {"dataset": str(make_dataset().pk)},
    ),
    ("post", "/api/pairs/{id}/uploaded-weights/"): lambda _: Write(
        "registry.use_uploaded_weights", f"/api/pairs/{make_pair().pk}/uploaded-weights/", {"models": ["device"]}
    ),
    ("post", "/api/federations/{id}/adopt/"): lambda _: Write(
        "federations.adopt_versions", f"/api/federations/{after_a_trial()}/adopt/"
    ),
    ("post", "/api/analytics/"): lambda _: Write("analytics.ask_question", "/api/analytics/", a_question()),
    ("post", "/api/analytics/{id}/cancel/"): lambda _: Write(
        "analytics.cancel_question", f"/api/analytics/{asked()}/cancel/"
    ),
    ("post", "/api/alliances/"): lambda _: Write("alliances.begin_alliance", "/api/alliances/", an_alliance()),
    ("post", "/api/alliances/{id}/cancel/"): lambda _: Write(
        "alliances.cancel_alliance", f"/api/alliances/{Two().alliance.pk}/cancel/"
    ),
    ("post", "/api/rollouts/"): lambda _: Write(
        "rollouts.start_rollout", "/api/rollouts/", {"version": str(unused_version().pk), "terms": {"share": 0.2}}
    ),
    ("post", "/api/rollouts/{id}/promote/"): lambda _: Write(
        "rollouts.promote_rollout", f"/api/rollouts/{rolled_out()}/promote/"
    ),
    ("post", "/api/rollouts/{id}/pass-phase/"): lambda _: Write(
        "rollouts.pass_phase", f"/api/rollouts/{in_first_phase()}/pass-phase/"
    ),
    ("post", "/api/rollouts/{id}/cancel/"): lambda _: Write(
        "rollouts.cancel_rollout", f"/api/rollouts/{rolled_out()}/cancel/"
    ),
    ("post", "/api/agent-rollouts/{id}/pass-phase/"): lambda _: Write(
        "agent_rollouts.pass_phase", f"/api/agent-rollouts/{agent_rolled_out('running')}/pass-phase/"
    ),
    ("post", "/api/agent-rollouts/"): lambda _: Write(
        "agent_rollouts.start_agent_rollout", "/api/agent-rollouts/", {"version": "9.0.0"}
    ),
    **{
        ("post", f"/api/agent-rollouts/{{id}}/{path}/"): lambda _, path=path, before=before: Write(
            f"agent_rollouts.{path.replace('-', '_')}_agent_rollout",
            f"/api/agent-rollouts/{agent_rolled_out(before)}/{path}/",
        )
        for path, before in (("pause", "running"), ("resume", "paused"), ("stop", "running"), ("roll-back", "running"))
    },
    ("post", "/api/evaluations/"): lambda _: Write(
        "fleet_evaluation.start_evaluation", "/api/evaluations/", {"version": str(unused_version().pk), "devices": 5}
    ),
    ("post", "/api/evaluations/{id}/cancel/"): lambda _: Write(
        "fleet_evaluation.cancel_evaluation", f"/api/evaluations/{evaluated()}/cancel/"
    ),
    ("post", "/api/device-logs/"): lambda _: Write(
        "device_logs.ask_for_log", "/api/device-logs/", {"device": str(sends_logs().pk)}
    ),
    ("post", "/api/device-logs/{id}/cancel/"): lambda _: Write(
        "device_logs.cancel_log",
        f"/api/device-logs/{request_log(device=sends_logs(), hours=1, why='', now=START).pk}/cancel/",
    ),
    ("post", "/api/datasets/"): lambda _: Write(
        "registry.add_dataset", "/api/datasets/", {"name": "x", "file": file(samples())}, form=True
    ),
    ("post", "/api/jobs/{id}/cancel/"): lambda _: Write(
        "cloud_training.cancel_job", f"/api/jobs/{job(TrainingJob.State.QUEUED).pk}/cancel/", {"why": "no need"}
    ),
    ("post", "/api/jobs/{id}/retry/"): lambda _: Write(
        "cloud_training.retry_job", f"/api/jobs/{job(TrainingJob.State.FAILED).pk}/retry/"
    ),
    ("post", "/api/federations/"): lambda _: Write(
        "federations.create_federation", "/api/federations/", {"name": "digits", "pair": str(make_pair().pk)}
    ),
    ("patch", "/api/federations/{id}/"): lambda _: Write(
        "federations.change_plan", f"/api/federations/{draft()}/", {"plan": {"local": {"kind": "prox"}}}
    ),
    ("post", "/api/federations/{id}/start/"): lambda _: Write(
        "federations.start_federation", f"/api/federations/{draft()}/start/"
    ),
    ("post", "/api/federations/{id}/pause/"): lambda _: Write(
        "federations.pause_federation", f"/api/federations/{make_federation(make_pair()).pk}/pause/"
    ),
    ("post", "/api/federations/{id}/finish/"): lambda _: Write(
        "federations.finish_federation", f"/api/federations/{draft()}/finish/"
    ),
    ("put", "/api/federations/{id}/privacy/"): lambda _: Write(
        "privacy.change_federation_budget", f"/api/federations/{draft()}/privacy/", {"epsilon": 4, "delta": 1e-6}
    ),
    ("put", "/api/devices/{id}/privacy/"): lambda _: Write(
        "privacy.change_device_budget", f"/api/devices/{make_device('hall').pk}/privacy/", {"epsilon": 4, "delta": 1e-6}
    ),
}
ONES_OWN = {
    "accounts.sign_in",
    "accounts.fail_sign_in",
    "accounts.sign_out",
    "accounts.change_password",
    "accounts.issue_token",
} | {
    "accounts.revoke_token",
    "accounts.save_filter",
    "accounts.remove_filter",
    "accounts.set_second_factor",
    "accounts.add_passkey",
    "accounts.remove_passkey",
    "accounts.end_session",
}
"""What a viewer may do, too."""


WRITES_NOTHING = {
    "plan_check",
    "plan_preview",
    "federations_replay",
    "session_choose_project",
    "session_passkeys_begin",
    "session_passkeys_ask",
}
"""Questions whose answer needs a body, what only changes what one sees, and challenges, whose answers write."""


def written() -> set[tuple[str, str]]:
    """Every address of the API that takes a method which writes."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return {
        (method, path)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if method in ("post", "put", "patch", "delete") and operation["operationId"] not in WRITES_NOTHING
    }


def test_every_endpoint_that_writes_is_tried_here() -> None:
    assert written() == WRITES.keys()


def test_every_action_is_one_that_a_service_names() -> None:
    assert set(codes_given("audited", "check_permitted", "record")) == ACTIONS.keys()


@pytest.fixture
def browser() -> Callable[[OperatorRole], tuple[APIClient, Operator]]:
    """Somebody of a role who is signed in."""

    def signed_in(role: OperatorRole) -> tuple[APIClient, Operator]:
        me = create_operator(username="me", role=role).operator
        me.set_password(PASSWORD)
        me.save()
        client = APIClient()
        client.force_login(me)
        return client, me

    return signed_in


def send(client: APIClient, method: str, write: Write) -> int:
    form = {"format": "multipart"} if write.form else {}
    return int(getattr(client, method)(write.path, write.body, **form).status_code)


@pytest.mark.parametrize("endpoint", WRITES, ids=" ".join)
def test_leaves_an_entry(
    endpoint: tuple[str, str], browser: Callable[[OperatorRole], tuple[APIClient, Operator]]
) -> None:
    client, me = browser(OperatorRole.ADMINISTRATOR)
    write = WRITES[endpoint](me)
    before = set(Entry.objects.values_list("pk", flat=True))
    assert send(client, endpoint[0], write) < 300
    entries = Entry.objects.exclude(pk__in=before)
    assert [(entry.action, entry.actor_name, entry.actor_kind) for entry in entries] == [(write.action, "me", "person")]
    assert ACTIONS[write.action].title


@pytest.mark.parametrize("endpoint", WRITES, ids=" ".join)
def test_is_refused_to_who_may_only_look(
    endpoint: tuple[str, str], browser: Callable[[OperatorRole], tuple[APIClient, Operator]]
) -> None:
    client, me = browser(OperatorRole.VIEWER)
    write = WRITES[endpoint](me)
    before = Entry.objects.count()
    status = send(client, endpoint[0], write)
    if write.action in ONES_OWN and not write.begins_more:
        assert status < 300
    else:
        assert (status, Entry.objects.count()) == (403, before)
