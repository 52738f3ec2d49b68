"""Certificates of devices' connections: who is issued one, and when the next is due (ADR 111).

Each is issued for a key that the device has drawn, and after the first only with a signature of a former key: whoever
has stolen a credential gets none. The platform stores their hashes, and a connection's certificate must have one of
them, so that only devices are revoked, never certificates.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from django.conf import settings
from django.db.models import Q
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from coterie.audit.recording import audited
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.events import notify_consoles
from coterie.fleet.authority import present_authority
from coterie.fleet.models import Device, DeviceCertificate
from coterie_wire.certificates import AskCertificate, proven_content

FIRST_WITHIN = timedelta(days=1)
"""Where certificates are required: how long after joining a device gets its first with its credential alone."""
KEPT = 3
"""How many of a device's latest certificates are stored."""
APART_S = 10
"""Least seconds between two certificates of a device."""
LEFT_SHARE = (0.3, 0.4)
"""Share of the period that is left when devices renew: each its own, so that a fleet that joined in a day does not
renew in one."""


class NoCertificates(CoterieError):
    """A device asks for a certificate where the platform issues none."""

    code = "fleet.certificates_off"
    kind = ErrorKind.CONFLICT
    sentence = "This platform gives no certificates; its operator would have to set COTERIE_DEVICE_CERTIFICATES."


class BadCertificateRequest(CoterieError):
    """Fields: problem."""

    code = "fleet.bad_certificate_request"
    kind = ErrorKind.INVALID
    sentence = "This is no PKCS #10 request, signed with an Ed25519 key of its own: {problem}."


class Unproven(CoterieError):
    """The request has a device's credential without a signature of its key."""

    code = "fleet.certificate_unproven"
    kind = ErrorKind.FORBIDDEN
    sentence = (
        "This device had a certificate, and the request is not signed with its key. "
        "Where the key is lost, leave and join again."
    )


class FirstTooLate(CoterieError):
    """A device without a certificate asks for its first where credentials alone open nothing."""

    code = "fleet.first_certificate_late"
    kind = ErrorKind.FORBIDDEN
    sentence = (
        "This device joined more than a day ago and has no certificate, without which this platform takes nothing: "
        "join again, or have its operator set COTERIE_DEVICE_CERTIFICATES to offered for a while."
    )


class CertificatesTooOften(CoterieError):
    """Fields: wait_s."""

    code = "fleet.certificates_too_often"
    kind = ErrorKind.THROTTLED
    sentence = "This device has just been given another certificate; use that one, or wait {wait_s} s."


def are_issued() -> bool:
    """Whether the platform issues certificates."""
    return bool(settings.DEVICE_CERTIFICATES != "off")


def is_certificate_due(device: Device, *, now: datetime) -> bool:
    """Whether the device should ask for one: its agent can, and the last is missing, ends soon, or lasts longer than
    certificates do now."""
    if not are_issued() or "certifies" not in device.capabilities:
        return False
    if device.certificate_until is None:
        return True
    shortest, longest = LEFT_SHARE
    share = shortest + (longest - shortest) * (device.pk.int % 1000) / 1000
    left = device.certificate_until - now
    return not _period() * share < left <= _period()


def has_certificate() -> Q:
    """The filter for devices that have been issued a certificate."""
    return Q(certificate_until__isnull=False)


@audited("fleet.issue_certificate", subject="device")
def issue_certificate(*, device: Device, message: AskCertificate, now: datetime) -> Sequence[bytes]:
    """The certificate of the key in the request (DER), and those that lead from it to its root.

    Raises NoCertificates, BadCertificateRequest, FirstTooLate, Unproven, CertificatesTooOften or AuthorityUnusable.
    """
    if not are_issued():
        raise NoCertificates
    public_key = _requested_key(message.request)
    Device.objects.select_for_update(no_key=True).get(pk=device.pk)
    last = DeviceCertificate.objects.filter(device=device).order_by("issued_at", "pk").last()
    _check_entitled(device, last, public_key, message, now)
    if last is not None and (passed_s := (now - last.issued_at).total_seconds()) < APART_S:
        raise CertificatesTooOften(wait_s=max(1, round(APART_S - passed_s)))
    authority = present_authority(now=now)
    until = (now + _period()).replace(microsecond=0)
    certificate = authority.certify(public_key, device=device.pk, now=now, until=until)
    DeviceCertificate.objects.create(
        device=device,
        sha256=certificate.fingerprint(SHA256()).hex(),
        public_key=public_key.public_bytes_raw().hex(),
        authority=authority.row,
        issued_at=now,
        until=until,
    )
    kept = DeviceCertificate.objects.filter(device=device).order_by("-issued_at", "-pk").values_list("pk", flat=True)
    DeviceCertificate.objects.filter(device=device).exclude(pk__in=list(kept[:KEPT])).delete()
    device.certificate_until = until
    device.save(update_fields=["certificate_until"])
    notify_consoles("fleet")
    chain = authority.chain[:-1] if _is_root(authority.chain[-1]) else authority.chain
    return [one.public_bytes(Encoding.DER) for one in (certificate, *chain)]


def _check_entitled(
    device: Device,
    last: DeviceCertificate | None,
    public_key: Ed25519PublicKey,
    message: AskCertificate,
    now: datetime,
) -> None:
    """Raises FirstTooLate or Unproven."""
    if last is None:
        if settings.DEVICE_CERTIFICATES == "required" and now > device.enrolled_at + FIRST_WITHIN:
            raise FirstTooLate
        return
    if public_key.public_bytes_raw().hex() == last.public_key:
        return  # the answer was lost: the request itself is signed with the key of the last
    if not any(_is_by(last.public_key, proof, message.request) for proof in message.proofs):
        raise Unproven


def _is_by(public_key: str, proof: bytes, request: bytes) -> bool:
    try:
        VerifyKey(bytes.fromhex(public_key)).verify(proven_content(request), proof)
    except BadSignatureError:
        return False
    return True


def _requested_key(request: bytes) -> Ed25519PublicKey:
    """Raises BadCertificateRequest."""
    try:
        read = x509.load_der_x509_csr(request)
        is_signed, key = read.is_signature_valid, read.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadCertificateRequest(problem=str(error)[:200] or "it cannot be read") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadCertificateRequest(problem="the key is of another kind")
    if not is_signed:
        raise BadCertificateRequest(problem="its signature is not by its key")
    return key


def _is_root(certificate: x509.Certificate) -> bool:
    return certificate.subject == certificate.issuer


def _period() -> timedelta:
    return timedelta(days=settings.DEVICE_CERTIFICATE_DAYS)
