"""Bring a model to a platform from a script or a notebook: ``from coterie import sdk`` (install ``coterie[sdk]``)."""

from coterie.offline.check import Checked
from coterie.sdk.checking import check
from coterie.sdk.errors import JobFailed, Refused, Rejected, SdkError, Unreachable
from coterie.sdk.federation import Federation
from coterie.sdk.platform import Platform, connect
from coterie.sdk.records import Dataset, Pair, Round
from coterie_wire.length import Length

__all__ = [
    "Checked",
    "Dataset",
    "Federation",
    "JobFailed",
    "Length",
    "Pair",
    "Platform",
    "Refused",
    "Rejected",
    "Round",
    "SdkError",
    "Unreachable",
    "check",
    "connect",
]
