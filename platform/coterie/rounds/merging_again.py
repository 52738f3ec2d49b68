"""Merging an abandoned round again, at an operator's request, while its updates are still stored."""

from datetime import datetime

from coterie.audit.recording import audited
from coterie.federations.models import Federation
from coterie.merging.models import Merge
from coterie.merging.reasons import MERGING
from coterie.merging.transitions import begin_again
from coterie.registry.models import Role
from coterie.registry.selectors import champion
from coterie.rounds.errors import NothingToMerge
from coterie.rounds.models import Round
from coterie.rounds.transitions import step


def why_not_again(round_: Round) -> str | None:
    """Why the round cannot be merged again; None: it can."""
    merge = round_.merge
    if round_.state != Round.State.ABANDONED or merge is None:
        return "it was not abandoned over its merge"
    if round_.tidied_at is not None:
        return "its updates have been removed"
    if merge.secure_sum_id is None and round_.updates_in and not merge.updates.exists():
        return "its devices were forgotten"
    if champion(merge.base_version.pair_id, Role.DEVICE, merge.base_version.lineage) != merge.base_version:
        return "another version is in use since, which its updates do not fit"
    later = Round.objects.filter(federation=round_.federation_id, state__in=Round.ACTIVE).first()
    if later is not None and later.state != Round.State.PLANNED:
        return f"round {later.number} is under way; pause the federation and wait for its end"
    return None


@audited("rounds.merge_again", subject="round_")
def merge_again(*, round_: Round, now: datetime) -> None:
    """Merge the updates of an abandoned round; a planned round is deleted and planned again. Raises NothingToMerge."""
    Federation.objects.select_for_update(no_key=True).get(pk=round_.federation_id)
    locked = (
        Round.objects.select_for_update(of=("self",), no_key=True)
        .select_related("merge__base_version")
        .get(pk=round_.pk)
    )
    problem = why_not_again(locked)
    if problem is not None:
        raise NothingToMerge(round=locked.number, problem=problem)
    Round.objects.filter(federation=locked.federation_id, state=Round.State.PLANNED).delete()
    merge = locked.merge
    assert merge is not None, "what can be merged again has a merge"
    assert merge.state == Merge.State.ABANDONED, "a round is abandoned over its merge when that is"
    begin_again(merge, now=now)
    step(locked, Round.State.MERGING, reason=MERGING, now=now, finished_at=None)
