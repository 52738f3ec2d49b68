"""The platform's Ed25519 key: devices pin its public half and refuse a manifest that it did not sign."""

from functools import cache
from pathlib import Path

from django.conf import settings

from coterie.core.secret import load_or_make
from coterie_wire.bundle import verify_key_of

SEED_BYTES = 32


def signing_key() -> bytes:
    """Seed of the key, 32 bytes: from the environment, else from the state directory, made at first use."""
    configured: str = settings.SIGNING_KEY
    if configured:
        return bytes.fromhex(configured)
    return _kept_key(settings.STATE / "signing-key")


def verify_key() -> bytes:
    """The public half, 32 bytes."""
    return verify_key_of(signing_key())


@cache
def _kept_key(path: Path) -> bytes:
    return load_or_make(path, size_bytes=SEED_BYTES)
