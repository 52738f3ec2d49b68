"""What the owner lets the device report about its data (never the data itself). Pure."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from coterie_wire.errors import UNREADABLE
from coterie_wire.helping import MAX_REPORTED_CLASSES, Profile, SampleNoise, StandingPlan
from coterie_wire.personal import ReportPersonal
from coterie_wire.structs import from_json

ReportDetail = Literal["counts", "rounded", "classes", "nothing"]
"""Counts as they are; to the nearest power of two; only which classes there are; nothing."""


class ClassFound(NamedTuple):
    """One class among the newest samples."""

    label: int
    samples: int
    hits: int


class _Help(msgspec.Struct, frozen=True):
    noise_multiplier: float = 0.0


class _SharingPlan(msgspec.Struct, frozen=True):
    """The part of a device plan that is needed here; parsing all of it would load NumPy."""

    help: _Help = _Help()


def has_profile_noise(standing: StandingPlan | None) -> bool:
    """Whether counts by class are reported only with noise; true too for a plan that cannot be read."""
    if standing is None:
        return False
    try:
        return from_json(standing.plan, _SharingPlan).help.noise_multiplier > 0
    except UNREADABLE:
        return True


def share_counts(counts: tuple[int, ...], detail: ReportDetail) -> tuple[int, ...]:
    """How many samples each class has, as the owner lets it be reported."""
    match detail:
        case "counts":
            return counts
        case "rounded":
            return tuple(map(_rounded, counts))
        case "classes":
            return tuple(min(1, count) for count in counts)
        case "nothing":
            return ()


def share_profile(
    found: Sequence[ClassFound],
    detail: ReportDetail,
    *,
    batch: int,
    drifting: bool,
    willing: bool,
    noise: SampleNoise | None = None,
) -> Profile:
    """The profile of the newest samples as the owner lets it be reported; no classes where the detail is "nothing".

    If there are more classes than a profile holds, the most frequent are reported. `noise`: the noise in `found`.
    """
    if detail == "nothing":
        return Profile(batch=batch, willing=False, noise=noise)
    frequent = sorted(found, key=lambda one: (-one.samples, one.label))[:MAX_REPORTED_CLASSES]
    shared = sorted(one for one in frequent if one.samples)
    classes = tuple(one.label for one in shared)
    counts = share_counts(tuple(one.samples for one in shared), detail)
    if detail == "classes":
        return Profile(batch=batch, classes=classes, counts=counts, drifting=drifting, willing=False, noise=noise)
    hits = tuple(
        round(count * _coarse(one.hits / one.samples, detail)) for count, one in zip(counts, shared, strict=True)
    )
    return Profile(
        batch=batch, classes=classes, counts=counts, hits=hits, drifting=drifting, willing=willing, noise=noise
    )


def share_personal(report: ReportPersonal, detail: ReportDetail) -> ReportPersonal | None:
    """`report` with the detail that the owner allows; None where no accuracy may be reported."""
    match detail:
        case "counts":
            return report
        case "rounded":
            shares = (
                None if one is None else _coarse(one, detail) for one in (report.version_accuracy, report.own_accuracy)
            )
            version, own = shares
            return msgspec.structs.replace(
                report, samples=_rounded(report.samples), version_accuracy=version, own_accuracy=own
            )
        case _:
            return None


def _rounded(count: int) -> int:
    return 1 << round(math.log2(count)) if count else 0


def _coarse(share: float, detail: ReportDetail) -> float:
    """A rounded profile has shares in steps of an eighth."""
    return round(share * 8) / 8 if detail == "rounded" else share
