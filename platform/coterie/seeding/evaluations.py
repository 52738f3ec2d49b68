"""Versions as devices evaluated them: the champion and those before it, and one that is being measured."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import msgspec

from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet_evaluation import reasons
from coterie.fleet_evaluation.models import Evaluation, Part
from coterie.fleet_evaluation.summary import EvaluationFigures, by_tag, summarise
from coterie.registry.models import ModelVersion

MEASURED = 6
"""Versions before the champion that were evaluated, every other one."""
SAMPLE = 40
TOLD = 0.6
"""Share of a sample that has told while it is being measured."""
WITHIN_S = 24 * 3600


def evaluate_versions(federation: Federation, champion: ModelVersion, members: Sequence[Device]) -> None:
    """Finished ones of versions before the champion, and of the champion itself one that is under way."""
    random = Random(f"evaluations of {federation.slug}")  # noqa: S311 - of examples
    measured: ModelVersion | None = champion
    for place in range(MEASURED):
        if measured is None or not members:
            return
        if place % 2 == 0:
            _evaluate(federation, measured, members, random, is_over=place > 0)
        measured = measured.parent


def _evaluate(
    federation: Federation, version: ModelVersion, members: Sequence[Device], random: Random, *, is_over: bool
) -> None:
    asked = random.sample(list(members), min(SAMPLE, len(members)))
    begun_at = version.created_at + timedelta(minutes=1)
    telling = len(asked) if is_over else round(TOLD * len(asked))
    parts = [
        _part(device, version, begun_at, random) if place < telling else Part(device=device)
        for place, device in enumerate(asked)
    ]
    told = [found for part in parts if (found := part.reported_figures()) is not None]
    figures = EvaluationFigures(len(asked), len(told), 0, summarise(told), by_tag(told))
    if is_over and figures.summary is not None:
        state, reason = Evaluation.State.FINISHED, reasons.measured(figures.summary)
    else:
        state, reason = Evaluation.State.MEASURING, reasons.measuring(devices=len(asked), reports=len(told))
    evaluation = Evaluation.objects.create(
        federation=federation,
        version=version,
        devices_wanted=SAMPLE,
        reports_needed=1,
        within_s=WITHIN_S,
        state=state,
        reason_code=reason.code,
        reason_sentence=reason.sentence,
        created_at=version.created_at,
        begun_at=begun_at,
        due_at=begun_at + timedelta(seconds=WITHIN_S),
        ended_at=begun_at + timedelta(minutes=50) if is_over else None,
        figures=msgspec.to_builtins(figures),
    )
    for part in parts:
        part.evaluation = evaluation
    Part.objects.bulk_create(parts)


def _part(device: Device, version: ModelVersion, begun_at: datetime, random: Random) -> Part:
    """The figures of a device: most are a little worse than on the platform's samples, a few much worse."""
    usual = random.gauss(-0.03, 0.03) if random.random() > 0.1 else random.gauss(-0.2, 0.05)
    accuracy = min(0.99, max(0.2, version.metrics.get("accuracy", 0.8) + usual))
    return Part(
        device=device,
        reported_at=begun_at + timedelta(minutes=random.uniform(0.5, 45)),
        samples=random.choice((32, 64, 96, 128)),
        loss=2.1 * (1 - accuracy) + 0.1,
        accuracy=accuracy,
    )
