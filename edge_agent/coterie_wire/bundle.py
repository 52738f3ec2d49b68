"""What a device downloads: a signed manifest that names graphs and parameters by their SHA-256."""

import hashlib
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.length import Length
from coterie_wire.structs import from_json
from coterie_wire.version import SPOKEN

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Dtype = Literal["float32", "int64", "int32", "int8", "uint8", "bool"]
MAX_CLASSES = 1_000_000
MAX_NAME = 200
"""Characters of a tensor's name."""
Shape = Annotated[tuple[Annotated[int, Meta(ge=0, le=2**31)], ...], Meta(max_length=16)]


class TensorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name, dtype and shape of one tensor."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    dtype: Dtype
    shape: Shape


class BlobRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes by their content."""

    sha256: Sha256
    size_bytes: Annotated[int, Meta(ge=0)]

    @classmethod
    def of_bytes(cls, data: bytes | memoryview) -> Self:
        return cls(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data))

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Reads the file in blocks, whatever its size."""
        with path.open("rb") as file:
            return cls(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size_bytes=file.tell())


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The final linear layer: row c of `weight` [classes, features] and element c of `bias` [classes] are class c's."""

    weight: str
    bias: str | None = None


Task = Literal["classes", "labels", "values", "tokens"]
"""What a model's output is, and how it is judged beside its loss.

``classes``: logits [classes] of which the greatest wins; ``labels``: logits [labels], each a yes (above 0) or a no of
its own; ``values``: numbers, judged by their loss alone; ``tokens``: logits [length, vocabulary], a class at each
position.
"""


class RunningMoments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The statistics that one batch normalisation gathers: float32 [channels] each."""

    mean: TensorSpec
    variance: TensorSpec


class ModelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contract of a device model's two graphs.

    ``train_step.onnx`` takes a batch of exactly `batch_size` samples (short ones are padded and masked with weight 0):

    - every tensor of `inputs`, and `target`, each with a leading batch axis;
    - ``sample_weight`` float32 [batch_size];
    - each of `scalars`: float32 []. ``learning_rate`` and ``proximal_weight`` are always among them, ``step`` is the
      number of steps done before, the others are those that `coterie_learning.local.StepScalars` names;
    - where ``distillation_weight`` is one of them, ``teacher`` float32 [batch_size, *output]: the teacher's
      probabilities, or its values;
    - ``seed`` int64 [], at least 0 and below 2**52, where the model is `seeded`: the same seed drops the same elements;
    - for each of `parameters`: ``param.NAME``, and ``anchor.NAME``, the proximal term's centre;
    - for each of `statistics`: ``state.NAME``; each of `slots` and of `frozen` by its name;

    and gives ``loss`` float32 [], ``correct`` float32 [] where the `task` has it (weighted hits in the batch, those of
    a sample with several outputs by their share), for each parameter ``next.param.NAME``, for each of the statistics
    ``next.state.NAME``, and for each slot ``next.NAME``. Slots begin as zeros and stay on the device.

    ``predict.onnx`` takes `inputs` with any leading batch axis, ``param.NAME``, ``state.NAME`` and `frozen`, and gives
    `output` with the same batch axis. Where the model has its `own_loss`, it also takes `target`, and gives
    ``losses`` float32 [batch], by which the model is judged.

    Where the model has a `length`, both graphs take batches of any length within its bounds, all samples of a batch
    filled up to the same; the shapes here are those of the longest sample.
    """

    inputs: tuple[TensorSpec, ...]
    """Shapes of one sample, without the batch axis."""
    target: TensorSpec
    """Of one sample."""
    output: TensorSpec
    """Of one sample."""
    task: Task
    batch_size: Annotated[int, Meta(ge=1, le=4096)]
    parameters: tuple[TensorSpec, ...]
    """What is trained."""
    optimiser_state: tuple[TensorSpec, ...] = msgspec.field(name="slots")
    """What the optimiser remembers from step to step."""
    scalars: tuple[str, ...]
    statistics: tuple[RunningMoments, ...] = ()
    """What travels with the parameters, but is gathered instead of trained."""
    frozen: tuple[TensorSpec, ...] = ()
    """What never changes and is never uploaded, in the form in which the graphs take it."""
    seeded: bool = False
    head: Head | None = None
    """None where the parameters that belong to one class cannot be told."""
    padding: int | None = None
    """The token that stands where a sequence has ended; of `tokens` alone."""
    own_loss: Literal[True] | UnsetType = UNSET
    """Whether the loss is none of those that a `task` has; left out where it is not, as manifests of old do."""
    length: Length | UnsetType = UNSET
    """How samples differ in length; left out where all samples of the model have one shape."""
    cut: str | UnsetType = UNSET
    """The input whose gradient by the batch's loss the train step also gives, as ``gradient.NAME``: there the model is
    one half of a split network. Left out where it is none."""

    def __post_init__(self) -> None:
        floats = {tensor.name for tensor in self.inputs if tensor.dtype == "float32"}
        if self.cut is not UNSET and self.cut not in floats:
            raise ValueError("the cut is no input of numbers")
        if self.length is not UNSET:
            taken = {tensor.name: tensor.shape for tensor in self.inputs}
            every = {**taken, self.target.name: self.target.shape, self.output.name: self.output.shape}
            if self.length.axes.keys() - every.keys():
                raise ValueError("the length is said of tensors that a sample does not have")
            if {self.length.found_in(shapes) for shapes in (taken, every)} != {self.length.longest}:
                raise ValueError("the length is that of no input, or the shapes are not those of the longest sample")

    @classmethod
    def of_classifier(
        cls,
        *,
        inputs: tuple[TensorSpec, ...],
        classes: int,
        batch_size: int,
        parameters: tuple[TensorSpec, ...],
        head: Head | None = None,
    ) -> Self:
        """The contract of what is compiled without a recipe: one class a sample, all of it trained with momentum."""
        return cls(
            inputs=inputs,
            target=TensorSpec("target", "int64", ()),
            output=TensorSpec("logits", "float32", (classes,)),
            task="classes",
            batch_size=batch_size,
            parameters=parameters,
            optimiser_state=tuple(
                TensorSpec(f"velocity.{tensor.name}", "float32", tensor.shape) for tensor in parameters
            ),
            scalars=("learning_rate", "momentum", "proximal_weight", "distillation_weight"),
            head=head,
        )

    @property
    def classes(self) -> int:
        """How many classes the model tells apart; 0 where that is not its task."""
        return self.output.shape[0] if self.task == "classes" else 0

    @property
    def version(self) -> tuple[TensorSpec, ...]:
        """The tensors of one version: parameters, then statistics."""
        return self.parameters + tuple(tensor for pair in self.statistics for tensor in (pair.mean, pair.variance))


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version of a device model, complete."""

    protocol: Annotated[int, Meta(ge=0, le=2**53)]
    pair: str
    version: str
    number: int
    model: ModelSpec
    labels: tuple[str, ...]
    """What each class is called, for people."""
    train_step: BlobRef
    predict: BlobRef
    parameters: BlobRef
    """Parameters and statistics, as `ModelSpec.version` lists them."""
    frozen: BlobRef | None = None
    """The tensors of `ModelSpec.frozen`, the same for all versions of a pair; None where there are none."""
    server_state: BlobRef | UnsetType = UNSET
    """What the platform's merge remembers beside the version, where a round's devices need it; else left out."""


class Difference(msgspec.Struct, frozen=True):
    """How a device that has the parameters of one version can come by those of the next with fewer bytes.

    It is not signed: what comes of it must have the hash that the signed manifest names.
    """

    base: Sha256
    """The parameters that it is a difference from."""
    blob: BlobRef
    """A payload of `coterie_learning.differences`."""


class SignedManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest's exact bytes and the platform's Ed25519 signature over them."""

    manifest: Annotated[bytes, Meta(max_length=1 << 20)]
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]


def new_signing_key() -> bytes:
    """A fresh Ed25519 private key, 32 bytes. It signs manifests and nothing else."""
    return bytes(SigningKey.generate())


def verify_key_of(signing_key: bytes) -> bytes:
    """The public key of `signing_key`, 32 bytes, which devices receive when they enrol."""
    return bytes(SigningKey(signing_key).verify_key)


def sign_manifest(manifest: Manifest, signing_key: bytes) -> SignedManifest:
    """The manifest's bytes with their Ed25519 signature; equal manifests give equal bytes."""
    return sign_content(msgspec.json.encode(manifest), signing_key)


def verify_manifest(signed: SignedManifest, *verify_keys: bytes) -> Manifest:
    """The manifest that the platform signed with one of the keys whose public halves are `verify_keys`.

    Raises WireError ``bundle.bad_signature``, ``bundle.malformed`` or ``bundle.protocol``.
    """
    return read_signed(signed, Manifest, *verify_keys)


S = TypeVar("S", bound=msgspec.Struct)


def sign_content(content: bytes, signing_key: bytes) -> SignedManifest:
    """`content` with its Ed25519 signature."""
    return SignedManifest(manifest=content, signature=SigningKey(signing_key).sign(content).signature)


def read_signed(signed: SignedManifest, struct: type[S], *verify_keys: bytes) -> S:
    """The struct with a field ``protocol`` that the platform signed with one of the keys behind `verify_keys`.

    Raises WireError ``bundle.bad_signature``, ``bundle.malformed`` or ``bundle.protocol``.
    """
    if not any(is_signed_by(signed, key) for key in verify_keys):
        raise WireError("bundle.bad_signature", "the manifest was not signed by this platform's key")
    try:
        protocol = from_json(signed.manifest, _Protocol).protocol
        if protocol not in SPOKEN:
            raise WireError("bundle.protocol", f"the manifest speaks protocol {protocol}, this side {list(SPOKEN)}")
        return from_json(signed.manifest, struct)
    except UNREADABLE as error:
        raise WireError("bundle.malformed", f"{struct.__name__.lower()}: {error}") from error


def is_signed_by(signed: SignedManifest, verify_key: bytes) -> bool:
    """Whether the key whose public half is `verify_key` has signed it."""
    try:
        VerifyKey(verify_key).verify(signed.manifest, signed.signature)
    except BadSignatureError:
        return False
    return True


class _Protocol(msgspec.Struct, frozen=True):
    """Read first, from whatever shape a newer manifest has."""

    protocol: Annotated[int, Meta(ge=0, le=2**53)]
