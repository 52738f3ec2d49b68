"""How a delivery proves that it comes from this platform, and when: HMAC-SHA256 over time and body."""

import hashlib
import hmac
from datetime import datetime


def signature(secret: str, body: bytes, at: datetime) -> str:
    """Value of the header ``Coterie-Signature``: ``t=SECONDS,v1=HEX``.

    HEX is the HMAC-SHA256, keyed with the webhook's secret, of ``SECONDS.BODY``; who receives it refuses old times.
    """
    seconds = int(at.timestamp())
    digest = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"
