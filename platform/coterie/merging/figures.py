"""Figures of a merge over what its devices measured."""

from collections.abc import Collection, Mapping
from uuid import UUID

from django.db.models import F, FloatField, Sum
from django.db.models.functions import Cast
from msgspec import to_builtins

from coterie.merging.candidates import Quality
from coterie.merging.models import Merge
from coterie.registry.models import Metric

MEANS = {"mean_loss_before": "loss_before", "mean_loss_after": "loss_after", "mean_accuracy": "accuracy_before"}
"""What devices measured on their own samples: figure of a merge by column of an update."""


def update_figures(merge: Merge, left_out: Collection[UUID] = ()) -> dict[str, float]:
    """Updates, samples, bytes, and means over devices, weighted by samples; of those updates that were not left out."""
    counted = merge.updates.exclude(pk__in=left_out)
    totals = counted.aggregate(
        all_samples=Sum("samples"),
        all_bytes=Sum("size_bytes"),
        **{name: Sum(F(column) * Cast("samples", FloatField())) for name, column in MEANS.items()},
    )
    samples = totals["all_samples"]
    return {
        "updates": counted.count(),
        **({"left_out": len(left_out)} if left_out else {}),
        "samples": samples,
        "update_bytes": totals["all_bytes"],
        **{name: totals[name] / samples for name in MEANS if totals[name] is not None},
    }


def by_class(quality: Quality | None) -> Mapping[str, Metric]:
    """The accuracy of each class and the confusions, as metrics of a version, where they were measured."""
    if quality is None or not quality.class_accuracy:
        return {}
    confusion = {} if quality.confusion is None else {"confusion": to_builtins(quality.confusion)}
    return {"class_accuracy": quality.class_accuracy, **confusion}
