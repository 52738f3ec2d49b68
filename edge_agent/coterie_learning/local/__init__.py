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
from coterie_wire.contract import PARAMETER_ROLES
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

GRADIENT_RATE = 2.0**20
"""The learning rate of runs that compute a gradient: large enough that rounding loses nothing of it."""
STEP = "step"
"""The scalar with the number of steps done before; not a weight of a plan."""


class StepScalars(msgspec.Struct, frozen=True):
    """The scalars of one optimisation step, each an input of the train step graphs that have it."""

    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float = math.inf
    """Gradients are clipped to this L2 norm over all parameters."""
    proximal_weight: float = 0.0
    distillation_weight: float = 0.0

    def scalars(self, names: Sequence[str], *, step: int) -> Mapping[str, float]:
        """The scalars `names` of optimisation step `step` (0-based).

        Raises WireError ``plan.does_not_fit`` where a weight that changes the step is not among them.
        """
        self.check(names)
        return {name: float(step) if name == STEP else getattr(self, name) for name in names}

    def needed(self) -> frozenset[str]:
        """Scalars that change a step, beside the learning rate: the train step graph must have them."""
        return frozenset(name for name, default in _defaults() if getattr(self, name) != default) - {"learning_rate"}

    def check(self, names: Sequence[str]) -> None:
        """Raises WireError ``plan.does_not_fit`` where a weight that changes the step is not in the scalars `names`."""
        for name, default in _defaults():
            given = getattr(self, name)
            if name not in names and given != default:
                raise _compiled_without(f"{name} {given:g}", [name])


_RECIPE = {
    "momentum": '"optimiser": {"kind": "sgd", "momentum": "plain"}',
    "weight_decay": '"optimiser": {"kind": "sgd", "weight_decay": true} (or "adamw")',
    "clip_norm": '"clipping": true',
    "distillation_weight": '"distillation": true',
}
"""What a model's recipe says for its train step graph to have a scalar that not every graph has."""


def _compiled_without(asked: str, lacking: Sequence[str]) -> WireError:
    """The error that a plan has `asked` for something, and the graph has not the inputs `lacking`."""
    detail = f"it asks for {asked}, but the model was compiled without; leave it out of the plan"
    recipe = [_RECIPE[name] for name in lacking if name in _RECIPE]
    if recipe:
        detail += f", or submit the model again with {', '.join(recipe)} in its recipe"
    return WireError("plan.does_not_fit", detail)


@cache
def _defaults() -> Sequence[tuple[str, object]]:
    """Defaults of the weights, by name; cached, since every step needs them and reading a struct's fields is slow."""
    return [(field.name, field.default) for field in msgspec.structs.fields(StepScalars)]


class Scope(msgspec.Struct, frozen=True):
    """The part of a model that a device trains, and therefore uploads."""

    head: Literal["all", "seen"] = "all"
    """Every row of the output layer, or only those of the classes that the device has samples of."""
    body: Literal["trained", "frozen"] = "trained"
    """Whether the layers before the output layer are trained."""
    personal: tuple[str, ...] = ()
    """Parameters that are trained and never uploaded: shell patterns of their names, or ``head``, the output layer."""
    share: float = 1.0
    """Share of each tensor's parameters that is trained and uploaded: a new random subset each time."""

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole model, and all of it is uploaded."""
        return self == WHOLE

    @property
    def is_sent(self) -> bool:
        """Whether everything that is trained is uploaded, so that a version is a complete model."""
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
"""Parameters that stay on the device, and those that are sent."""


def lacking_head(model: ModelSpec) -> str:
    """What a `model` without a head, or whose head has no bias, lacks for training single rows."""
    lacks = "output layer of one row for each class" if model.head is None else "bias in its output layer"
    return f"the model has no {lacks}, so the plan must train all of it"


class Stopping(msgspec.Struct, frozen=True):
    """When training ends before its last epoch."""

    patience: int
    """Training ends after so many epochs without a lower loss on the validation samples."""
    validation_share: float
    """Share of the device's samples that is held out for validation."""


ANCHOR = "anchor"
"""The input by parameter at which the graph's proximal term is centred."""
DELTA = "delta"
"""The part of an update that every kind sends: trained parameters minus received parameters."""


class GraphNeeds(NamedTuple):
    """What a kind requires of the train step graph, beside the learning rate."""

    scalars: frozenset[str] = frozenset()
    """The `StepScalars` that it sets to values that change a step."""
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
        lacking = sorted(self.scalars - set(model.scalars)) + sorted(self.per_parameter - set(PARAMETER_ROLES))
        if lacking:
            raise _compiled_without(", ".join(lacking), lacking)


class Broadcast(NamedTuple):
    """What a round sends to every device of its cohort."""

    received: Tensors
    """The version's parameters, prepared for the part of the model that the device trains."""
    server: Mapping[str, Tensors] = MappingProxyType({})
    """The part of the merge's state that it `sends`, by kind of tensor; empty before its first merge."""
    round: int = 0
    """The round's number in its federation, from 1; 0 in training between rounds."""


class Trained(NamedTuple):
    """The result of the steps of a round."""

    parameters: Tensors
    """As received where the plan trains nothing."""
    steps: int
    """Number of steps done."""
    loss: float | None = None
    """Mean loss of the received parameters over the training samples, where the kind `needs_loss`."""


class Ended(NamedTuple):
    """What a kind computes from the steps."""

    parts: Mapping[str, Tensors]
    """The update by the names of `Local.parts`, each part with one tensor a parameter."""
    state: State
    """The state stored once the update is accepted, unless `remember` replaces it."""
    scalars: Mapping[str, float] = MappingProxyType({})
    """By the names of `Local.scalars`."""


class Local(Kind, frozen=True):
    """How a device turns the parameters it received and its own samples into new parameters.

    A round calls `begin`, then `weights` for each step, then `end`. The next `begin` gets the state from `end` if the
    platform accepted the update, else the earlier state. A round that is resumed from a checkpoint calls `begin` again,
    with the same arguments.
    """

    parts: ClassVar[tuple[str, ...]] = (DELTA,)
    """The parts of its updates, in the order in which they are sent."""
    scalars: ClassVar[tuple[str, ...]] = ()
    """Nonnegative scalars that its updates also contain; the merge gets their weighted means."""
    compared: ClassVar[tuple[str, ...]] = ()
    """Scalars that, like norms, must not be far above those of the rest of the cohort."""
    moves_together: ClassVar[bool] = False
    """Whether device state and server state must advance together, so that no update may be stale."""
    remembers: ClassVar[bool] = False
    """Whether a device keeps a state from round to round."""
    trains: ClassVar[bool] = True
    """Whether a device's steps improve its model; False: they only compute sums from which the merge solves for it."""

    def needs(self) -> GraphNeeds:
        """What the train step graph must have."""
        return GraphNeeds(self.step_scalars(0).needed())

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:  # noqa: ARG002
        """The per-parameter inputs of every step: for each role of `needs`, one tensor a parameter."""
        return {}

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        """The update, and the state after it."""
        difference = {name: tensor - broadcast.received[name] for name, tensor in trained.parameters.items()}
        return Ended({DELTA: difference}, state)

    def remember(self, ended: Ended, sent: Callable[[], Mapping[str, Tensors]]) -> State:  # noqa: ARG002
        """The state stored once the update is accepted; `sent` returns its parts as the platform decodes them."""
        return ended.state

    def scale(self, scalars: Mapping[str, float]) -> float:  # noqa: ARG002 - most send what they learned as it is
        """The factor of the parts of an update with these `scalars`; norms are compared without it.

        Raises WireError ``update.out_of_range`` where the scalars contradict one another.
        """
        return 1.0

    def files(self) -> int:
        """The number of tensor files in its updates, beside the running statistics."""
        return len(self.parts) + bool(self.scalars) + (self.scope().share < 1)

    def needs_loss(self) -> bool:
        """Whether it needs the loss of the received parameters."""
        return False

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        """What the merge, the graph, the output layer or the teacher lacks of the kind's requirements."""
        if self.half_of != plan.merge.half_of:
            algorithm = self.half_of or plan.merge.half_of
            detail = (
                f"{algorithm} is a kind of local and a kind of merge, which go together, and the plan has local "
                f"{self.name} with merge {plan.merge.name}"
            )
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
        """Runs of the graph in a round, where an epoch takes `epoch` runs."""
        return self.epochs_wanted() * epoch

    def step_scalars(self, step: int) -> StepScalars:
        """The scalars of optimisation step `step` (0-based) of a round."""
        raise NotImplementedError

    def batch_share(self, samples: int, of: int) -> float:  # noqa: ARG002
        """Factor of the step of a batch of `samples`, out of `of` samples that the device trains on."""
        return 1.0

    def runs(self) -> int:
        """Runs of the graph for one step; several runs give gradients from which `move` computes the step."""
        return 1

    def batch(self, run: int) -> int:
        """The number of the batch in run `run` (0-based) of a round; `step_scalars` calls a run a step."""
        return run

    def move(self, begun: Tensors, gradients: Sequence[Tensors]) -> Tensors:
        """The parameters at which the next gradient of a step is taken, or after the last the result of the step.

        The step started from the parameters `begun`, at which the first of `gradients` was taken.
        """
        raise NotImplementedError

    def adapts_by(self) -> float | None:
        """The learning rate of the step by which a device adapts a version to its data before using it, if any."""
        return None

    def scope(self) -> Scope:
        """The part of the model that is trained."""
        return WHOLE

    def frozen_layers(self, step: int, epoch: int) -> Layers | None:  # noqa: ARG002
        """The layers that step `step` (0-based) does not change, where an epoch takes `epoch` steps."""
        return None

    def stopping(self) -> Stopping | None:
        """When training stops early and keeps its best epoch; None: it runs to the last epoch and keeps that."""
        return None

    def period_s(self) -> float | None:
        """Age in seconds up to which samples are trained on; None: all are."""
        return None

    def trains_personal_model(self) -> bool:
        """Whether a round continues training the device's personal model, rather than the received version.

        The output rows of classes that are new to it begin as in the version. A personal model *beside* the version is
        a matter of slot `personal`.
        """
        return False

    def between_rounds(self) -> "Local":
        """The kind for local training on batches of new samples, between rounds."""
        return self

    def needs_teacher(self) -> bool:
        """Whether the device also learns from the cloud model's probabilities."""
        return False
