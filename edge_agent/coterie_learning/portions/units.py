"""The output rows of some classes and the units they depend on most, which replace the target's least needed units.

Canoe's significant parameters (Daga et al. 2021, arXiv 2108.12124) for classifiers whose last hidden layer is linear or
convolutional. Units replace those that the target's own classes depend on least, so that units need not be aligned
between the models; the layers below must be similar.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.portions.rows import BIASES, ROWS, check_classes, head_of, partition_rows, row_specs, scale_to
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

UNITS = "units"
UNIT_BIASES = "unit_biases"


class Body(NamedTuple):
    """The layer that feeds the head: `weight` [features, ...] and, where it has one, `bias` [features]."""

    weight: str
    bias: str | None


def body_of(model: ModelSpec) -> Body:
    """The last layer whose units are the features of the head.

    Raises WireError ``portion.unsupported`` where there is none.
    """
    shapes = {spec.name: spec.shape for spec in model.parameters}
    head = head_of(model)
    features = shapes[head.weight][1]
    feeding = [
        name for name, shape in shapes.items() if name != head.weight and len(shape) >= 2 and shape[0] == features
    ]
    if not feeding:
        raise WireError("portion.unsupported", f"no layer has the {features} units that feed the output layer")
    weight = feeding[-1]
    bias = weight.removesuffix("weight") + "bias"
    return Body(weight, bias if shapes.get(bias) == (features,) else None)


def unit_count(model: ModelSpec, share: float) -> int:
    """Number of units in a portion: `share` of those that feed the head, at least one."""
    weight = head_of(model).weight
    return math.ceil(share * next(spec.shape[1] for spec in model.parameters if spec.name == weight))


def unit_specs(model: ModelSpec, classes: Sequence[int], share: float) -> tuple[TensorSpec, ...]:
    """Specs of the result of `partition_units`: rows [classes, units], biases, and the units' weights and biases.

    Raises WireError ``portion.unsupported`` or ``portion.unknown_class``.
    """
    body, units = body_of(model), unit_count(model, share)
    shapes = {spec.name: spec.shape for spec in model.parameters}
    rows, *biases = row_specs(model, classes)
    below = [TensorSpec(UNITS, "float32", (units, *shapes[body.weight][1:]))]
    if body.bias is not None:
        below.append(TensorSpec(UNIT_BIASES, "float32", (units,)))
    return (TensorSpec(ROWS, rows.dtype, (len(classes), units)), *biases, *below)


def partition_units(parameters: Tensors, model: ModelSpec, classes: Sequence[int], share: float) -> Tensors:
    """The helper's rows of `classes` on the units most significant to them, and those units.

    Raises WireError ``portion.unsupported`` or ``portion.unknown_class``.
    """
    body = body_of(model)
    portion = dict(partition_rows(parameters, model, classes))
    chosen = np.argsort(-_significance(parameters, body, portion[ROWS]), kind="stable")[: unit_count(model, share)]
    portion[ROWS] = portion[ROWS][:, chosen]
    portion[UNITS] = parameters[body.weight][chosen]
    if body.bias is not None:
        portion[UNIT_BIASES] = parameters[body.bias][chosen]
    return portion


def merge_units(
    parameters: Tensors, model: ModelSpec, portion: Tensors, classes: Sequence[int], known: Sequence[int]
) -> Tensors:
    """The target's parameters with the received units in place of those least significant to its `known` classes.

    The received classes depend only on the received units, and all others no longer depend on these.
    """
    check_classes(classes, model.classes)
    head, body = head_of(model), body_of(model)
    weight, units = parameters[head.weight].copy(), parameters[body.weight].copy()
    own = sorted(set(known) - set(classes))
    received = len(portion[UNITS])
    places = np.argsort(_significance(parameters, body, weight[own]), kind="stable")[:received]
    scale = scale_to(portion[ROWS], weight[own])
    unit_scale = scale_to(portion[UNITS], units)
    units[places] = portion[UNITS] * unit_scale
    weight[:, places] = 0
    weight[list(classes)] = 0
    weight[np.ix_(np.array(classes), places)] = portion[ROWS] * scale
    merged = {**parameters, head.weight: weight, body.weight: units}
    if head.bias is not None:
        bias = parameters[head.bias].copy()
        bias[list(classes)] = portion[BIASES] * scale
        merged[head.bias] = bias
    if body.bias is not None:
        unit_bias = parameters[body.bias].copy()
        unit_bias[places] = portion[UNIT_BIASES] * unit_scale
        merged[body.bias] = unit_bias
    return merged


def _significance(parameters: Tensors, body: Body, rows: Float32) -> NDArray[np.float32]:
    """Significance of each unit to `rows` [k, features]: magnitude of its output weights times its input weights."""
    incoming = np.linalg.norm(parameters[body.weight].reshape(rows.shape[1], -1), axis=1)
    significance: Float32 = np.abs(rows).sum(axis=0) * incoming
    return significance
