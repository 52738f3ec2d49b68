"""Slot `local`: how a device learns. One module a kind."""

import math
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import msgspec

from coterie_learning.device_state import State
from coterie_learning.kinds import Kind, Resources
from coterie_learning.second_order import solved_models
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.contract import PER_PARAMETER
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

GRADIENT_RATE = 2.0**20
"""The learning rate of a run that is for its gradient: the step is so long that nothing of it is lost in rounding."""
STEP = "step"
"""The scalar that counts the steps done before; no weight of a plan."""


class StepScalars(msgspec.Struct, frozen=True):
    """The scalars of one optimisation step, each an input of the train step graphs that have it."""

    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float = math.inf
    """Longest gradient that is followed, its L2 norm over all parameters."""
    proximal_weight: float = 0.0
    distillation_weight: float = 0.0

    def scalars(self, names: Sequence[str], *, step: int) -> Mapping[str, float]:
        """The scalars `names` of optimisation step `step` (0-based).

        Raises WireError ``plan.does_not_fit`` where a weight that matters is not among them.
        """
        self.check(names)
        return {name: float(step) if name == STEP else getattr(self, name) for name in names}

    def needed(self) -> frozenset[str]:
        """Those that change a step, beside the learning rate: scalars that the train step graph must have."""
        return frozenset(name for name, default in _defaults() if getattr(self, name) != default) - {"learning_rate"}

    def check(self, names: Sequence[str]) -> None:
        """Raises WireError ``plan.does_not_fit`` where a weight that matters is not among the scalars `names`."""
        for name, default in _defaults():
            given = getattr(self, name)
            if name not in names and given != default:
                raise WireError(
                    "plan.does_not_fit", f"it asks for {name} {given:g}, but the model was compiled without"
                )


@cache
def _defaults() -> Sequence[tuple[str, object]]:
    """Of the weights, by name; every step asks, and reading a struct's fields is slow."""
    return [(field.name, field.default) for field in msgspec.structs.fields(StepScalars)]


class Scope(msgspec.Struct, frozen=True):
    """What of a model a device trains, and therefore uploads."""

    head: Literal["all", "seen"] = "all"
    """Every row of the output layer, or only those of the classes that the device has samples of."""
    body: Literal["trained", "frozen"] = "trained"
    """Whether the layers before the output layer are trained."""
    personal: tuple[str, ...] = ()
    """Parameters that are trained and never uploaded: shell patterns of their names, or ``head``, the output layer."""
    share: float = 1.0
    """Of each tensor's parameters those that are trained and uploaded: a random subset, another one each time."""

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole model, and all of it is uploaded."""
        return self == WHOLE

    @property
    def is_sent(self) -> bool:
        """Whether all that is trained is uploaded, so that a version is a model by itself."""
        return not self.personal

    @property
    def trains_all(self) -> bool:
        """Whether every parameter is trained."""
        return self.head == "all" and self.body == "trained"

    def personal_layers(self, model: ModelSpec) -> frozenset[str]:
        """The names of the parameters of `model` that are trained and stay on the device."""
        head = () if model.head is None else (model.head.weight, model.head.bias)
        return frozenset(
            spec.name
            for spec in model.parameters
            for pattern in self.personal
            if (spec.name in head if pattern == "head" else fnmatchcase(spec.name, pattern))
        )


WHOLE = Scope()
Layers = Literal["personal", "shared"]
"""Parameters that stay on the device, and those that travel."""


def lacking_head(model: ModelSpec) -> str:
    """What `model`, whose head has no bias or which has no head, lacks for its rows to be trained one by one."""
    lacks = "output layer of one row for each class" if model.head is None else "bias in its output layer"
    return f"the model has no {lacks}, so the plan must train all of it"


class Stopping(msgspec.Struct, frozen=True):
    """When training ends before its last epoch."""

    patience: int
    """Epochs without a lower loss on the samples held back after which it ends."""
    validation_share: float
    """Share of the device's samples that is held back."""


ANCHOR = "anchor"
"""The input by parameter at which the graph's proximal term is centred."""
DELTA = "delta"
"""The part of an update that every kind sends: the difference of the parameters from those received."""


class GraphNeeds(NamedTuple):
    """What a kind asks of the train step graph, beside the learning rate."""

    scalars: frozenset[str] = frozenset()
    """Of `StepScalars`, those that it sets to what changes a step."""
    per_parameter: frozenset[str] = frozenset()
    """Inputs ROLE.NAME that the graph must have for each parameter NAME, by their roles, e.g. ``anchor``."""
    plain_descent: bool = False
    """Whether a step must be the gradient times the learning rate, as with SGD and unlike with Adam."""

    def check(self, model: ModelSpec) -> None:
        """Raises WireError ``plan.does_not_fit`` where the graph of `model` lacks one of them."""
        if self.plain_descent and STEP in model.scalars:
            raise WireError(
                "plan.does_not_fit",
                "it needs steps along the gradient, but the model was compiled with an adaptive one",
            )
        lacking = sorted(self.scalars - set(model.scalars)) + sorted(self.per_parameter - set(PER_PARAMETER))
        if lacking:
            raise WireError(
                "plan.does_not_fit", f"it asks for {', '.join(lacking)}, but the model was compiled without"
            )


class Broadcast(NamedTuple):
    """What a round gives to every device of its cohort."""

    received: Tensors
    """The version's parameters, as the part of the model begins that the device trains."""
    server: Mapping[str, Tensors] = MappingProxyType({})
    """Of the merge's state what it `sends`, by what it is; empty before its first merge."""
    round: int = 0
    """The round's number in its federation, from 1; 0 in training between rounds."""


class Trained(NamedTuple):
    """What the steps of a round came to."""

    parameters: Tensors
    """As received wherever the plan trains nothing."""
    steps: int
    """How many were done."""
    loss: float | None = None
    """Mean loss of the received parameters over the training samples, where the kind `needs_loss`."""


class Ended(NamedTuple):
    """What a kind makes of the steps."""

    parts: Mapping[str, Tensors]
    """The update by the names of `Local.parts`, each part with one tensor a parameter."""
    state: State
    """What the kind remembers once the update is accepted, unless `remember` says otherwise."""
    scalars: Mapping[str, float] = MappingProxyType({})
    """By the names of `Local.scalars`."""


class Local(Kind, frozen=True):
    """How a device turns the parameters it received and its own samples into new parameters.

    A round calls `begin`, then `weights` for each step, then `end`; what `end` gives as state reaches the next `begin`
    if the platform accepted the update, else that gets the state it got before. A round that is resumed from a
    checkpoint calls `begin` again, with the same arguments.
    """

    parts: ClassVar[tuple[str, ...]] = (DELTA,)
    """The parts of its updates, in the order in which they travel."""
    scalars: ClassVar[tuple[str, ...]] = ()
    """What its updates hold besides as one number each, not negative; their weighted means reach the merge."""
    compared: ClassVar[tuple[str, ...]] = ()
    """Of the scalars those that, like norms, must not be far above the others' of a cohort."""
    moves_together: ClassVar[bool] = False
    """Whether what devices remember moves by their updates as the platform's state does, so that none may be stale."""
    remembers: ClassVar[bool] = False
    """Whether a device keeps a state from round to round."""
    trains: ClassVar[bool] = True
    """Whether a device's steps make its model better by themselves, rather than the merge of what they sum."""

    def needs(self) -> GraphNeeds:
        """What the train step graph must have."""
        return GraphNeeds(self.step_scalars(0).needed())

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:  # noqa: ARG002
        """The inputs of every step by parameter: for each role of `needs`, one tensor a parameter."""
        return {}

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        """The update, and the state after it."""
        difference = {name: tensor - broadcast.received[name] for name, tensor in trained.parameters.items()}
        return Ended({DELTA: difference}, state)

    def remember(self, ended: Ended, sent: Callable[[], Mapping[str, Tensors]]) -> State:  # noqa: ARG002
        """What is remembered once the update is accepted; `sent` gives its parts as the platform reads them."""
        return ended.state

    def scale(self, scalars: Mapping[str, float]) -> float:  # noqa: ARG002 - most send what they learned as it is
        """By what the parts of an update with these `scalars` were multiplied: norms are compared without it.

        Raises WireError ``update.out_of_range`` where the scalars contradict one another.
        """
        return 1.0

    def files(self) -> int:
        """Tensor files that its updates consist of, beside the running statistics."""
        return len(self.parts) + bool(self.scalars) + (self.scope().share < 1)

    def needs_loss(self) -> bool:
        """Whether it wants to know the loss of the received parameters."""
        return False

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        """What the merge, the graph, the output layer or the teacher lacks of what the kind says that it needs."""
        if self.half_of != plan.merge.half_of:
            algorithm = self.half_of or plan.merge.half_of
            detail = f"{algorithm} is a kind of local and a kind of merge, and the plan has only one of them"
            return Reason("plan.half_missing", detail)
        if self.moves_together and plan.pace.staleness_allowed() is not None:
            detail = f"devices and platform remember the same updates under local {self.name}, and stale ones differ"
            return Reason("plan.needs_rounds_together", f"{detail}; take pace sync")
        if model is None:
            return None
        try:
            self.needs().check(model)
        except WireError as error:
            return Reason(error.code, error.detail)
        if self.trains and solved_models(spec.name for spec in model.parameters):
            detail = "the model is solved by the sums of its tables, which steps do not change"
            return Reason("plan.only_solved", f"{detail}; take local second_order with the merge that solves it")
        if not self.scope().trains_all and (model.head is None or model.head.bias is None):
            return Reason("plan.no_head", lacking_head(model))
        if not self.needs_teacher():
            return None
        if not model.classes:
            return Reason("plan.needs_classes", "devices learn from a cloud model only to tell classes apart")
        if resources is not None and resources.teacher_problem is not None:
            problem = f"devices cannot learn from the cloud model: {resources.teacher_problem}"
            return Reason("plan.needs_teacher", problem)
        return None

    def epochs_wanted(self) -> int:
        """Passes over the device's samples in one round."""
        raise NotImplementedError

    def steps_wanted(self, epoch: int) -> int:
        """Runs of the graph in a round, where a pass over the device's samples takes `epoch`."""
        return self.epochs_wanted() * epoch

    def step_scalars(self, step: int) -> StepScalars:
        """The scalars of optimisation step `step` (0-based) of a round."""
        raise NotImplementedError

    def batch_share(self, samples: int, of: int) -> float:  # noqa: ARG002
        """By what the step of a batch of `samples` is multiplied, `of` all that the device trains on."""
        return 1.0

    def runs(self) -> int:
        """Times that the graph is run for one step; where more than once, for gradients, from which `move` steps."""
        return 1

    def batch(self, run: int) -> int:
        """Which batch of a round the graph gets in its run `run` (0-based), which `step_scalars` calls a step."""
        return run

    def move(self, begun: Tensors, gradients: Sequence[Tensors]) -> Tensors:
        """Where the next gradient of a step is taken, or after the last where the step ends.

        The step began with the parameters `begun`, where the first of `gradients` was taken.
        """
        raise NotImplementedError

    def adapts_by(self) -> float | None:
        """The size of the step by which a device is to adapt a version to its data before it uses it, if any."""
        return None

    def scope(self) -> Scope:
        """What of the model is trained."""
        return WHOLE

    def frozen_layers(self, step: int, epoch: int) -> Layers | None:  # noqa: ARG002
        """Which layers step `step` (0-based) leaves as they are, where a pass over the samples takes `epoch` steps."""
        return None

    def stopping(self) -> Stopping | None:
        """When training stops early, keeping its best epoch; None: it goes on to the last epoch and keeps that."""
        return None

    def period_s(self) -> float | None:
        """Seconds back from now within which samples must have come to be learned from; None: all are."""
        return None

    def trains_personal_model(self) -> bool:
        """Whether a round trains the device's personal model on, rather than the version that it received.

        The output rows of classes that are new to it begin as the version has them. What a device keeps *beside* the
        version that it trains in rounds is for slot `personal` to say.
        """
        return False

    def between_rounds(self) -> "Local":
        """How the device learns a batch of new samples by itself: local training."""
        return self

    def needs_teacher(self) -> bool:
        """Whether the device learns from the cloud model's probabilities too."""
        return False
