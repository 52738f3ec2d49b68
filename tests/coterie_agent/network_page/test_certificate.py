"""The page's certificate is kept while it fits and lasts, and drawn anew otherwise."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from coterie_agent.errors import AgentError
from coterie_agent.network_page.certificate import LIFE, RENEWED, PageCertificate, page_certificate

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOST = "192.168.1.20"


def drawn(folder: Path, host: str = HOST, now: datetime = NOW) -> PageCertificate:
    return page_certificate(folder / "page.pem", host, now)


def test_it_is_kept_while_it_fits_and_lasts(tmp_path: Path) -> None:
    first = drawn(tmp_path)
    assert drawn(tmp_path, now=NOW + LIFE - RENEWED - timedelta(days=1)) == first
    assert drawn(tmp_path, now=NOW + LIFE - RENEWED + timedelta(days=1)).fingerprint != first.fingerprint
    assert (tmp_path / "page.pem").stat().st_mode & 0o777 == 0o600


def test_another_address_has_another(tmp_path: Path) -> None:
    assert drawn(tmp_path).fingerprint != drawn(tmp_path, "raspberrypi.local").fingerprint


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_cannot_be_read_is_drawn_anew(tmp_path: Path, damage: bytes) -> None:
    first = drawn(tmp_path)
    (tmp_path / "page.pem").write_bytes(damage)
    second = drawn(tmp_path)
    assert second.fingerprint != first.fingerprint
    second.context()


def test_a_key_of_another_certificate_is_not_kept(tmp_path: Path) -> None:
    first = drawn(tmp_path)
    content = (tmp_path / "page.pem").read_bytes()
    other = page_certificate(tmp_path / "other.pem", HOST, NOW)
    certificate = content[content.index(b"-----BEGIN CERTIFICATE") :]
    key = other.file.read_bytes().partition(b"-----BEGIN CERTIFICATE")[0]
    (tmp_path / "page.pem").write_bytes(key + certificate)
    assert drawn(tmp_path).fingerprint != first.fingerprint


def test_it_is_what_browsers_take_and_no_authority(tmp_path: Path) -> None:
    found = drawn(tmp_path)
    certificate = x509.load_pem_x509_certificate((tmp_path / "page.pem").read_bytes())
    extensions = certificate.extensions
    assert list(extensions.get_extension_for_class(x509.SubjectAlternativeName).value) == [
        x509.IPAddress(ipaddress.ip_address(HOST))
    ]
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert ExtendedKeyUsageOID.SERVER_AUTH in extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc <= timedelta(days=825)
    assert len(found.fingerprint) == 95


def test_where_it_cannot_be_kept_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"page\.pem") as refusal:
        page_certificate(tmp_path / "nowhere" / "page.pem", HOST, NOW)
    assert refusal.value.code == "page.no_certificate"
    found = drawn(tmp_path)
    found.file.write_bytes(b"")
    with pytest.raises(AgentError, match=r"page\.pem"):
        found.context()
