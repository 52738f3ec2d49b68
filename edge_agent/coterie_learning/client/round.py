"""One device's part in one round: from what it received to its update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie_learning.client.optimisation import OpenSteps, Optimisation
from coterie_learning.client.order import SampleSplit, split, steps_per_epoch
from coterie_learning.client.part import TrainedPart
from coterie_learning.client.start import KeptPortion, with_portions
from coterie_learning.client.training import Checkpoint, Training
from coterie_learning.client.update import LOCAL, Update, make_update
from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import NO_STATE, States
from coterie_learning.local import Broadcast, Local
from coterie_learning.subsets import Positions, chosen, draw_of
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors


@dataclass(frozen=True, kw_only=True)
class Given:
    """The inputs of a device's part in a round; all but the secret stay the same when it pauses and resumes."""

    plan: DevicePlan
    model: ModelSpec
    received: Tensors
    """The tensors of the version."""
    ids: Sequence[int]
    """Numbers of the samples that the plan trains on."""
    seen: Sequence[int]
    """Classes that the device has samples of, ascending."""
    seed: int
    secret: int
    """256 random bits known to the device alone, for draws that nobody else may repeat; new for every `Given`."""
    states: States
    personal: Tensors | None = None
    """The device's personal parameters, if any."""
    portions: Sequence[KeptPortion] = ()
    """The portions stored since its last accepted update, oldest first."""
    server: Mapping[str, Tensors] = field(default_factory=dict)
    """The part of the server state that devices receive; see `coterie_learning.merge.Merge.sends`."""
    round: int = 0
    """The round's number in its federation."""


class Result(NamedTuple):
    """The result of a round on one device."""

    update: Update
    samples: int
    """Number of samples that the update was computed from."""


class ClientRound:
    """A device's part in a round: `training` names the next input that it needs, and `finish` makes the update."""

    def __init__(self, given: Given, open_steps: OpenSteps, *, checkpoint: Checkpoint | None = None) -> None:
        """Raises WireError ``plan.no_head``, ``plan.does_not_fit`` or ``tensors.*``."""
        local, model = given.plan.local, given.model
        local.needs().check(model)
        self._given = given
        self._part = _part(given, checkpoint)
        self.begun = self._part.begin(given.received)
        """The version's parameters and statistics for the part of the model that the device trains."""
        parts = parts_of(given.ids, local)
        self._broadcast = Broadcast(
            {spec.name: self.begun[spec.name] for spec in model.parameters}, given.server, given.round
        )
        optimisation = Optimisation(
            open_steps,
            model,
            self._start(),
            inputs=local.begin(self._broadcast, given.states.get(LOCAL, NO_STATE)),
            train=parts.train,
            local=local,
            seed=given.seed,
            frozen=self._part.frozen(),
            personal=local.scope().personal_layers(model),
            chosen=self._chosen(),
        )
        self.training = Training(
            model,
            optimisation,
            parts,
            steps_total=local.steps_wanted(steps_per_epoch(len(parts.train), model.batch_size)),
            stopping=local.stopping(),
            classes=self._part.classes,
            judged_first=self.begun if local.needs_loss() else None,
        )
        if checkpoint is not None:
            self.training.resume(checkpoint)

    def finish(self, trained: Tensors) -> Result:
        """The update from the trained parameters. Raises WireError ``update.not_finite``."""
        given, done = self._given, self.training.steps_done
        update = make_update(
            self.begun,
            self._part.end(self.begun, trained),
            plan=given.plan,
            model=given.model,
            states=given.states,
            steps=done,
            seed=given.seed,
            secret=given.secret,
            classes=self._part.classes,
            broadcast=self._broadcast,
            loss=self.training.loss_before,
        )
        return Result(update, min(len(self.training.parts.train), done * given.model.batch_size))

    def with_late_portions(self, trained: Tensors, portions: Sequence[KeptPortion]) -> Tensors:
        """The personal model after the round, with the `portions` stored since it began."""
        return with_portions(trained, self._given.model, portions, self._given.seen)

    def _chosen(self) -> Mapping[str, Positions]:
        """The parameters that are trained, where it is a random subset."""
        given = self._given
        share = given.plan.local.scope().share
        return {} if share == 1 else chosen(given.model.parameters, share, draw_of(given.seed))

    def _start(self) -> Tensors:
        """The personal model, where the plan continues from it; else the received version with the stored portions."""
        given = self._given
        if given.plan.local.trains_personal_model() and given.personal is not None:
            return self._part.go_on(given.personal, given.received)
        return self._part.begin(with_portions(given.received, given.model, given.portions, given.seen))


def parts_of(ids: Sequence[int], local: Local) -> SampleSplit:
    """The samples that a round trains on, and those it holds out for early stopping or evaluation."""
    stopping = local.stopping()
    return split(ids) if stopping is None else split(ids, share=stopping.validation_share)


def local_training(
    local: Local,
    model: ModelSpec,
    open_steps: OpenSteps,
    *,
    personal: Tensors,
    received: Tensors,
    ids: Sequence[int],
    seen: Sequence[int],
    seed: int,
    stops_early: bool = False,
) -> Training:
    """Training between rounds: the `personal` model on the samples numbered `ids`, with the kind `local`.

    It trains on all of them to the last epoch; where it `stops_early`, some are held out as in a round. `seen` are the
    classes that the device has samples of, ascending; rows of classes that are new to it begin as in the version
    `received`. Raises WireError ``plan.no_head`` or ``plan.does_not_fit``.
    """
    part = TrainedPart.of_device(model, local.scope(), seen)
    start = part.go_on(personal, received)
    parts = parts_of(ids, local) if stops_early else SampleSplit(ids, ())
    optimisation = Optimisation(
        open_steps,
        model,
        start,
        inputs=local.begin(Broadcast({spec.name: start[spec.name] for spec in model.parameters}), NO_STATE),
        train=parts.train,
        local=local,
        seed=seed,
        frozen=part.frozen(),
    )
    stopping = local.stopping() if stops_early else None
    steps_total = local.steps_wanted(steps_per_epoch(len(parts.train), model.batch_size))
    return Training(model, optimisation, parts, steps_total, stopping, classes=part.classes)


def _part(given: Given, checkpoint: Checkpoint | None) -> TrainedPart:
    scope = given.plan.local.scope()
    if checkpoint is not None:
        return TrainedPart(given.model, scope, checkpoint.progress.classes)
    return TrainedPart.of_device(given.model, scope, given.seen)
