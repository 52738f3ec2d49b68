"""Small models as the contract describes them."""

import numpy as np

from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.tensors import Float32, Tensors

FEATURES, UNITS, CLASSES = 3, 4, 5


def _model(parameters: tuple[TensorSpec, ...], head: Head | None) -> ModelSpec:
    inputs = (TensorSpec("x", "float32", (FEATURES,)),)
    return ModelSpec.of_classifier(inputs=inputs, classes=CLASSES, batch_size=4, parameters=parameters, head=head)


LINEAR = _model(
    (TensorSpec("weight", "float32", (CLASSES, FEATURES)), TensorSpec("bias", "float32", (CLASSES,))),
    Head("weight", "bias"),
)
WITHOUT_BIAS = _model((TensorSpec("weight", "float32", (CLASSES, FEATURES)),), Head("weight"))
NETWORK = _model(
    (
        TensorSpec("hidden.weight", "float32", (UNITS, FEATURES)),
        TensorSpec("hidden.bias", "float32", (UNITS,)),
        TensorSpec("out.weight", "float32", (CLASSES, UNITS)),
        TensorSpec("out.bias", "float32", (CLASSES,)),
    ),
    Head("out.weight", "out.bias"),
)
HEADLESS = _model(NETWORK.parameters, None)


def parameters(model: ModelSpec, seed: int) -> Tensors:
    rng = np.random.default_rng(seed)
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in model.parameters}


def linear_scores(tensors: Tensors, x: Float32) -> Float32:
    return x @ tensors["weight"].T + tensors["bias"]


def network_scores(tensors: Tensors, x: Float32) -> Float32:
    hidden = np.maximum(x @ tensors["hidden.weight"].T + tensors["hidden.bias"], 0)
    return hidden @ tensors["out.weight"].T + tensors["out.bias"]
