"""Certificates of devices: given for keys, whichever side is killed when; refused as soon as the device is."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.core.management import CommandError, call_command
from django.utils import timezone
from nacl.signing import SigningKey
from pytest_django.fixtures import Settings

from coterie.audit.models import Entry
from coterie.fleet import authority, device_api
from coterie.fleet.authority import AuthorityUnusable, present_authority, trusted_authorities
from coterie.fleet.certificates import (
    APART_S,
    FIRST_WITHIN,
    KEPT,
    BadCertificateRequest,
    CertificatesTooOften,
    FirstTooLate,
    NoCertificates,
    Unproven,
    is_certificate_due,
    issue_certificate,
)
from coterie.fleet.models import Device, DeviceCertificate
from coterie.fleet.selectors import (
    CertificateExpired,
    CertificateMissing,
    CertificateUnknown,
    DeviceRevoked,
    Shown,
    device_of,
)
from coterie.fleet.services import EnrolledDevice, revoke_device
from coterie.rounds.directives import check_in
from coterie_agent.certificate_request import certificate_request
from coterie_agent.certifying import Certifying
from coterie_agent.home import Home
from coterie_agent.store.certificates import CertificateFiles
from coterie_wire.certificates import AskCertificate, Certified, proven_content
from coterie_wire.conditions import Conditions
from coterie_wire.messages import Capabilities, CheckIn
from coterie_wire.version import PROTOCOL

pytestmark = pytest.mark.django_db
Enrol = Callable[..., EnrolledDevice]
DAYS = 30
APART = timedelta(seconds=APART_S)
ABLE = Capabilities(cores=1, memory_bytes=1, machine="any", agent="0.3.0", certifies=True)


@pytest.fixture(autouse=True)
def required(settings: Settings, tmp_path: Path) -> None:
    settings.DEVICE_CERTIFICATES, settings.DEVICE_CERTIFICATE_DAYS = "required", DAYS
    settings.STATE = tmp_path


@pytest.fixture
def now() -> datetime:
    """Of the clock, which look-ups ask."""
    return timezone.now()


def certified(device: Device, now: datetime, key: SigningKey | None = None, *former: SigningKey) -> x509.Certificate:
    """What the device is given for `key`, proven with `former` keys."""
    request = certificate_request(key or SigningKey.generate())
    proofs = tuple(one.sign(proven_content(request)).signature for one in former)
    chain = issue_certificate(device=device, message=AskCertificate(request=request, proofs=proofs), now=now)
    assert len(chain) == 1, "servers have the platform's own authority"
    return x509.load_der_x509_certificate(chain[0])


def shown(credential: str, certificate: x509.Certificate) -> Shown:
    return Shown(credential, certificate.fingerprint(SHA256()).hex())


def test_a_certificate_names_its_device_lasts_so_long_and_is_for_clients(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    made = certified(device, now)
    (name,) = made.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert name.value == str(device.pk)
    assert made.not_valid_before_utc < now < made.not_valid_after_utc <= now + timedelta(days=DAYS)
    use = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(use) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    made.verify_directly_issued_by(present_authority(now=now).chain[0])
    assert device_of(shown(credential, made)) == device
    assert Device.objects.get(pk=device.pk).certificate_until == made.not_valid_after_utc
    assert Entry.objects.get(action="fleet.issue_certificate").subject_id == str(device.pk)


def test_a_stolen_credential_opens_nothing_and_gets_no_certificate(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    key = SigningKey.generate()
    certified(device, now, key)
    with pytest.raises(CertificateMissing):
        device_of(Shown(credential))
    other = certified(enrol(at=now).device, now)
    with pytest.raises(CertificateUnknown):
        device_of(shown(credential, other))
    with pytest.raises(CertificateUnknown):
        device_of(Shown(credential, "0" * 64))
    for proofs in ((), (SigningKey.generate(),)):
        with pytest.raises(Unproven):
            certified(device, now + APART, None, *proofs)
    thief = certificate_request(SigningKey.generate())
    seen = key.sign(proven_content(certificate_request(key))).signature  # of another request
    with pytest.raises(Unproven):
        issue_certificate(device=device, message=AskCertificate(request=thief, proofs=(seen,)), now=now + APART)


def test_what_is_offered_is_not_demanded_and_a_wrong_one_is_refused(
    enrol: Enrol, now: datetime, settings: Settings
) -> None:
    settings.DEVICE_CERTIFICATES = "offered"
    device, credential = enrol(at=now - 2 * FIRST_WITHIN)
    assert device_of(Shown(credential)) == device
    with pytest.raises(CertificateUnknown):
        device_of(Shown(credential, "0" * 64))
    assert device_of(shown(credential, certified(device, now))) == device
    settings.DEVICE_CERTIFICATES = "off"
    assert device_of(Shown(credential, "0" * 64)) == device
    with pytest.raises(NoCertificates):
        certified(device, now)


def test_a_device_that_is_revoked_is_refused_at_once_with_its_certificate(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    own = shown(credential, certified(device, now))
    assert device_of(own) == device
    revoke_device(device=device, now=now)
    with pytest.raises(DeviceRevoked):
        device_of(own)


def test_an_expired_one_is_refused_and_its_key_is_good_for_the_next(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    key, following = SigningKey.generate(), SigningKey.generate()
    old = certified(device, now - timedelta(days=DAYS + 1), key)
    with pytest.raises(CertificateExpired):
        device_of(shown(credential, old))
    assert device_of(shown(credential, certified(device, now, following, key))) == device
    with pytest.raises(Unproven):
        certified(device, now + APART, None, key)  # a copy of the disk from before


def test_the_first_is_given_for_a_day_where_credentials_alone_open_nothing(enrol: Enrol, now: datetime) -> None:
    device = enrol(at=now).device
    with pytest.raises(FirstTooLate):
        certified(device, now + FIRST_WITHIN + APART)
    certified(device, now + FIRST_WITHIN)


def test_a_device_is_given_one_in_ten_seconds_and_the_latest_few_are_kept(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    key, made = SigningKey.generate(), []
    for number in range(KEPT + 1):
        made.append(certified(device, now + number * APART, key))
        with pytest.raises(CertificatesTooOften):
            certified(device, now + number * APART + APART / 2, key)
    assert DeviceCertificate.objects.count() == KEPT
    with pytest.raises(CertificateUnknown):
        device_of(shown(credential, made[0]))
    assert {device_of(shown(credential, one)) for one in made[1:]} == {device}


def test_devices_that_can_are_told_to_renew_each_at_its_own_time(
    enrol: Enrol, now: datetime, settings: Settings
) -> None:
    unable, device = enrol(at=now).device, enrol(at=now).device
    says = CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=ABLE)
    assert check_in(device=device, message=says, now=now).renew_certificate
    certified(device, now)
    assert not check_in(device=device, message=says, now=now).renew_certificate
    assert not is_certificate_due(device, now=now + timedelta(days=DAYS * 0.6 - 1))
    assert is_certificate_due(device, now=now + timedelta(days=DAYS * 0.7 + 1))
    assert is_certificate_due(device, now=now + timedelta(days=DAYS * 3))
    assert not is_certificate_due(unable, now=now)
    settings.DEVICE_CERTIFICATE_DAYS = DAYS // 3
    assert is_certificate_due(device, now=now), "certificates last shorter now"
    settings.DEVICE_CERTIFICATES = "off"
    assert not is_certificate_due(device, now=now)


@pytest.mark.parametrize("damage", ["empty", "another kind of key", "unsigned"])
def test_what_is_no_request_is_refused(damage: str, enrol: Enrol, now: datetime) -> None:
    request = b""
    if damage == "another kind of key":
        builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
        request = builder.sign(ec.generate_private_key(ec.SECP256R1()), SHA256()).public_bytes(Encoding.DER)
    elif damage == "unsigned":
        request = certificate_request(SigningKey.generate())[:-64] + bytes(64)
    with pytest.raises(BadCertificateRequest):
        issue_certificate(device=enrol(at=now).device, message=AskCertificate(request=request), now=now)


class Killed(BaseException):
    """The process ends here."""


Fate = Literal["killed", "lost", "unanswered", "killed after the answer", "killed in between", "done"]
FATES: tuple[Fate, ...] = Fate.__args__  # type: ignore[attr-defined]


class TwoSides:
    """A real agent's files and a real platform, between which messages are lost, and either of which may die."""

    def __init__(self, home: Home, joined: EnrolledDevice) -> None:
        self.home, self.device, self.credential = home, joined.device, joined.credential
        self.now = timezone.now()
        self.fate: Fate = "done"

    def call(self, message: Any, _reply: type[Any]) -> Any:
        if self.fate == "killed":
            raise Killed
        if self.fate == "lost":
            raise ConnectionResetError
        answer = device_api.ask_certificate(self.device, message, self.now)
        if self.fate == "unanswered":
            raise ConnectionResetError
        if self.fate == "killed after the answer":
            raise Killed
        if self.fate == "killed in between":
            CertificateFiles(self.home).use(CertificateFiles(self.home).draw_key(), answer.chain)
            raise Killed
        return answer

    def live(self, fate: Fate) -> None:
        """One life of the agent, in which it renews its certificate as far as `fate` lets it."""
        self.fate = fate
        self.now += APART
        with suppress(Killed):
            Certifying(CertificateFiles(self.home), self).certify()

    def is_admitted(self) -> bool:
        """Whether what the device holds is taken."""
        held = x509.load_pem_x509_certificates(self.home.certificate.read_bytes())[0]
        return device_of(shown(self.credential, held)) == self.device


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "agent")
    home.create()
    yield home


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("has_one", [False, True])
def test_whichever_step_is_the_last_the_device_goes_on(fate: Fate, has_one: bool, enrol: Enrol, home: Home) -> None:
    sides = TwoSides(home, enrol(at=timezone.now()))
    if has_one:
        sides.live("done")
        assert sides.is_admitted()
    sides.live(fate)
    if has_one:
        assert sides.is_admitted()
    sides.live("done")
    assert sides.is_admitted()
    assert not home.next_certificate_key.exists()
    assert {path.stat().st_mode & 0o777 for path in home.state.glob("certificate*")} == {0o600}


def test_after_the_platform_was_restored_the_key_before_is_good(enrol: Enrol, home: Home) -> None:
    sides = TwoSides(home, enrol(at=timezone.now()))
    sides.live("done")
    kept = list(DeviceCertificate.objects.all())
    sides.live("done")
    DeviceCertificate.objects.exclude(pk__in=[row.pk for row in kept]).delete()  # as it was in the backup
    with pytest.raises(CertificateUnknown):
        sides.is_admitted()
    sides.live("done")
    assert sides.is_admitted()


def test_an_agent_whose_threads_all_notice_asks_once(enrol: Enrol, home: Home) -> None:
    sides = TwoSides(home, enrol(at=timezone.now()))
    asking = Certifying(CertificateFiles(home), sides)
    assert asking.certify()
    assert not asking.certify()


def test_in_scaled_mode_no_process_draws_a_key_of_its_own(settings: Settings) -> None:
    settings.EMBEDDED, settings.DEVICE_CA_KEY = False, ""
    with pytest.raises(CommandError, match="set COTERIE_DEVICE_CA_KEY"):
        call_command("device_authority")
    assert not (settings.STATE / "device-ca-key").exists()


def test_a_key_is_replaced_with_overlap(enrol: Enrol, now: datetime) -> None:
    device, credential = enrol(at=now)
    key = SigningKey.generate()
    first = certified(device, now, key)
    with pytest.raises(CommandError, match="--next"):
        call_command("device_authority", use_next=True)
    assert shown_authorities().count("BEGIN") == 1
    call_command("device_authority", next=True, stdout=StringIO())
    assert shown_authorities().count("BEGIN") == 2, "servers trust the next before it is used"
    second = certified(device, now + APART, key)
    assert second.issuer == first.issuer
    call_command("device_authority", use_next=True, stdout=StringIO())
    third = certified(device, now + 2 * APART, key)
    assert third.issuer != first.issuer
    former, present = x509.load_pem_x509_certificates(shown_authorities().encode())
    first.verify_directly_issued_by(former)
    third.verify_directly_issued_by(present)
    assert device_of(shown(credential, first)) == device_of(shown(credential, third)) == device
    later = now + timedelta(days=DAYS + 1)
    assert trusted_authorities(now=later).count("BEGIN") == 1, "nothing lasts that the former key has signed"
    assert {entry.action for entry in Entry.objects.filter(action__contains="authority")} == {
        "fleet.draw_device_authority",
        "fleet.use_device_authority",
    }


def shown_authorities() -> str:
    """What ``coterie device-authority`` prints."""
    told = StringIO()
    call_command("device_authority", stdout=told)
    return told.getvalue()


def test_a_key_in_the_environment_is_replaced_there(
    now: datetime, settings: Settings, tmp_path: Path, enrol: Enrol
) -> None:
    settings.DEVICE_CA_KEY = "0f" * 32
    file = tmp_path / "next"
    with pytest.raises(CommandError, match="--to"):
        call_command("device_authority", next=True)
    call_command("device_authority", next=True, to=file, stdout=StringIO())
    with pytest.raises(CommandError, match="is there already"):
        call_command("device_authority", next=True, to=file)
    with pytest.raises(CommandError, match="restart"):
        call_command("device_authority", use_next=True)
    before = present_authority(now=now).chain[0]
    settings.DEVICE_CA_KEY = file.read_text()
    made = certified(enrol(at=now).device, now)
    assert made.issuer != before.subject
    assert trusted_authorities(now=now).count("BEGIN") == 1
    assert not (tmp_path / "device-ca-key").exists()


def own_authority(tmp_path: Path) -> tuple[Path, str]:
    """An operator's: a root, and one that it has certified; the file, and the latter's key."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("Root", "Devices"))
    certificates = [
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(root)
        .public_key(public)
        .serial_number(1)
        .not_valid_before(moment)
        .not_valid_after(moment + timedelta(days=9000))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(root_key, SHA256())
        for subject, public in ((name, key.public_key()), (root, root_key.public_key()))
    ]
    file = tmp_path / "authority.pem"
    file.write_bytes(b"".join(one.public_bytes(Encoding.PEM) for one in certificates))
    return file, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def test_an_operators_own_authority_signs_and_leads_to_its_root(
    enrol: Enrol, now: datetime, settings: Settings, tmp_path: Path
) -> None:
    authority._given_authority.cache_clear()
    settings.DEVICE_CA_CERTIFICATE, settings.DEVICE_CA_KEY = own_authority(tmp_path)
    device, credential = enrol(at=now)
    ask = AskCertificate(request=certificate_request(SigningKey.generate()))
    answer = device_api.ask_certificate(device, ask, now)
    assert isinstance(answer, Certified)
    made, above = (x509.load_der_x509_certificate(one) for one in answer.chain)
    made.verify_directly_issued_by(above)
    assert device_of(shown(credential, made)) == device
    assert shown_authorities().encode() == settings.DEVICE_CA_CERTIFICATE.read_bytes()
    with pytest.raises(CommandError, match="your own"):
        call_command("device_authority", next=True)
    settings.DEVICE_CA_KEY = own_authority(tmp_path)[1].replace("A", "B")
    with pytest.raises(AuthorityUnusable):
        present_authority(now=now)
