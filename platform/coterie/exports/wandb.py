"""Rounds as steps of runs of Weights & Biases: sent to its server, or written for ``wandb sync`` to send."""

from collections.abc import Sequence
from importlib.util import find_spec

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from coterie.child.errors import Crashed, DiskFull, OutOfMemory, OutOfTime
from coterie.child.run import run_child
from coterie.exports.errors import NotTaken
from coterie.exports.interface import RoundFact
from coterie.exports.wandb_job import JOB, LIMITS, Rounds, WandbProject


class WeightsAndBiases:
    """One project."""

    def __init__(self, place: WandbProject) -> None:
        self._place = place

    def export(self, rounds: Sequence[RoundFact]) -> None:
        """Log them, each in the run of its federation. Raises NotTaken."""
        try:
            run_child(JOB, Rounds(tuple(rounds), self._place), limits=LIMITS)
        except (Crashed, DiskFull, OutOfMemory, OutOfTime) as error:
            raise NotTaken(exporter="wandb", why=str(error)) from error


def exporter() -> WeightsAndBiases:
    """That of the settings. Raises ImproperlyConfigured."""
    if find_spec("wandb") is None:
        raise ImproperlyConfigured("COTERIE_EXPORTERS: 'wandb' needs coterie[wandb]")
    if settings.WANDB_MODE == "online" and not settings.WANDB_KEY:
        raise ImproperlyConfigured(
            "COTERIE_EXPORTERS: wandb needs COTERIE_WANDB_KEY, or COTERIE_WANDB_MODE=offline, which sends nothing"
        )
    return WeightsAndBiases(
        WandbProject(
            folder=str(settings.WANDB_DIR),
            mode=settings.WANDB_MODE,
            project=settings.WANDB_PROJECT,
            entity=settings.WANDB_ENTITY,
            url=settings.WANDB_URL,
            key=settings.WANDB_KEY,
        )
    )
