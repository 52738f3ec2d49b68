"""Figures of a round over what its devices measured."""

from collections.abc import Mapping

from django.db.models import F, FloatField, Sum
from django.db.models.functions import Cast

from coterie.cloud import averaging_job, distill_merge_job
from coterie.registry.models import Metric
from coterie.rounds.models import Round, Update

MEANS = {"mean_loss_before": "loss_before", "mean_loss_after": "loss_after", "mean_accuracy": "accuracy_before"}
"""What devices measured on their own samples: figure of a round by column of an update."""
ROUNDING = 1e-9
"""Accuracies are quotients of counts; a loss of exactly the tolerance must not fail by rounding."""


def update_figures(round_: Round, *, samples: int) -> dict[str, float]:
    """Samples, bytes, and means over devices, weighted by samples; `samples` is the sum of them."""
    totals = Update.objects.filter(assignment__round=round_).aggregate(
        all_bytes=Sum("size_bytes"),
        **{name: Sum(F(column) * Cast("samples", FloatField())) for name, column in MEANS.items()},
    )
    return {
        "samples": samples,
        "update_bytes": totals["all_bytes"],
        **{name: totals[name] / samples for name in MEANS if totals[name] is not None},
    }


def by_class(quality: averaging_job.Quality | distill_merge_job.Quality | None) -> Mapping[str, Metric]:
    """The accuracy of each class as a metric of a version, where it was measured."""
    return {} if quality is None or not quality.class_accuracy else {"class_accuracy": quality.class_accuracy}
