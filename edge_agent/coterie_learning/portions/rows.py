"""The output rows of some classes: of one-vs-rest linear models, and of neural classifiers on the same body.

Cartel's portion of a linear model (Daga et al. 2019, doi 10.1145/3357223.3362708), applied to the output layer of
neural networks.
"""

from collections.abc import Sequence

import numpy as np

from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

ROWS = "rows"
BIASES = "biases"


def head_of(model: ModelSpec) -> Head:
    """The parameters that belong to single classes.

    Raises WireError ``portion.unsupported`` where they cannot be identified.
    """
    if model.head is None:
        raise WireError("portion.unsupported", "the model does not end in a linear layer with a row for each class")
    return model.head


def row_specs(model: ModelSpec, classes: Sequence[int]) -> tuple[TensorSpec, ...]:
    """Specs of the result of `partition_rows`: rows [classes, features] and, where the head has them, biases [classes].

    Raises WireError ``portion.unsupported`` or ``portion.unknown_class``.
    """
    head = head_of(model)
    check_classes(classes, model.classes)
    shapes = {spec.name: spec.shape for spec in model.parameters}
    rows = TensorSpec(ROWS, "float32", (len(classes), *shapes[head.weight][1:]))
    return (rows,) if head.bias is None else (rows, TensorSpec(BIASES, "float32", (len(classes),)))


def partition_rows(parameters: Tensors, model: ModelSpec, classes: Sequence[int]) -> Tensors:
    """The helper's rows and biases of `classes`, in their order.

    Raises WireError ``portion.unsupported`` or ``portion.unknown_class``.
    """
    head = head_of(model)
    check_classes(classes, model.classes)
    portion = {ROWS: parameters[head.weight][list(classes)]}
    if head.bias is not None:
        portion[BIASES] = parameters[head.bias][list(classes)]
    return portion


def merge_rows(
    parameters: Tensors, model: ModelSpec, portion: Tensors, classes: Sequence[int], known: Sequence[int]
) -> Tensors:
    """The target's parameters with the rows of `classes` from `portion`, rescaled to the mean norm of those of `known`.

    `known` are the classes that the target has seen, without those in `classes`; if there are none, the rows keep
    their norm. Rows and biases are rescaled alike, so that decision boundaries do not move.
    """
    head = head_of(model)
    weight = parameters[head.weight].copy()
    own = sorted(set(known) - set(classes))
    scale = scale_to(portion[ROWS], weight[own])
    weight[list(classes)] = portion[ROWS] * scale
    merged = {**parameters, head.weight: weight}
    if head.bias is not None:
        bias = parameters[head.bias].copy()
        bias[list(classes)] = portion[BIASES] * scale
        merged[head.bias] = bias
    return merged


def scale_to(received: Float32, own: Float32) -> np.float32:
    """The factor that gives rows `received` [k, ...] the mean norm of rows `own` [n, ...]; 1 where either is zero."""
    lengths = [
        float(np.linalg.norm(rows.reshape(len(rows), -1), axis=1).mean()) if len(rows) else 0.0
        for rows in (received, own)
    ]
    return np.float32(lengths[1] / lengths[0] if min(lengths) > 0 else 1.0)


def check_classes(classes: Sequence[int], count: int) -> None:
    """Raises WireError ``portion.unknown_class`` unless `classes` are some of the model's, each once, ascending."""
    if not classes or list(classes) != sorted(set(classes)) or classes[0] < 0 or classes[-1] >= count:
        detail = f"classes {list(classes)[:20]} are not some of the model's {count}, each once and in order"
        raise WireError("portion.unknown_class", detail)
