"""Merges of secure sums: the input with which the job unmasks one, and the summed figures of its devices."""

from pathlib import Path

from django.db.models import Sum

from coterie.cloud.averaging_job import Mask, MaskedSum, StoredBlob, SumFigures
from coterie.core.errors import CoterieError, ErrorKind
from coterie.merging.models import Merge
from coterie.secure_sums.files import vectors_of
from coterie.secure_sums.models import SecureSum
from coterie.secure_sums.selectors import members_of, revealed, shared, survivors
from coterie_learning.secure_sum.recovery import recover
from coterie_wire.errors import WireError


class SumNotRecovered(CoterieError):
    """Fields: sentence."""

    code = "merge.sum_not_recovered"
    kind = ErrorKind.INVALID
    sentence = "The sum of the masked updates cannot be recovered: {sentence}."


def masked_sum(sum_: SecureSum, directory: Path) -> MaskedSum:
    """The vectors of the survivors, and the masks on their sum. Raises SumNotRecovered."""
    found = members_of(sum_)
    alive = survivors(sum_)
    try:
        recovered = recover(found, sum_.terms(), shared=shared(sum_), survivors=alive, revealed=revealed(sum_))
    except WireError as error:
        raise SumNotRecovered(sentence=error.detail) from error
    hashes = sum_.parties.filter(place__in=alive).order_by("place").values_list("vector_sha256", flat=True)
    store = vectors_of(sum_)
    return MaskedSum(
        vectors=tuple(StoredBlob(str(store.local_path(sha256, directory)), sha256) for sha256 in hashes),
        masks=tuple(Mask(one.seed, one.is_added) for one in recovered.masks),
        digest=found.digest,
        members=len(found.members),
        seed=sum_.number,
        output=str(directory / "summed"),
    )


def summed_figures(merge: Merge, found: SumFigures) -> dict[str, float]:
    """The same figures as `coterie.merging.figures.update_figures` computes of unmasked updates."""
    assert merge.secure_sum is not None
    in_sum = merge.secure_sum.parties.filter(delivered_at__isnull=False)
    counts = {"updates": found.devices, "update_bytes": in_sum.aggregate(total=Sum("vector_bytes"))["total"]}
    measured = {
        "samples": found.samples,
        "mean_loss_before": found.loss_before,
        "mean_loss_after": found.loss_after,
        "mean_accuracy": found.accuracy_before,
    }
    return {**counts, **{name: figure for name, figure in measured.items() if figure is not None}}
