"""The authority that signs devices' certificates, whose key is stored like the signing key (ADR 111)."""

from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias
from uuid import UUID

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.conf import settings
from django.db.models import Q

from coterie.audit.recording import audited
from coterie.core.disk import sync_directory
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.secret import load_or_make, write_secret
from coterie.fleet.models import DeviceAuthority, DeviceCertificate

LIFE = timedelta(days=20 * 365)
"""Validity of the platform's self-signed certificate."""
BACKDATED = timedelta(hours=1)
"""Certificates become valid this long before they are issued, because clocks differ."""
SEED_BYTES = 32
SigningKey: TypeAlias = Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey


class AuthorityUnusable(CoterieError):
    """Fields: problem."""

    code = "fleet.device_authority_unusable"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The platform cannot sign certificates for devices: {problem}. Its operator must correct that."


class NoNextAuthority(CoterieError):
    """The platform has no key that follows the current one."""

    code = "fleet.no_next_device_authority"
    kind = ErrorKind.CONFLICT
    sentence = "There is no next key yet; draw one with: coterie device-authority --next"


class Authority(NamedTuple):
    """The key and certificates that sign devices' certificates."""

    key: SigningKey
    chain: tuple[x509.Certificate, ...]
    """Its own certificate, then those that lead from it to its root."""
    row: DeviceAuthority | None
    """Null: an operator's own."""

    def certify(
        self, public_key: Ed25519PublicKey, *, device: UUID, now: datetime, until: datetime
    ) -> x509.Certificate:
        """A certificate of a device's key, for TLS clients; it names the device."""
        issuer = self.chain[0]
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(device))]))
            .issuer_name(issuer.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACKDATED)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(device.urn)]), critical=False)
            .add_extension(_key_identifier(issuer, self.key), critical=False)
        )
        return made.sign(self.key, None if isinstance(self.key, Ed25519PrivateKey) else SHA256())


def present_authority(*, now: datetime) -> Authority:
    """The authority that signs now. Raises AuthorityUnusable."""
    if settings.DEVICE_CA_CERTIFICATE is not None:
        return _given_authority(settings.DEVICE_CA_CERTIFICATE, settings.DEVICE_CA_KEY)
    key = Ed25519PrivateKey.from_private_bytes(_own_seed())
    row = _recorded(key, now=now)
    return Authority(key, (x509.load_pem_x509_certificate(row.certificate.encode()),), row)


def trusted_authorities(*, now: datetime) -> str:
    """The certificates (PEM) with which a server verifies devices': the current authority's, the next one's, and those
    of former ones as long as something that they signed is valid. Raises AuthorityUnusable."""
    present = present_authority(now=now)
    if present.row is None:
        return "".join(_pem(certificate) for certificate in present.chain)
    lasting = DeviceCertificate.objects.filter(until__gt=now).order_by().values("authority")
    rows = DeviceAuthority.objects.filter(Q(pk__gte=present.row.pk) | Q(pk__in=lasting)).order_by("pk")
    return "".join(row.certificate for row in rows)


@audited("fleet.draw_device_authority")
def draw_next_authority(*, write_to: Path, now: datetime) -> DeviceAuthority:
    """Draw the key that will sign after the current one, write it to the new file `write_to` and record its
    certificate, so that servers trust it before anything is signed with it.

    The file is as the platform reads it: hexadecimal digits where the environment has the key.
    """
    present_authority(now=now)  # recorded before what follows it
    key = Ed25519PrivateKey.generate()
    seed = key.private_bytes_raw()
    write_secret(write_to, seed.hex().encode("ascii") if settings.DEVICE_CA_KEY else seed)
    return _recorded(key, now=now)


@audited("fleet.use_device_authority")
def use_next_authority(*, now: datetime) -> DeviceAuthority:
    """Sign with the key that `draw_next_authority` has drafted in the state directory, in every process from its next
    certificate on. Raises NoNextAuthority."""
    draft = draft_of_next_authority()
    if not draft.exists():
        raise NoNextAuthority
    draft.replace(_own_key_file())
    sync_directory(draft.parent)
    return _recorded(Ed25519PrivateKey.from_private_bytes(_own_seed()), now=now)


def draft_of_next_authority() -> Path:
    """The file of the next key while servers are told to trust it, unless the environment has the keys."""
    return _own_key_file().with_name("device-ca-key.next")


def _recorded(key: Ed25519PrivateKey, *, now: datetime) -> DeviceAuthority:
    """The row of a key of the platform's own, with the certificate that was made at its first use."""
    public = key.public_key().public_bytes_raw().hex()
    row = DeviceAuthority.objects.filter(public_key=public).first()
    if row is None:
        certificate = _pem(_signed_by_itself(key, called=f"Coterie devices {public[:8]}", now=now))
        row, _ = DeviceAuthority.objects.get_or_create(
            public_key=public, defaults={"certificate": certificate, "made_at": now}
        )
    return row


def _signed_by_itself(key: Ed25519PrivateKey, *, called: str, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, None)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _key_identifier(issuer: x509.Certificate, key: SigningKey) -> x509.AuthorityKeyIdentifier:
    """The identifier by which the issuer's certificate names its key, so that a verifier finds it."""
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


@lru_cache(maxsize=1)
def _given_authority(file: Path, key: str) -> Authority:
    """The authority of the operator. Raises AuthorityUnusable."""
    try:
        chain = tuple(x509.load_pem_x509_certificates(file.read_bytes()))
        private = load_pem_private_key(key.encode(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AuthorityUnusable(problem=f"{file} and COTERIE_DEVICE_CA_KEY: {error}") from error
    if not isinstance(private, Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey):
        raise AuthorityUnusable(problem="COTERIE_DEVICE_CA_KEY is neither an RSA, an ECDSA nor an Ed25519 key")
    if private.public_key() != chain[0].public_key():
        raise AuthorityUnusable(problem=f"COTERIE_DEVICE_CA_KEY is not the key of the first certificate in {file}")
    return Authority(private, chain, None)


def _own_seed() -> bytes:
    configured: str = settings.DEVICE_CA_KEY
    return bytes.fromhex(configured) if configured else load_or_make(_own_key_file(), size_bytes=SEED_BYTES)


def _own_key_file() -> Path:
    state: Path = settings.STATE
    return state / "device-ca-key"


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")
