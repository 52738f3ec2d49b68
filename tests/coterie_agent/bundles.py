"""A device model by hand: softmax regression as the two graphs that `coterie_wire.bundle.ModelSpec` promises."""

import hashlib
import math
import re
from dataclasses import dataclass

import msgspec
import numpy as np
import onnx
import onnx.parser
from msgspec import UNSET
from numpy.typing import NDArray

from coterie_wire.bundle import (
    BlobRef,
    Head,
    Manifest,
    ModelSpec,
    SignedManifest,
    TensorSpec,
    new_signing_key,
    sign_manifest,
    verify_key_of,
)
from coterie_wire.length import Length
from coterie_wire.tensors import encode_tensors
from coterie_wire.version import PROTOCOL

SIDE, CLASSES, BATCH = 2, 3, 4
FEATURES = SIDE * SIDE


def spec_of(*, side: int, classes: int, batch: int) -> ModelSpec:
    """The model on images of `side` by `side` pixels."""
    weight = TensorSpec("weight", "float32", (classes, side * side))
    return ModelSpec.of_classifier(
        inputs=(TensorSpec("pixels", "float32", (side, side)),),
        classes=classes,
        batch_size=batch,
        parameters=(weight, TensorSpec("bias", "float32", (classes,))),
        head=Head("weight", "bias"),
    )


SPEC = spec_of(side=SIDE, classes=CLASSES, batch=BATCH)
LONGEST = 5
OF_SEQUENCES = msgspec.structs.replace(
    SPEC,
    inputs=(TensorSpec("pixels", "float32", (LONGEST, FEATURES)),),
    length=Length(1, LONGEST, {"pixels": 0}),
)
"""The model on the sum of up to five rows of as many numbers as an image has."""
_HEAD = '<ir_version: 9, opset_import: ["" : 17]>'
_STATE = ", ".join(
    f"float[{shape}] {kind}.{name}"
    for kind in ("param", "anchor", "velocity")
    for name, shape in (("weight", "CLASSES,FEATURES"), ("bias", "CLASSES"))
)
TRAIN_STEP = f"""{_HEAD}
step (float[BATCH,SIDE,SIDE] pixels, int64[BATCH] target, float[BATCH] sample_weight, float[BATCH,CLASSES] teacher,
      float learning_rate, float momentum, float proximal_weight, float distillation_weight, {_STATE})
  => (float loss, float correct, float[CLASSES,FEATURES] next.param.weight, float[CLASSES] next.param.bias,
      float[CLASSES,FEATURES] next.velocity.weight, float[CLASSES] next.velocity.bias)
{{
  flat = Constant <value_ints = [BATCH, FEATURES]> ()
  x = Reshape (pixels, flat)
  columns = Transpose <perm = [1, 0]> (param.weight)
  product = MatMul (x, columns)
  logits = Add (product, param.bias)
  logp = LogSoftmax <axis = 1> (logits)
  p = Exp (logp)
  depth = Constant <value_int = CLASSES> ()
  zero_one = Constant <value_floats = [0.0, 1.0]> ()
  hot = OneHot (target, depth, zero_one)
  one = Constant <value_float = 1.0> ()
  own = Sub (one, distillation_weight)
  hot_part = Mul (own, hot)
  teacher_part = Mul (distillation_weight, teacher)
  aim = Add (hot_part, teacher_part)
  axis = Constant <value_ints = [1]> ()
  all = ReduceSum <keepdims = 0> (sample_weight)
  tiny = Constant <value_float = 0.00000001> ()
  total = Max (all, tiny)
  share = Div (sample_weight, total)
  terms = Mul (aim, logp)
  sums = ReduceSum <keepdims = 0> (terms, axis)
  weighted = Mul (sums, share)
  negative = ReduceSum <keepdims = 0> (weighted)
  loss = Neg (negative)
  chosen = ArgMax <axis = 1, keepdims = 0> (logits)
  hit = Equal (chosen, target)
  hits = Cast <to = 1> (hit)
  counted = Mul (hits, sample_weight)
  correct = ReduceSum <keepdims = 0> (counted)
  gap = Sub (p, aim)
  column = Unsqueeze (share, axis)
  error = Mul (gap, column)
  errors = Transpose <perm = [1, 0]> (error)
  data.weight = MatMul (errors, x)
  rows = Constant <value_ints = [0]> ()
  data.bias = ReduceSum <keepdims = 0> (error, rows)
{{STEPS}}
}}"""
_STEP = """  away.{0} = Sub (param.{0}, anchor.{0})
  pull.{0} = Mul (proximal_weight, away.{0})
  gradient.{0} = Add (data.{0}, pull.{0})
  kept.{0} = Mul (momentum, velocity.{0})
  next.velocity.{0} = Add (kept.{0}, gradient.{0})
  move.{0} = Mul (learning_rate, next.velocity.{0})
  next.param.{0} = Sub (param.{0}, move.{0})"""
PREDICT = f"""{_HEAD}
predict (float[n,SIDE,SIDE] pixels, float[CLASSES,FEATURES] param.weight, float[CLASSES] param.bias)
  => (float[n,CLASSES] logits)
{{
  flat = Constant <value_ints = [-1, FEATURES]> ()
  x = Reshape (pixels, flat)
  columns = Transpose <perm = [1, 0]> (param.weight)
  product = MatMul (x, columns)
  logits = Add (product, param.bias)
}}"""


_SUM = "rows_of_x = Constant <value_ints = [1]> ()\n  x = ReduceSum <keepdims = 0> (pixels, rows_of_x)"


@dataclass(frozen=True)
class Bundle:
    """A signed version and the blobs that it names."""

    manifest: Manifest
    signed: SignedManifest
    platform_key: bytes
    blobs: dict[str, bytes]


def train_step_graph(spec: ModelSpec = SPEC) -> bytes:
    steps = "\n".join(_STEP.format(name) for name in ("weight", "bias"))
    return _graph(TRAIN_STEP.replace("{STEPS}", steps), spec)


def predict_graph(spec: ModelSpec = SPEC) -> bytes:
    return _graph(PREDICT, spec)


def _graph(text: str, spec: ModelSpec) -> bytes:
    """ONNX's text format takes no dots in names: a double underscore stands for one while it is parsed."""
    if spec.length is not UNSET:
        text = text.replace("SIDE,SIDE] pixels", "length,FEATURES] pixels")
        text = re.sub(r"flat = .*\n  x = .*\n", f"{_SUM}\n", text)
    features = spec.parameters[0].shape[1]
    sizes = {"SIDE": math.isqrt(features), "FEATURES": features, "CLASSES": spec.classes, "BATCH": spec.batch_size}
    for name, size in sizes.items():
        text = text.replace(name, str(size))
    model = onnx.parser.parse_model(re.sub(r"(?<=[a-z])\.(?=[a-z])", "__", text))
    for node in model.graph.node:
        node.input[:] = [name.replace("__", ".") for name in node.input]
        node.output[:] = [name.replace("__", ".") for name in node.output]
    for value in (*model.graph.input, *model.graph.output):
        value.name = value.name.replace("__", ".")
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def parameters(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return {tensor.name: rng.normal(size=tensor.shape).astype(np.float32) for tensor in SPEC.parameters}


SIGNING_KEY = new_signing_key()


def make_bundle(
    *,
    version: str = "v1",
    number: int = 1,
    seed: int = 0,
    tensors: dict[str, NDArray[np.float32]] | None = None,
    spec: ModelSpec = SPEC,
    server_state: dict[str, NDArray[np.float32]] | None = None,
) -> Bundle:
    contents = [train_step_graph(spec), predict_graph(spec), encode_tensors(tensors or parameters(seed))]
    contents += [encode_tensors(server_state)] if server_state else []
    refs = [BlobRef(hashlib.sha256(content).hexdigest(), len(content)) for content in contents]
    manifest = Manifest(
        protocol=PROTOCOL,
        pair="pair",
        version=version,
        number=number,
        model=spec,
        labels=("red", "green", "blue"),
        train_step=refs[0],
        predict=refs[1],
        parameters=refs[2],
        server_state=refs[3] if server_state else UNSET,
    )
    blobs = {ref.sha256: content for ref, content in zip(refs, contents, strict=True)}
    return Bundle(manifest, sign_manifest(manifest, SIGNING_KEY), verify_key_of(SIGNING_KEY), blobs)


def samples(count: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Features [count, 4] and labels [count] of three blobs that a linear model can tell apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    centres = np.array([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]], dtype=np.float32)
    return (centres[labels] + rng.normal(scale=0.5, size=(count, FEATURES))).astype(np.float32), labels
