"""Figures that devices report of their personal models, and their summary over a federation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from coterie.evaluation.device_accuracy import device_accuracy
from coterie.federations.models import Federation
from coterie.federations.selectors import federations_by_device
from coterie.fleet.models import Device
from coterie.transfer.errors import NoPersonalModels, NotAMember
from coterie.transfer.models import PersonalFigures
from coterie_learning.plan import Plan
from coterie_wire.personal import ReportPersonal

TENTHS = 10
TrainedWhen = Literal["between rounds", "in rounds"]


def record_personal_figures(*, device: Device, report: ReportPersonal, now: datetime) -> None:
    """Store the figures of the device's personal model, in place of those it reported before.

    Raises NotAMember or NoPersonalModels.
    """
    followed = federations_by_device([device])[device.pk]
    federation = next((one for one in followed if one.slug == report.federation), None)
    if federation is None:
        raise NotAMember(federation=report.federation)
    if trained_when(federation.parsed_plan()) is None:
        raise NoPersonalModels(federation=report.federation)
    PersonalFigures.objects.update_or_create(
        federation=federation,
        device=device,
        defaults={
            "version": report.version,
            "answers": report.answers,
            "samples": report.samples,
            "version_accuracy": report.version_accuracy,
            "own_accuracy": report.own_accuracy,
            "updated_at": now,
        },
    )


def trained_when(plan: Plan) -> TrainedWhen | None:
    """When devices train personal models; None: under this plan they have none, or report nothing of them."""
    if plan.personal.rules(plan.local) is not None:
        return "between rounds"
    return "in rounds" if plan.local.trains_personal_model() else None


@dataclass(frozen=True)
class Spread:
    """Accuracies over devices, each counted once."""

    median: float
    worst_decile: float
    """Mean of the worst tenth, of one device at least."""
    tenths: tuple[int, ...]
    """Devices with an accuracy of 0 to 0.1, 0.1 to 0.2, … 0.9 to 1."""


@dataclass(frozen=True)
class PersonalModels:
    """A federation's personal models."""

    trained: TrainedWhen | None
    """When devices train them; None: they have none under its plan."""
    count: int
    """Devices that have reported."""
    answering: int
    """Devices whose personal model makes the predictions."""
    answers: Spread | None
    """Of the model that makes the predictions; None: no device reports accuracies."""
    version: Spread | None
    """Of the version, on the same devices and samples."""


def personal_models_of(federation: Federation) -> PersonalModels:
    """Summary of what its current members have last reported."""
    reported = PersonalFigures.objects.filter(federation=federation, device__state=Device.State.ENROLLED)
    rows = list(reported.values_list("answers", "own_accuracy", "version_accuracy"))
    both = [(own, version) for _, own, version in rows if own is not None and version is not None]
    return PersonalModels(
        trained=trained_when(federation.parsed_plan()),
        count=len(rows),
        answering=sum(answers for answers, _, _ in rows),
        answers=_spread([own for own, _ in both]),
        version=_spread([version for _, version in both]),
    )


def _spread(accuracies: Sequence[float]) -> Spread | None:
    if not accuracies:
        return None
    tenths = [0] * TENTHS
    for accuracy in accuracies:
        tenths[min(TENTHS - 1, int(accuracy * TENTHS))] += 1
    found = device_accuracy(accuracies)
    return Spread(found.median, found.worst_decile, tuple(tenths))
