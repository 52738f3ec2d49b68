"""Secrets that others hold: shown once when they are made, kept here as a hash only."""

import hashlib
import re
import secrets


def new_secret(prefix: str) -> str:
    """`prefix`, which tells people and secret scanners what it is, and 256 random bits."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def is_drawn_credential(text: str) -> bool:
    """Whether `text` reads as a credential that a device has drawn itself: 256 random bits."""
    return re.fullmatch(r"cod_[A-Za-z0-9_-]{43}", text) is not None


def hash_secret(secret: str) -> str:
    """SHA-256 in hexadecimal.

    The time of a look-up by it reveals nothing of the secret: nobody can choose inputs with a given hash.
    A slow hash, as for passwords, is not needed for 256 random bits.
    """
    return hashlib.sha256(secret.encode()).hexdigest()
