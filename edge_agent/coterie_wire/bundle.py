"""What a device downloads: a signed manifest that names graphs and parameters by their SHA-256."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Dtype = Literal["float32", "int64"]
Shape = tuple[Annotated[int, Meta(ge=0, le=2**31)], ...]


class TensorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name, dtype and shape of one tensor."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    dtype: Dtype
    shape: Shape


class BlobRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes by their content."""

    sha256: Sha256
    size_bytes: Annotated[int, Meta(ge=0)]


class ModelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contract of a device model's two graphs.

    ``train_step.onnx`` takes a batch of exactly `batch_size` samples (short ones are padded and masked with weight 0):

    - every tensor of `inputs`, each with a leading batch axis, and ``target`` int64 [batch_size];
    - ``sample_weight`` float32 [batch_size]; ``teacher`` float32 [batch_size, classes], the teacher's probabilities;
    - ``learning_rate``, ``momentum``, ``proximal_weight``, ``distillation_weight``: float32 scalars [];
    - for each of `parameters`: ``param.NAME``, ``anchor.NAME`` (the proximal term's centre) and ``velocity.NAME``;

    and gives ``loss`` float32 [], ``correct`` float32 [] (weighted hits in the batch), and for each parameter ``next.param.NAME`` and
    ``next.velocity.NAME``. ``predict.onnx`` takes `inputs` with any leading batch axis and ``param.NAME``, and gives ``logits``
    float32 [batch, classes].
    """

    inputs: tuple[TensorSpec, ...]
    """Shapes of one sample, without the batch axis."""
    classes: Annotated[int, Meta(ge=2, le=1_000_000)]
    batch_size: Annotated[int, Meta(ge=1, le=4096)]
    parameters: tuple[TensorSpec, ...]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version of a device model, complete."""

    protocol: int
    pair: str
    version: str
    number: int
    model: ModelSpec
    labels: tuple[str, ...]
    """What each class is called, for people."""
    train_step: BlobRef
    predict: BlobRef
    parameters: BlobRef


class SignedManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest's exact bytes and the platform's Ed25519 signature over them."""

    manifest: Annotated[bytes, Meta(max_length=1 << 20)]
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]
