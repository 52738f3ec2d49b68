"""Slot `codec`: how an update travels. One module a kind."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from coterie_learning.kinds import Kind, Resources
from coterie_learning.payloads import Payload
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory, Source, TensorFile, open_tensors
from coterie_wire.tensors import Array, Tensors, check_finite, check_specs, encode_tensors, planned_file

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

ALONE = frozenset({"columns", "models"})
"""Values of `coterie_learning.merge.Merge.reads` for merges that look at each update individually."""


class Encoded(NamedTuple):
    """An encoded update, and the encoding error of each tensor (error feedback: it is added to the next update)."""

    payload: bytes
    residual: Tensors


class PayloadBytes(NamedTuple):
    """How large the payloads of a codec are, with everything counted."""

    least: int
    usual: int
    """An estimate from measurements of real updates, where `least` and `most` differ."""
    most: int


class Codec(Kind, frozen=True):
    """Encodes the difference of parameters on the device, decodes it on the platform.

    A payload is a tensor file whose metadata holds the codec as a plan writes it, so that it cannot be read with
    another codec.
    """

    summable: ClassVar[bool] = False
    """Whether its payloads are `CodedPayload`, so that weighted sums of updates are sums of integers."""
    sum_bytes: ClassVar[float] = 4.25
    """Bytes per parameter of a typical weighted sum of updates: all bits of the grid of exact sums, unless scales have
    few bits."""
    exact: ClassVar[bool] = False
    """Whether it is lossless. A subclass that encodes in its own way says so itself."""
    coarse: ClassVar[bool] = False
    """Whether one payload alone is a poor estimate, so that only means over devices or rounds are accurate."""

    @classmethod
    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - of Struct
        """A lossless codec whose subclass overrides `encode` says nothing of that subclass."""
        super().__init_subclass__(**options)
        if "encode" in vars(cls) and "exact" not in vars(cls):
            cls.exact = False

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """A coarse codec works only where updates are summed, and not between devices."""
        if not self.coarse:
            return None
        if plan.help.rules() is not None:
            sentence = "what devices send each other would be too coarse; take float32, int8 or int4 where they help"
            return Reason("plan.too_coarse", sentence)
        if plan.merge.reads in ALONE:
            sentence = f"merge {plan.merge.name} looks at each update by itself, which it makes too coarse for that"
            return Reason("plan.too_coarse", f"{sentence}; take float32, int8 or int4")
        return None

    def feeds_back(self) -> bool:
        """Whether the device adds the encoding error to its next update (error feedback)."""
        return True

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        """`update` as safetensors bytes; the same update and seed give the same bytes.

        Raises WireError ``update.not_finite``.
        """
        raise NotImplementedError

    def stored(self, expected: tuple[TensorSpec, ...], stated: Mapping[str, TensorSpec] = {}) -> tuple[TensorSpec, ...]:
        """Specs of the tensors in a payload that encodes the tensors `expected`.

        `stated` are the specs in the payload's header: lengths that do not follow from shapes are taken from there.
        """
        raise NotImplementedError

    def payload_bytes(self, expected: tuple[TensorSpec, ...]) -> PayloadBytes:
        """The size of a payload that encodes the tensors `expected`, without encoding one."""
        size_bytes = planned_file(self.stored(expected), self.metadata()).size_bytes
        return PayloadBytes(size_bytes, size_bytes, size_bytes)

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> Payload:
        """A reader of the payload, whose tensor names, dtypes and shapes have been checked.

        Raises OSError, or WireError ``update.not_finite``.
        """
        raise NotImplementedError

    def open(self, source: Source, *, expected: tuple[TensorSpec, ...]) -> Payload:
        """The payload in `source`, which must have exactly the tensors `expected`; only its header is read.

        Raises OSError, or WireError ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape`` or
        ``update.not_finite``, before it allocates more than the payload's own size.
        """
        try:
            stored = open_tensors(source)
        except WireError as error:
            raise WireError("update.malformed", error.detail) from error
        found, wanted = stored.header.metadata, self.metadata()
        if found != wanted:
            raise WireError("update.wrong_codec", f"the payload says {found}, expected {wanted}")
        try:
            check_specs(stored.header, self.stored(expected, stored.header.specs))
        except WireError as error:
            raise WireError("update.wrong_shape", error.detail) from error
        return self.payload(stored, expected)

    def decode(self, payload: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Tensors:
        """The tensors of `payload`, which must be exactly those of `expected`; they may be views into it.

        Raises what `open` raises.
        """
        found = self.open(InMemory(payload), expected=expected)
        update = {
            spec.name: found.numbers(spec.name, 0, math.prod(spec.shape)).reshape(spec.shape) for spec in expected
        }
        check_update(update)
        return update

    def pack(self, tensors: Mapping[str, Array]) -> bytes:
        """`encoded` tensors as a payload, marked with this codec's name and settings."""
        return encode_tensors(tensors, self.metadata())

    def metadata(self) -> Mapping[str, str]:
        """The metadata of a payload."""
        return {"codec": msgspec.json.encode(self).decode()}


def check_update(update: Tensors) -> None:
    """Raises WireError ``update.not_finite``."""
    try:
        check_finite(update)
    except WireError as error:
        raise WireError("update.not_finite", error.detail) from error
