"""Rounds for exporters: figures and versions, nothing about single devices."""

import math
from collections.abc import Iterator, Mapping
from typing import cast

from coterie.exports.interface import RoundFact, VersionFact
from coterie.registry.models import ModelVersion
from coterie.rounds.models import Round


def fact_of(round_: Round) -> RoundFact:
    """The facts of `round_`, which has ended."""
    assert round_.finished_at is not None, "it has ended"
    figures: dict[str, float] = {"updates": float(round_.updates_in)}
    if round_.opened_at is not None:
        figures["duration_s"] = (round_.finished_at - round_.opened_at).total_seconds()
    version = round_.result_version
    if version is not None:
        figures |= dict(_numbers(version.metrics))
    if round_.merge is not None:
        figures |= dict(_numbers(round_.merge.metrics))
    return RoundFact(
        federation=str(round_.federation_id),
        slug=round_.federation.slug,
        number=round_.number,
        state="published" if round_.state == Round.State.PUBLISHED else "abandoned",
        finished_at=round_.finished_at,
        figures=figures,
        reason=round_.reason_code if round_.state == Round.State.ABANDONED else "",
        version=None if version is None else _version(version),
    )


def _version(version: ModelVersion) -> VersionFact:
    return VersionFact(
        id=str(version.pk),
        pair=version.pair.slug,
        role=version.role,
        lineage=version.lineage,
        number=version.number,
        sha256=version.parameters.sha256,
    )


def _numbers(metrics: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """The finite numbers of stored figures, each with its own name."""
    for name, value in metrics.items():
        many = list(enumerate(cast("list[object]", value))) if isinstance(value, list) else []
        for key, one in [(f"{name}/{index}", item) for index, item in many] or [(name, value)]:
            if isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one):
                yield key, float(one)
