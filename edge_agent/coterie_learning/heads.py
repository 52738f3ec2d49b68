"""Customised output layers: a device's head has only the classes that it has seen (Lu et al. 2019, SEC: Colla).

The graphs are unchanged. A class that was not seen gets a bias so low that its probability is zero in float32: it is
never predicted, and its row has no gradient. An update contains the rows of the seen classes alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.local import Scope, lacking_head
from coterie_learning.subsets import chosen, chosen_specs, pick_chosen, place_chosen
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

UNSEEN_BIAS = np.float32(-1e4)


class OutputLayer(NamedTuple):
    """The names of an output layer's tensors."""

    weight: str
    """[classes, units]."""
    bias: str
    """[classes]."""


def output_layer(model: ModelSpec) -> OutputLayer:
    """The output layer of `model`, which must have a bias.

    Raises WireError ``plan.no_head``.
    """
    found = model.head
    if found is None or found.bias is None:
        raise WireError("plan.no_head", lacking_head(model))
    return OutputLayer(found.weight, found.bias)


def renew(own: Tensors, received: Tensors, model: ModelSpec, scope: Scope) -> Tensors:
    """The personal model `own` after a version was `received`: personal layers stay, shared layers are replaced.

    Without personal layers the whole model is the device's own, and no version changes it.
    """
    kept = scope.personal_layers(model)
    return {**received, **{name: own[name] for name in kept}} if kept else own


def mask_unseen(parameters: Tensors, head: OutputLayer, classes: Sequence[int]) -> Tensors:
    """`parameters` masked so that only `classes` are predicted and learned; unchanged tensors are not copied."""
    bias = np.full_like(parameters[head.bias], UNSEEN_BIAS)
    bias[list(classes)] = parameters[head.bias][list(classes)]
    return {**parameters, head.bias: bias}


def begin_rows(parameters: Tensors, received: Tensors, model: ModelSpec, scope: Scope, new: Sequence[int]) -> Tensors:
    """`parameters` with the output rows of classes that are `new` to the device taken from `received`.

    Raises WireError ``plan.no_head``.
    """
    if scope.head == "all":
        return parameters
    begun = dict(parameters)
    for name in output_layer(model):
        begun[name] = parameters[name].copy()
        begun[name][list(new)] = received[name][list(new)]
    return begun


def masked_classes(parameters: Tensors, head: OutputLayer) -> frozenset[int]:
    """The classes that `parameters` never predict, because of `mask_unseen`."""
    return frozenset(np.flatnonzero(parameters[head.bias] <= UNSEEN_BIAS / 2).tolist())


def renormalise(probabilities: Float32, classes: Sequence[int]) -> Float32:
    """The teacher's probabilities [n, all classes] conditional on `classes`; uniform where their sum is 0."""
    kept = np.zeros_like(probabilities)
    kept[:, list(classes)] = probabilities[:, list(classes)]
    mass = kept.sum(axis=1, keepdims=True)
    uniform = np.zeros(probabilities.shape[1], np.float32)
    uniform[list(classes)] = 1 / len(classes)
    scaled: Float32 = np.where(mass > 0, kept / np.where(mass > 0, mass, 1), uniform).astype(np.float32)
    return scaled


def restore_untrained(
    before: Tensors, after: Tensors, model: ModelSpec, scope: Scope, classes: Sequence[int]
) -> Tensors:
    """`after`, with everything outside `scope` restored from `before`: the rows of other classes, and a frozen body.

    Raises WireError ``plan.no_head``.
    """
    if scope.trains_all:
        return after
    head = output_layer(model)
    taken = dict(before if scope.body == "frozen" else after)
    for name in head:
        rows = list(range(model.classes) if scope.head == "all" else classes)
        tensor = before[name].copy()
        tensor[rows] = after[name][rows]
        taken[name] = tensor
    return taken


def check_classes(classes: Sequence[int], model: ModelSpec, scope: Scope) -> None:
    """Check `classes`: ascending, at least one, and known to the model where the head is customised; otherwise none.

    Raises WireError ``update.wrong_classes``.
    """
    if scope.head == "all":
        if classes:
            raise WireError("update.wrong_classes", "the plan trains the rows of all classes, the update names some")
        return
    known: NDArray[np.int64] = np.asarray(classes, np.int64)
    if not len(known) or known[0] < 0 or known[-1] >= model.classes or np.any(np.diff(known) <= 0):
        detail = f"{len(known)} classes are named; they must ascend, and lie between 0 and {model.classes - 1}"
        raise WireError("update.wrong_classes", detail)


def update_specs(model: ModelSpec, scope: Scope, classes: Sequence[int]) -> tuple[TensorSpec, ...]:
    """The exact tensors of an update.

    Raises WireError ``plan.no_head`` or ``update.wrong_classes``.
    """
    specs = sent_specs(model, scope, classes)
    return specs if scope.share == 1 else chosen_specs(specs, scope.share)


def sent_specs(model: ModelSpec, scope: Scope, classes: Sequence[int]) -> tuple[TensorSpec, ...]:
    """The whole tensors that an update covers, of whose parameters it may have a random subset.

    Raises WireError ``plan.no_head`` or ``update.wrong_classes``.
    """
    check_classes(classes, model, scope)
    if scope.is_whole:
        return model.parameters
    head, kept = _customised(model, scope), scope.personal_layers(model)
    rows = model.classes if scope.head == "all" else len(classes)
    return tuple(
        TensorSpec(spec.name, spec.dtype, (rows, *spec.shape[1:])) if spec.name in head else spec
        for spec in model.parameters
        if spec.name not in kept and (spec.name in head or scope.body == "trained")
    )


def pick(update: Tensors, model: ModelSpec, scope: Scope, classes: Sequence[int], draw: int = 0) -> Tensors:
    """The part of a whole update that is sent, as in `update_specs`; `draw` determines the random subset."""
    if scope.is_whole:
        return update
    head, specs = _customised(model, scope), sent_specs(model, scope, classes)
    sent = {
        spec.name: update[spec.name][list(classes)] if spec.name in head and scope.head == "seen" else update[spec.name]
        for spec in specs
    }
    return sent if scope.share == 1 else pick_chosen(sent, chosen(specs, scope.share, draw))


def place(part: Tensors, model: ModelSpec, scope: Scope, classes: Sequence[int], draw: int = 0) -> Tensors:
    """The inverse of `pick`: a whole update, zero where nothing was trained."""
    if scope.is_whole:
        return part
    if scope.share < 1:
        specs = sent_specs(model, scope, classes)
        zeros = {spec.name: np.zeros(spec.shape, np.float32) for spec in specs}
        part = place_chosen(part, chosen(specs, scope.share, draw), zeros)
    head = _customised(model, scope)
    whole: dict[str, Float32] = {}
    for spec in model.parameters:
        if spec.name in head and scope.head == "seen":
            tensor = np.zeros(spec.shape, np.float32)
            tensor[list(classes)] = part[spec.name]
            whole[spec.name] = tensor
        else:
            whole[spec.name] = part[spec.name] if spec.name in part else np.zeros(spec.shape, np.float32)
    return whole


def _customised(model: ModelSpec, scope: Scope) -> Sequence[str]:
    """The tensors of the output layer, where not all of the model is trained. Raises WireError ``plan.no_head``."""
    return () if scope.trains_all else output_layer(model)
