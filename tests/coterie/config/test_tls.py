"""A platform whose certificates cannot be used does not start, and says why."""

import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings

from coterie.config.server_options import REFUSED
from coterie.config.tls import read_tls, refuse_unusable_authority
from tests.server_certificate import server_certificate

pytestmark = pytest.mark.django_db


def refusal(caplog: pytest.LogCaptureFixture, check: Callable[[str], object]) -> str:
    with caplog.at_level(logging.ERROR), pytest.raises(SystemExit) as ended:
        check("coterie serve")
    assert ended.value.code == REFUSED
    return caplog.messages[-1]


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """The certificate and key of somebody else."""
    directory = tmp_path / "other"
    directory.mkdir()
    return server_certificate(directory)


def test_a_key_of_another_certificate_is_refused(
    settings: Settings, tmp_path: Path, others: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TLS_CERTIFICATE, settings.TLS_KEY = server_certificate(tmp_path), others
    assert f"{others} is not the key of its first certificate" in refusal(caplog, read_tls)


def test_behind_a_proxy_too_the_authority_must_be_able_to_sign(
    settings: Settings, tmp_path: Path, others: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TLS_CERTIFICATE, settings.DEVICE_CERTIFICATES = None, "offered"
    settings.DEVICE_CA_CERTIFICATE, settings.DEVICE_CA_KEY = server_certificate(tmp_path), others.read_text()
    told = refusal(caplog, refuse_unusable_authority)
    assert "is not the key of the first certificate" in told and "[fleet.device_authority_unusable]" in told
    assert read_tls("coterie serve") is None
    settings.DEVICE_CERTIFICATES = "off"
    refuse_unusable_authority("coterie serve")


def test_an_authority_that_cannot_be_looked_up_is_told_as_such(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TLS_CERTIFICATE, settings.DEVICE_CERTIFICATES = None, "offered"

    def fail(*, now: datetime) -> None:
        raise OperationalError(f"no answer at {now:%Y}")

    monkeypatch.setattr("coterie.fleet.authority.present_authority", fail)
    assert "cannot sign devices' certificates: no answer" in refusal(caplog, refuse_unusable_authority)
