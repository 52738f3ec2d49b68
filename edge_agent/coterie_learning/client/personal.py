"""A device's personal model beside the version: its training, and which model answers afterwards.

The samples held out are always the same (`coterie_learning.client.order.split`), and rounds do not train on them
either: models are compared on samples that none of them was trained on by this device.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from coterie_learning.client.optimisation import OpenSteps, Optimisation
from coterie_learning.client.order import HELD_OUT_SHARE, SampleSplit, split, steps_per_epoch
from coterie_learning.client.training import Checkpoint, Training
from coterie_learning.local import ANCHOR, Local, StepScalars, Stopping
from coterie_learning.metrics import Float64, SampleFigures
from coterie_learning.personal import PersonalRules
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors


@dataclass(frozen=True, kw_only=True)
class GivenPersonal:
    """The inputs of one training of a personal model; they stay the same until its end, however often it pauses."""

    rules: PersonalRules
    model: ModelSpec
    received: Tensors
    """The tensors of the version."""
    personal: Tensors | None
    """The tensors of the personal model, where there is one."""
    ids: Sequence[int]
    """Numbers of the device's samples, ascending; enough to hold some out."""
    seed: int


class _PlainSteps(Local, frozen=True, tag="plain_steps"):
    """Descent with the same scalars in every step; not a kind that a plan can name."""

    every_step: StepScalars

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return self.every_step


def personal_training(given: GivenPersonal, open_steps: OpenSteps, *, checkpoint: Checkpoint | None = None) -> Training:
    """Training of the personal model; its result is the best epoch on the samples held out, the start among them.

    Raises WireError ``plan.does_not_fit`` or ``tensors.*``.
    """
    rules, model, received = given.rules, given.model, given.received
    rules.needs().check(model)
    goes_on = rules.starts_from == "personal model" and given.personal is not None
    start = given.personal if goes_on and given.personal is not None else received
    parts = parts_of(given.ids)
    optimisation = Optimisation(
        open_steps,
        model,
        start,
        inputs={ANCHOR: {spec.name: received[spec.name] for spec in model.parameters}},
        train=parts.train,
        local=_PlainSteps(every_step=rules.scalars),
        seed=given.seed,
    )
    stopping = Stopping(rules.patience, HELD_OUT_SHARE)
    steps_total = rules.epochs * steps_per_epoch(len(parts.train), model.batch_size)
    steps_total = steps_total if rules.steps is None else min(steps_total, rules.steps)
    training = Training(model, optimisation, parts, steps_total, stopping, judges_start=True)
    if checkpoint is not None:
        training.resume(checkpoint)
    return training


def parts_of(ids: Sequence[int]) -> SampleSplit:
    """The samples that the personal model is trained on, and those held out."""
    return split(ids)


def is_due(ids: Sequence[int], *, trained_up_to: int | None, again_share: float) -> bool:
    """Whether the personal model is to be trained on the samples `ids`, ascending.

    `trained_up_to` is the newest sample at the latest training under the same version; None: there was none. No
    training is due while there are too few samples to hold some out, since the result could not be evaluated.
    """
    parts = parts_of(ids)
    if parts.train is parts.held_out:
        return False
    if trained_up_to is None:
        return True
    new = len(ids) - int(np.searchsorted(np.asarray(ids), trained_up_to, side="right"))
    return new >= again_share * len(ids)


class Choice(NamedTuple):
    """Which model answers from now on."""

    answers: Literal["version", "trained", "personal model"]
    """``trained``: the newly trained model; ``personal model``: the previous one."""
    chosen: SampleFigures
    """Figures of the chosen model on the samples held out."""


def choose(
    version: SampleFigures, trained: SampleFigures, before: SampleFigures | None, *, unless_worse: bool = False
) -> Choice:
    """The model that answers, by the figures of each on the same samples held out.

    The trained model is chosen unless it is worse than the version. The personal model of `before`, which belongs to an
    older version, is retained only where it beats that choice by more than noise; or, with `unless_worse`, unless that
    choice beats it: a model that comes from elsewhere is used until it is shown to be worse.
    """
    new = Choice("trained", trained) if _is_better(trained, version) else Choice("version", version)
    if before is None:
        return new
    stays = not _is_clear(new.chosen, before) if unless_worse else _is_clear(before, new.chosen)
    return Choice("personal model", before) if stays else new


def still_answers(before: SampleFigures, version: SampleFigures) -> bool:
    """Whether the personal model of `before` is still used once a new version has arrived, until the next training.

    The better of the two on the samples held out is used: neither was trained on them, and the next training
    compares again.
    """
    return not _is_better(version, before)


def score(found: SampleFigures) -> Float64:
    """A score for each sample, higher is better: the share that is right, or minus the loss where that is undefined."""
    return -found.losses if found.right is None else found.right


def _is_better(better: SampleFigures, than: SampleFigures) -> bool:
    """More is right, or as much at a lower loss."""
    gain = float((score(better) - score(than)).sum())
    return gain > 0 or (gain == 0 and bool(better.losses.sum() < than.losses.sum()))


def _is_clear(better: SampleFigures, than: SampleFigures) -> bool:
    """By over one standard error of the sum of paired differences; McNemar's test for right and wrong samples."""
    difference = score(better) - score(than)
    return bool(difference.sum() > math.sqrt(float((difference * difference).sum())))
