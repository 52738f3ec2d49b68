"""Why merges take long, and why they are abandoned: stable codes, and sentences made of figures."""

from collections.abc import Mapping

from coterie.cloud.averaging_job import NotFinite
from coterie.core.kind_failures import MEND_IT, KindFailed
from coterie_wire.conditions import Reason

MERGING = Reason("merging.merging", "the updates are being merged")
GAVE_UP = Reason("merging.gave_up", "every worker that merged the updates died")
FAILED = "merging.failed"
DAMAGED = Reason("update.damaged", "its content has another hash than when it was accepted")
"""The fault of an update that is the disk's, not its device's."""
WORSE = frozenset({"merging.worse_cloud_model", "merging.worse_than_champion"})
"""Codes of the reasons that come from held-out data."""
LEARN_LESS = "change the plan: fewer epochs, a smaller learning rate, local prox, more updates a round"
IF_WORSE = f"Allow a larger tolerance, set a patience, or {LEARN_LESS}"
IF_REPEATED: Mapping[str, str] = {
    NotFinite.code: f"{LEARN_LESS[0].upper()}{LEARN_LESS[1:]}",
    KindFailed.code: MEND_IT,
}
"""By code of a reason that the next round is likely to end with too, what to change."""
BASE_MOVED = Reason("merging.base_moved", "the champion was moved while updates were collected, so they fit no more")


def failed(problem: str) -> Reason:
    """An unexpected error of the latest attempt."""
    return Reason(FAILED, f"the latest attempt to merge the updates failed: {problem}")


def tried_again(problem: str, *, attempt: int, attempts: int, pause_s: float) -> Reason:
    """The latest attempt failed, and the next waits."""
    return Reason(
        FAILED,
        f"attempt {attempt} of {attempts} to merge the updates failed; the next is {pause_s:.0f} s from now: {problem}",
    )


def disk_full(pause_s: float) -> Reason:
    """Merging waits for free disk space."""
    return Reason("merging.disk_full", f"the disk is full; the updates stay, and are merged {pause_s:.0f} s from now")


def storage_away(problem: str, pause_s: float) -> Reason:
    """Merging waits for the file storage, which does not answer correctly."""
    return Reason(
        "merging.storage_away",
        f"the updates stay where they are, and are merged {pause_s:.0f} s from now: {problem}",
    )


def distilling(sentence: str) -> Reason:
    """The progress of a merge by distillation."""
    return Reason("merging.distilling", sentence)


def split(sentence: str) -> Reason:
    """Why this number of groups was chosen."""
    return Reason("merging.split", sentence)


def worse_cloud_model(*, candidate: float, champion: float, tolerance: float) -> Reason:
    """The cloud model that learned from the devices lost more accuracy than the federation tolerates."""
    return Reason(
        "merging.worse_cloud_model",
        f"the cloud model's accuracy is {candidate:.4f} on the held-out data against the champion's {champion:.4f}, "
        f"and {tolerance:.4f} is the most that may be lost",
    )


def worse_than_champion(*, candidate: float, champion: float, tolerance: float) -> Reason:
    """The merged model lost more accuracy than the federation tolerates."""
    return Reason(
        "merging.worse_than_champion",
        f"accuracy {candidate:.4f} on the held-out data against the champion's {champion:.4f}, "
        f"and {tolerance:.4f} is the most that may be lost",
    )


def larger_loss_than_champion(*, candidate: float, champion: float, tolerance: float) -> Reason:
    """The merged model, whose task has no accuracy, has a larger loss than the federation tolerates."""
    return Reason(
        "merging.worse_than_champion",
        f"loss {candidate:.4g} on the held-out data against the champion's {champion:.4g}, "
        f"and {tolerance:.2%} more is the most that is tolerated",
    )
