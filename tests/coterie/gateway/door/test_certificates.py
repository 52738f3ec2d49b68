"""Which certificate counts: our own server's sight of it, or what a trusted proxy passes on, and nothing else."""

import base64
import hashlib
import logging
import ssl
from urllib.parse import quote

import pytest
from pytest_django.fixtures import Settings

from coterie.gateway.door.certificates import certificate_of
from coterie.gateway.door.proxies import Proxies

DER = bytes(range(256)) * 3
SHA256 = hashlib.sha256(DER).hexdigest()
OWN = "0f" * 32
PROXIES = Proxies(["192.0.2.0/24"])
PROXY, CLIENT = "192.0.2.7", "198.51.100.1"
CLIENT_CERT = b"client-cert"
BASE64 = base64.b64encode(DER)
PASSED_ON = [
    b":" + BASE64 + b":",
    quote(ssl.DER_cert_to_PEM_cert(DER)).encode(),
    quote(BASE64).encode(),
    BASE64 + b"," + base64.b64encode(b"its authority's"),
]


@pytest.fixture(autouse=True)
def offered(settings: Settings) -> None:
    settings.DEVICE_CERTIFICATES = "offered"


@pytest.mark.parametrize("header", PASSED_ON)
def test_a_trusted_proxy_says_which_and_nobody_else(header: bytes) -> None:
    assert certificate_of(PROXY, "", {CLIENT_CERT: header}, PROXIES) == SHA256
    assert certificate_of(CLIENT, "", {CLIENT_CERT: header}, PROXIES) == ""
    assert certificate_of(CLIENT, OWN, {CLIENT_CERT: header}, PROXIES) == OWN


def test_where_none_are_given_nobody_shows_one(settings: Settings) -> None:
    settings.DEVICE_CERTIFICATES = "off"
    assert certificate_of(PROXY, OWN, {CLIENT_CERT: PASSED_ON[0]}, PROXIES) == ""
    assert certificate_of(CLIENT, OWN, {}, PROXIES) == ""


def test_the_header_is_the_one_that_the_operator_names(settings: Settings) -> None:
    settings.CLIENT_CERT_HEADER = b"ssl-client-cert"
    assert certificate_of(PROXY, "", {b"ssl-client-cert": PASSED_ON[1]}, PROXIES) == SHA256
    assert certificate_of(PROXY, "", {CLIENT_CERT: PASSED_ON[0]}, PROXIES) == ""


def test_the_certificate_of_a_proxy_is_no_devices() -> None:
    assert certificate_of(PROXY, OWN, {}, PROXIES) == ""
    assert certificate_of(CLIENT, OWN, {}, PROXIES) == OWN


@pytest.mark.parametrize("header", [b":AAA:", b":*:", b"%2d", b"-----BEGIN%20CERTIFICATE-----", b"\xff"])
def test_what_nobody_can_read_is_a_certificate_that_no_device_has(
    header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        shown = certificate_of(PROXY, "", {CLIENT_CERT: header}, PROXIES)
    assert shown not in ("", SHA256)
    assert PROXY in caplog.text
