"""Where the labels of a federation's devices come from, and how often owners were asked for them."""

from dataclasses import dataclass

from django.db.models import BigIntegerField, Count, Q, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from coterie.federations.models import Federation
from coterie.federations.selectors import members


@dataclass(frozen=True)
class Labels:
    """Sums over its members' latest reports."""

    telling: int
    """Devices that report more than that their samples came with labels."""
    given: int
    asked: int
    implied: int
    """Samples by who said their label."""
    unlabelled: int
    """Samples without one."""
    questions: int
    """That owners were asked since their devices have their stores."""
    answers: int
    """Of these."""


def labels_of(federation: Federation) -> Labels:
    """In one query. A device that reports nothing about labels counts as having all of them given."""
    found = members(federation).aggregate(
        telling=Count("pk", filter=Q(metadata__has_key="labels")),
        samples=_sum("metadata__samples"),
        asked=_sum("metadata__labels__asked"),
        implied=_sum("metadata__labels__implied"),
        unlabelled=_sum("metadata__labels__unlabelled"),
        questions=_sum("metadata__labels__questions"),
        answers=_sum("metadata__labels__answers"),
    )
    return Labels(given=max(0, found.pop("samples") - found["asked"] - found["implied"]), **found)


def _sum(path: str) -> Coalesce:
    return Coalesce(Sum(Cast(KT(path), BigIntegerField())), 0)
