"""How a delivery proves that it comes from this platform, and when: the headers of Standard Webhooks 1.0."""

import base64
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from standardwebhooks import Webhook as Signer

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """A secret as Standard Webhooks writes one: the key in base64 behind ``whsec_``."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(secret: str, delivery: str, body: bytes, at: datetime) -> Mapping[str, str]:
    """``webhook-id``, ``webhook-timestamp`` and ``webhook-signature`` of a body (UTF-8) that is sent at `at`.

    The signature is ``v1,`` and the base64 of the HMAC-SHA256 of ``ID.SECONDS.BODY``. The id stays the same when a
    delivery is tried again; who receives it refuses times that are minutes away.
    """
    at = at.astimezone(UTC)  # the library takes the figures of other time zones for those of UTC
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Signer(secret).sign(delivery, at, body.decode()),
    }
