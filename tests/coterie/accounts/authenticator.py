"""An authenticator app: the code that it shows, computed as RFC 6238 says and not by the library under test."""

import hmac
import struct
from datetime import datetime

from django.utils import timezone

from coterie.accounts.models import SecondFactor


def code_of(factor: SecondFactor, *, at: datetime | None = None) -> str:
    """Six digits, of this moment or another."""
    step = int((at or timezone.now()).timestamp()) // 30
    digest = hmac.digest(bytes(factor.secret), struct.pack(">Q", step), "sha1")
    begin = digest[-1] & 15
    (number,) = struct.unpack(">I", digest[begin : begin + 4])
    return f"{(number & 0x7FFFFFFF) % 10**6:06d}"
