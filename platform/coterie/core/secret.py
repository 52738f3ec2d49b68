"""Secrets that the platform makes for itself once and keeps in a file that only its user can read."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def load_or_make(path: Path, *, size_bytes: int) -> bytes:
    """The secret in `path`; created there with mode 0600 if there is none yet.

    Several processes may call it at the same time: all get the secret written first, and none reads a part of it.
    """
    with suppress(FileNotFoundError):
        return path.read_bytes()
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        write_secret(draft, secrets.token_bytes(size_bytes))
        with suppress(FileExistsError):  # unlike a rename, a link never replaces the file that came first
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
    return path.read_bytes()


def write_secret(path: Path, content: bytes) -> None:
    """Write a new file that only its user can read, durable when this returns; replaces an existing file."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
