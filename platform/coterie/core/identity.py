"""The platform's Ed25519 key: devices pin its public half and refuse a manifest that it did not sign."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from coterie.core.secret import load_or_make
from coterie_wire.bundle import verify_key_of

SEED_BYTES = 32


def signing_key() -> bytes:
    """Seed of the key, 32 bytes: from the environment, else from the state directory, created at first use.

    A key that has replaced the file's is used from the next call on, in every process.
    """
    configured: str = settings.SIGNING_KEY
    if configured:
        return bytes.fromhex(configured)
    path = signing_key_file()
    try:
        written_at_ns = path.stat().st_mtime_ns
    except FileNotFoundError:
        return load_or_make(path, size_bytes=SEED_BYTES)
    return _read_key(path, written_at_ns)


def verify_key() -> bytes:
    """The public half, 32 bytes."""
    return _public_half(signing_key())


def signing_key_file() -> Path:
    """Path of the key's file, unless the environment has the key."""
    state: Path = settings.STATE
    return state / "signing-key"


@lru_cache(maxsize=2)
def _public_half(key: bytes) -> bytes:
    return verify_key_of(key)


@lru_cache(maxsize=1)
def _read_key(path: Path, _written_at_ns: int) -> bytes:
    return path.read_bytes()
