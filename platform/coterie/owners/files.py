"""Files of a device that is forgotten: named in the transaction that removes its rows, and removed after it."""

from uuid import UUID

import msgspec
from django.db import transaction

from coterie.merging.files import updates_of
from coterie.merging.models import Partial, Update
from coterie.rounds.files import UPLOADS
from coterie.rounds.models import Round, Upload
from coterie.rounds.selectors import active_round
from coterie.secure_sums.files import VECTORS
from coterie.secure_sums.models import SecureSum
from coterie.secure_sums.services import discard_contents
from coterie_wire.structs import from_values


class Leftover(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is to be removed; removing it is idempotent."""

    cohort: int = 0
    sha256: str = ""
    """An update of the cohort; blank: all files of the cohort, whose round is not merged any more."""
    arriving: UUID | None = None
    """Instead, an assignment of which an update or a masked vector may be arriving."""


def remove(leftover: Leftover) -> bool:
    """Whether it is gone now, or belongs to another device; False: another device may still be sending the same."""
    if leftover.arriving is not None:
        UPLOADS.discard(leftover.arriving)
        VECTORS.discard(leftover.arriving)
        return True
    if not leftover.sha256:
        updates_of(leftover.cohort).clear()
        for sum_ in SecureSum.objects.filter(cohort=leftover.cohort):
            discard_contents(sum_)
        return True
    return _remove_update(leftover.cohort, leftover.sha256)


@transaction.atomic
def _remove_update(cohort: int, sha256: str) -> bool:
    """Equal content of several devices is stored once. Locks the rounds, so that none offers the same meanwhile."""
    round_ = (
        Round.objects.select_for_update(of=("self",), no_key=True)
        .select_related("federation")
        .filter(pk=cohort)
        .first()
    )
    if round_ is not None and round_.carries_on:
        active_round(round_.federation, lock=True)
    same = {"cohort": cohort, "sha256": sha256}
    if Update.objects.filter(**same, partial=None).exists() or Partial.objects.filter(**same).exists():
        return True
    if Upload.objects.filter(assignment__round=cohort, sha256=sha256).exists():
        return False
    updates_of(cohort).delete(sha256)
    return True


def leftovers(values: object) -> tuple[Leftover, ...]:
    """The leftovers stored in a row."""
    return from_values(values, tuple[Leftover, ...])
