import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.core.cache import caches
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.accounts.models import Operator, Passkey
from coterie.accounts.second_factor import begin_second_factor, confirm_second_factor
from coterie.accounts.services import create_operator, issue_token, save_filter
from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.alerts.bundling import bundle_all
from coterie.alerts.evaluating import apply
from coterie.alerts.models import Channel, Rule
from coterie.alerts.services import create_channel, create_rule
from coterie.alerts.watching import Sighting
from coterie.alliances.models import Alliance, Party
from coterie.analytics.models import Part as QuestionPart
from coterie.analytics.models import Question
from coterie.child.confine import never_confined
from coterie.cloud_training.job_log import log
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.cluster.services import register_host
from coterie.core.credentials import hash_secret
from coterie.core.scheduler_heartbeat import record_pulse, record_task
from coterie.device_logs.models import DeviceLog
from coterie.exports.models import Exported
from coterie.federations.models import Federation, Group, Membership, Split
from coterie.fleet.credentials import offer_credential, renew_credential
from coterie.fleet.latencies import record_latencies
from coterie.fleet.models import Device, DeviceAgent, DeviceAuthority, DeviceCertificate
from coterie.fleet.services import create_enrolment_token
from coterie.fleet_evaluation.models import Evaluation
from coterie.fleet_evaluation.models import Part as EvaluationPart
from coterie.gateway.ending import Ending
from coterie.merging.asking import request_merge
from coterie.merging.models import Update
from coterie.owners.models import Rebuild
from coterie.owners.services import forget_device
from coterie.registry.describing import describe_version
from coterie.registry.models import ModelVersion, TeacherWeights, Variant, VersionDifference
from coterie.repairs.services import mute_repair
from coterie.rollouts.models import Rollout, Trial
from coterie.secure_sums.services import begin_sum, begin_sum_of_answers
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun
from coterie.speeds.models import SpeedDay
from coterie.transfer.advancing import sweep
from coterie.transfer.models import PersonalFigures
from coterie.twin.models import Forecast
from coterie.webhooks.models import Event
from coterie.webhooks.services import create_webhook, try_webhook
from coterie_wire.latency import Histogram, Latency
from tests.coterie.accounts.authenticator import code_of
from tests.coterie.transfer.peers import KNOWS_2, Member, make_peers
from tests.coterie.world import fleet_of, keep, make_dataset, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(create_operator(username="ada").operator)
    return client


def test_the_fleet_page_shows_devices_rounds_and_reasons(browser: Client) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2)
    device, _ = fleet_of(2)
    device.check_in(timezone.now())
    page = browser.get("/").content.decode()
    for shown in ("digits", "device-0", "device-1", "fleet.never_seen", "2 enrolled, 1 present, 1 ready", "planned"):
        assert shown in page
    assert browser.get("/fleet/now").content.decode().strip() in page


def test_an_empty_fleet_says_so(browser: Client) -> None:
    page = browser.get("/").content.decode()
    assert "No device has joined yet." in page
    assert "No federation yet." in page


def test_what_devices_say_is_never_markup(browser: Client) -> None:
    fleet_of(1)[0].row.__class__.objects.update(name="<script>alert(1)</script>")
    assert "<script>alert" not in browser.get("/").content.decode()


def test_pages_carry_no_inline_script_and_may_load_none(browser: Client) -> None:
    page = browser.get("/")
    assert page["Content-Security-Policy"].startswith("default-src 'self';")
    assert all(re.search(r"\ssrc=", tag) for tag in re.findall(r"<script[^>]*>", page.content.decode()))
    assert b"style=" not in page.content


def test_who_is_not_signed_in_is_asked_to() -> None:
    assert Client().get("/").headers["Location"] == "/sign-in/?next=/"
    assert Client().get("/fleet/now").status_code == 401


def test_health_is_a_database_that_answers_and_a_clock_that_goes() -> None:
    caches["pulse"].clear()
    assert Client().get("/healthz").status_code == 503
    for ago_s, healthy in ((0, True), (20, True), (40, False), (-3600, False)):
        record_pulse(timezone.now() - timedelta(seconds=ago_s))
        assert (Client().get("/healthz").status_code == 200) == healthy, ago_s


def test_health_is_a_worker_that_ends_tasks_where_workers_are_processes(settings: Settings) -> None:
    caches["pulse"].clear()
    record_pulse(timezone.now())
    assert Client().get("/healthz").status_code == 200, "embedded mode's worker is in the server"
    settings.EMBEDDED = False
    told = Client().get("/healthz")
    assert (told.status_code, "is a Celery worker running?" in told.json()["status"]) == (503, True)
    for ago_s, healthy in ((0, True), (50, True), (70, False)):
        record_task(timezone.now() - timedelta(seconds=ago_s))
        assert (Client().get("/healthz").status_code == 200) == healthy, ago_s


def test_a_process_is_ready_though_periodic_work_is_late() -> None:
    caches["pulse"].clear()
    assert Client().get("/readyz").status_code == 200


def test_a_process_that_ends_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Ending()
    monkeypatch.setattr("coterie.gateway.pages.ENDING", ending)
    assert Client().get("/readyz").status_code == 200
    ending.has_begun = True
    assert Client().get("/readyz").status_code == 503


def test_health_says_what_this_system_cannot_keep_jobs_from() -> None:
    record_pulse(timezone.now())
    assert Client().get("/healthz").json()["unconfined"] == list(never_confined())
    assert never_confined() == () or "being kept from the platform's other files" in never_confined()


def test_signs_in_with_name_and_password() -> None:
    _, password = create_operator(username="ada")
    client = Client()
    wrong = client.post("/sign-in/", {"username": "ada", "password": "guessed"})
    assert b"do not match" in wrong.content
    right = client.post("/sign-in/", {"username": "ada", "password": password, "next": "/api/docs/"})
    assert right.headers["Location"] == "/api/docs/"


def test_every_static_file_of_a_page_is_served(browser: Client) -> None:
    for page in ("/", "/api/docs/", "/admin/"):
        for file in re.findall(r'(?:src|href)="(/static/[^"]+)"', browser.get(page).content.decode()):
            assert browser.head(file).status_code == 200, file


def test_the_schema_describes_the_api(browser: Client) -> None:
    schema = browser.get("/api/schema/", headers={"Accept": "application/json"}).json()
    assert {"/api/devices/", "/api/enrolment-tokens/", "/api/tokens/"} <= set(schema["paths"])
    assert schema["components"]["securitySchemes"]["apiToken"]["scheme"] == "bearer"


@pytest.fixture
def a_row_of_each(browser: Client, now: datetime) -> Sequence[str]:
    """At least one row in every table; the hashes of the secrets among them."""
    register_host(name="a", rack="", address="", places=2, cores=2, gpus=0, memory_bytes=1, now=now)
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=1)
    bootstrap_pair(pair=pair, dataset=make_dataset(), options=TrainingOptions(), now=now)
    delivering, uploading = fleet_of(2)
    given = [device.check_in(now).assignment for device in (delivering, uploading)]
    assert given[0] is not None and given[1] is not None
    delivering.deliver(given[0].assignment, now, seed=1)
    uploading.offer(given[1].assignment, uploading.payload(2), now)
    api_token = issue_token(operator=Operator.objects.get(), name="ci", now=now).token
    enrolment_token = create_enrolment_token(label="hall", expires_at=now, now=now).token
    save_filter(operator=Operator.objects.get(), table="devices", name="hot", query={})
    Device.objects.filter(pk=uploading.row.pk).update(last_seen_at=timezone.now() - timedelta(days=2))
    mute_repair(key="devices_silent", until=None, now=timezone.now())
    log(TrainingJob.objects.get().pk, "a worker begins", now)
    hook = create_webhook(name="chat", url="https://8.8.8.8/", events=[Event.JOB_FAILED], now=now)
    try_webhook(webhook=hook.webhook, now=now)
    channel = create_channel(name="chat", kind=Channel.Kind.WEBHOOK, url="https://8.8.8.8/T0PSECRET", now=now)
    rule = create_rule(name="faults", kind=Rule.Kind.REPAIR, channels=[channel.channel.pk], now=now)
    apply(rule_id=rule.pk, seen=[Sighting("disk", "error", "it is full", "")], now=now)
    bundle_all(now=now)
    factor = begin_second_factor(operator=Operator.objects.get(), now=timezone.now())
    confirm_second_factor(operator=factor.operator, code=code_of(factor), now=timezone.now())
    Passkey.objects.create(operator=factor.operator, name="laptop", credential=b"c", public_key=b"k", created_at=now)
    federation = Federation.objects.get()
    group = Group.objects.create(federation=federation, name="north", since=now)
    Membership.objects.create(group=group, federation=federation, device=delivering.row, since=now, since_round=1)
    Split.objects.create(federation=federation, round_number=1, groups=2, at=now)
    version = ModelVersion.objects.all()[0]
    Variant.objects.create(version=version, name="int8", reason_code="x", reason_sentence="x", measured={}, made_at=now)
    TeacherWeights.objects.create(version=version, blob=keep(b"teacher"))
    VersionDifference.objects.create(version=version, codec="int8", blob=keep(b"difference"))
    describe_version(version=version, name="the one of the fair")
    request_merge(
        federation=federation,
        number=1,
        plan={},
        seed=1,
        base_version=version,
        updates=Update.objects.all(),
        fleet=1,
        now=now,
    )
    content = {"count": {"kind": "classes", "classes": 3}}
    asked = Question.objects.create(
        federation=federation,
        content=content,
        devices_wanted=3,
        sum=begin_sum_of_answers(federation=federation, question=content, now=now),
        asked_at=now,
        closes_at=now,
    )
    QuestionPart.objects.create(question=asked, device=delivering.row, asked_at=now)
    DeviceLog.objects.create(device=delivering.row, hours=24, created_at=now, due_at=now)
    rollout = Rollout.objects.create(federation=federation, version=version, terms={}, created_at=now, due_at=now)
    Trial.objects.create(rollout=rollout, device=delivering.row)
    evaluation = Evaluation.objects.create(
        federation=federation,
        version=version,
        devices_wanted=1,
        reports_needed=1,
        within_s=60,
        created_at=now,
        due_at=now,
    )
    EvaluationPart.objects.create(evaluation=evaluation, device=delivering.row)
    DeviceAgent.objects.create(device=delivering.row, version="0.2.0")
    authority = DeviceAuthority.objects.create(public_key="k", certificate="c", made_at=now)
    DeviceCertificate.objects.create(
        device=delivering.row, sha256="c", public_key="k", authority=authority, issued_at=now, until=now
    )
    told = Latency(str(version.pk), "step", "float32", Histogram((0, 1000)))
    record_latencies([(delivering.row, [told])], now=now)
    PersonalFigures.objects.create(
        federation=federation, device=delivering.row, version="v", answers=True, samples=20, updated_at=now
    )
    make_peers()
    asking, helping = Member("asking"), Member("helping")
    for member in (asking, helping):
        member.check_in(now)
    helping.tell(KNOWS_2, now)
    asking.ask(1, now)
    sweep(now=now)
    forgetting = forget_device(device=make_device("forgotten"), now=now)
    Rebuild.objects.create(forgetting=forgetting, federation=federation, promise={}, held=[], asked_at=now)
    renew_credential(device=delivering.row, leaked=False, now=now)
    offer_credential(device=delivering.row, sha256=hash_secret("next"), now=now)
    Exported.objects.create(exporter="mlflow", round=federation.rounds.first(), state="published", at=now)
    compared = {"happened_duration_s": 41.0, "happened_lost": 1, "happened_up_bytes": 1000, "compared_at": now}
    expected = {f"{figure}{end}": 1.0 for figure in ("lost", "up_bytes") for end in ("_low", "", "_high")}
    durations = {"duration_low_s": 30.0, "duration_s": 40.0, "duration_high_s": 60.0}
    a_round = federation.rounds.first()
    durations_told = {"counts": [0] * 40 + [1000]}
    band = {"by": "predict", "band": 40, "work": "predict", "form": "float32", "charging": "yes"}
    SpeedDay.objects.create(pair=pair, day=now.date(), devices=1, durations=durations_told, taken_at=now, **band)
    Forecast.objects.create(round=a_round, made_at=now, history=20, **durations, **expected, **compared)
    fleet = SimulatedFleet.objects.create(file=keep(b"fleet"), created_at=now, used_at=now)
    SimulationRun.objects.create(fleet=fleet, key="k", wanted={}, created_at=now, hinted_at=now)
    allied = Alliance.objects.create(name="insurer and bank", terms={}, created_at=now)
    Party.objects.create(alliance=allied, role=Party.Role.COLUMNS, device=delivering.row, version=version)
    begin_sum(federation=federation, cohort=1, number=1, plan=federation.plan, base_version=version, now=now)
    terms = {"phases": [1.0], "hold_s": 60.0, "probation_s": 60.0, "most_failures": 0.2}
    agents = AgentRollout.objects.create(version="9.0.0", **terms, created_at=now, phase_since=now)
    DeviceUpdate.objects.create(rollout=agents, device=delivering.row, former="0.2.0", asked_at=now, changed_at=now)
    hashes = [api_token.secret_hash, enrolment_token.secret_hash, delivering.row.credential_hash]
    hashes += [hash_secret("next"), hook.secret, channel.secret, "T0PSECRET"]
    return [*hashes, Operator.objects.get().password]


def test_the_admin_shows_every_table_and_row_and_no_secret(browser: Client, a_row_of_each: Sequence[str]) -> None:
    for model in admin.site._registry:
        table = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        row = model._default_manager.first()
        assert row is not None, table
        for address in (table, f"{table}{quote(row.pk)}/change/"):
            page = browser.get(address)
            assert page.status_code == 200, address
            assert not any(secret in page.content.decode() for secret in a_row_of_each), address


def test_the_api_shows_every_table_and_row_and_no_secret(browser: Client, a_row_of_each: Sequence[str]) -> None:
    tables = ("devices", "enrolment-tokens", "tokens", "pairs", "versions", "datasets", "federations", "rounds", "jobs")
    tables += ("help-requests", "transfers", "profiles")
    for table in tables:
        listed = browser.get(f"/api/{table}/")
        row = browser.get(f"/api/{table}/{listed.json()['results'][0]['id']}/")
        assert row.status_code == 200, table
        assert not any(secret in (listed.content + row.content).decode() for secret in a_row_of_each), table
