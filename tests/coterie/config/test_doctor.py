"""The examination finds what is broken, and one broken thing hides no other."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
import redis
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.accounts.provider import Provider
from coterie.accounts.services import create_operator
from coterie.config.doctor import CHECKS, examine
from coterie.core.scheduler_heartbeat import record_pulse, record_task
from coterie.fleet.services import EnrolledDevice
from coterie.registry.models import Blob
from coterie.storage.interface import StorageUnavailable, store_of
from tests.server_certificate import server_certificate

pytestmark = pytest.mark.django_db


def states(about: str) -> list[str]:
    return [finding.state for finding in examine() if finding.about == about]


def test_a_sound_platform_has_nothing_wrong_and_keeps_nothing_of_it() -> None:
    create_operator(username="ada")
    found = list(examine())
    assert [finding for finding in found if finding.state == "wrong"] == []
    assert {finding.about for finding in found} >= {"settings", "database", "tables", "storage", "room"}
    assert not store_of("default").sizes("probes")
    (storage,) = [finding.says for finding in found if finding.about == "storage"]
    assert storage.startswith(f"the directory {store_of('default').location} keeps files")
    out = StringIO()
    call_command("doctor", as_json=True, stdout=out)
    assert {finding["about"] for finding in json.loads(out.getvalue())} == {finding.about for finding in found}


def test_what_is_wrong_is_said_and_the_rest_is_looked_at(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMBEDDED, settings.DEBUG, settings.PUBLIC_HTTPS = False, True, True
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    settings.KEEP_HISTORY_DAYS = 0

    def fail(_name: str, _content: bytes) -> bool:
        raise StorageUnavailable(problem="403 Forbidden")

    monkeypatch.setattr(store_of("default"), "create", fail)
    now = timezone.now()
    Blob.objects.create(sha256="0" * 64, size_bytes=1, created_at=now, kept_at=now, damaged_at=now)
    findings = list(examine())
    found = {(finding.about, finding.state) for finding in findings}
    (storage,) = [finding.says for finding in findings if finding.about == "storage"]
    assert storage == "The file storage does not answer as it should: 403 Forbidden. [storage.unavailable]"
    assert {("settings", "wrong"), ("settings", "warning"), ("broker", "wrong"), ("storage", "wrong")} <= found
    assert ("history", "warning") in found
    assert {("stored files", "wrong"), ("database", "fine"), ("tables", "fine")} <= found
    with pytest.raises(CommandError, match="found wrong"):
        call_command("doctor", stdout=StringIO())


@pytest.mark.parametrize(("autovacuum", "told"), [("on", ["fine"]), ("off", ["fine", "warning"])])
def test_a_postgresql_that_tidies_nothing_is_found(
    monkeypatch: pytest.MonkeyPatch, autovacuum: str, told: list[str]
) -> None:
    class PostgreSql:
        vendor = "postgresql"

        def cursor(self) -> "PostgreSql":
            return self

        def __enter__(self) -> "PostgreSql":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def execute(self, query: str) -> None:
            self.answer: tuple[object] = (autovacuum,) if query == "SHOW autovacuum" else (timezone.now(),)

        def fetchone(self) -> tuple[object]:
            return self.answer

    monkeypatch.setattr("coterie.config.doctor.connection", PostgreSql())
    assert [state for state, _ in CHECKS["database"]()] == told


def test_rows_are_not_looked_for_before_there_are_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("doctor", "schema"):
        monkeypatch.setattr(f"coterie.config.{module}.changes_to_make", lambda: [("fleet", "0001_tables")] * 58)
    found = {finding.about: finding for finding in examine() if finding.about in ("tables", "stored files")}
    assert "coterie migrate" in found["tables"].says
    assert (found["stored files"].state, "tables" in found["stored files"].says) == ("warning", True)


def test_nothing_is_written_below_the_mount_point_of_a_share_that_is_gone(settings: Settings, tmp_path: Path) -> None:
    store = {"BACKEND": "coterie.storage.files.DurableFileSystemStorage", "OPTIONS": {"location": tmp_path / "blobs"}}
    settings.STORAGES = {**settings.STORAGES, "default": store}
    now = timezone.now()
    Blob.objects.create(sha256="0" * 64, size_bytes=1, created_at=now, kept_at=now)
    assert (states("storage"), states("stored files")) == (["warning"], ["wrong"])
    assert not list(tmp_path.iterdir())


def test_a_database_that_is_away_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> object:
        raise OperationalError("connection refused")

    monkeypatch.setitem(CHECKS, "database", refuse)
    found = {finding.about: finding for finding in examine()}
    assert (found["database"].state, found["database"].says) == ("wrong", "connection refused")
    for about in ("tables", "storage", "signing key", "devices' certificates", "stored files"):
        assert (found[about].state, "the database does not answer" in found[about].says) == ("warning", True)


def test_a_store_that_overwrites_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of("default")
    monkeypatch.setattr(store, "create", lambda name, content: bool(store.save(name, _file(content))))
    assert "wrong" in states("storage")


def _file(content: bytes) -> object:
    from django.core.files.base import ContentFile

    return ContentFile(content)


def test_a_broker_that_drops_tasks_is_found(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMBEDDED, settings.CELERY_BROKER_URL = False, "redis://127.0.0.1:1/0"
    monkeypatch.setattr(redis.Redis, "ping", lambda _self: True)
    monkeypatch.setattr(redis.Redis, "config_get", lambda _self, _name: {"maxmemory-policy": "allkeys-lru"})
    assert states("broker") == ["fine", "wrong"]


def test_periodic_work_that_nobody_sends_is_found(settings: Settings) -> None:
    settings.EMBEDDED, settings.CELERY_BROKER_URL = False, "redis://127.0.0.1:1/0"
    record_pulse(timezone.now())
    record_task(timezone.now())
    assert states("periodic work") == ["fine"]
    record_task(timezone.now() - timedelta(minutes=5))
    assert states("periodic work") == ["wrong"], "it is sent, and nobody does it"
    record_pulse(timezone.now() - timedelta(minutes=5))
    assert states("periodic work") == ["wrong"]


def test_another_signing_key_than_devices_trust_is_found(
    settings: Settings, enrol: Callable[..., EnrolledDevice]
) -> None:
    enrol()
    assert states("signing key") == ["fine"]
    settings.SIGNING_KEY = "11" * 32
    assert states("signing key") == ["fine", "wrong"]


def test_certificates_that_nobody_can_show_are_found(
    settings: Settings, tmp_path: Path, enrol: Callable[..., EnrolledDevice]
) -> None:
    about = "devices' certificates"
    assert states(about) == ["fine"]
    settings.DEVICE_CERTIFICATES, settings.STATE = "offered", tmp_path
    assert states(about) == ["fine", "wrong", "fine"]
    settings.TRUSTED_PROXIES = ("127.0.0.1",)
    enrol()
    assert states(about) == ["fine", "fine"]
    settings.DEVICE_CERTIFICATES = "required"
    assert states(about) == ["fine", "warning"]
    settings.DEVICE_CERTIFICATE_DAYS = 365 * 21
    assert "wrong" in states(about)


def test_certificates_that_the_server_cannot_use_or_that_have_ended_are_found(
    settings: Settings, tmp_path: Path
) -> None:
    assert states("settings") == ["fine", "warning"]
    settings.TLS_CERTIFICATE = server_certificate(tmp_path)
    assert states("settings") == ["fine"], "the platform speaks https itself"
    assert states("TLS") == ["fine", "warning"], "it lasts for a day"
    settings.TLS_CERTIFICATE = server_certificate(tmp_path, made_before=timedelta(days=2))
    assert states("TLS") == ["fine", "wrong"]
    settings.TLS_KEY = tmp_path / "missing"
    (told,) = [finding.says for finding in examine() if finding.about == "TLS"]
    assert told == f"{settings.TLS_KEY}: No such file or directory"


def test_a_provider_that_does_not_answer_is_found(settings: Settings) -> None:
    settings.SINGLE_SIGN_ON = Provider(
        issuer="http://127.0.0.1:1", client_id="", client_secret="", label="", role_claim="", groups=()
    )
    assert states("single sign-on") == ["wrong"]
