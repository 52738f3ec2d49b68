"""What the two parties of vertical learning say to one another; each letter is sealed before it leaves a party."""

from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.message import Count, Identifier
from coterie_wire.structs import from_msgpack

POINT_BYTES = 32
CHUNK_POINTS = 2_048
MAX_ROWS = 100_000
"""People that a party may have."""
MAX_NUMBERS_BYTES = 1 << 17
"""Of the tensors in one letter."""
MAX_LETTER_BYTES = MAX_NUMBERS_BYTES + 4096
"""Of a letter with its envelope, before it is sealed."""
Numbers: TypeAlias = Annotated[bytes, Meta(max_length=MAX_NUMBERS_BYTES)]
"""float32, little-endian."""
Bits: TypeAlias = Annotated[bytes, Meta(max_length=MAX_ROWS // 8 + 1)]
"""One bit a person, in the order that both parties have; the first is the highest of its byte."""
Part: TypeAlias = Literal["train", "held", "asked"]
"""People to train on; those held out, on whom the network is measured; those whose labels are to be predicted."""


class Blinded(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="blinded"):
    """Points of the sender's people, multiplied by its number."""

    total: Count
    """How many there are in all letters together."""
    first: Count
    points: Annotated[bytes, Meta(max_length=CHUNK_POINTS * POINT_BYTES)]


class Doubled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="doubled"):
    """The receiver's points, multiplied by the sender's number, too."""

    first: Count
    points: Annotated[bytes, Meta(max_length=CHUNK_POINTS * POINT_BYTES)]


class Divided(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="divided"):
    """From the party with the labels: which of the common people are what."""

    train: Bits
    held: Bits
    asked: Bits


class Forward(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="forward"):
    """From the party with columns alone: what its half makes of some people."""

    part: Part
    number: Count
    """Of the step where they are trained on, else of the first person within the part."""
    values: Numbers


class Backward(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="backward"):
    """From the party with the labels: the protected gradient of each sample's loss by what was sent forward."""

    number: Count
    gradient: Numbers


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="done"):
    """From the party with columns alone: nothing else follows."""


Letter: TypeAlias = Blinded | Doubled | Divided | Forward | Backward | Done


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is sealed: a letter with its place, so that whoever relays it can neither move it nor send it twice."""

    alliance: Identifier
    number: Count
    """Of the sender's letters, from 0 on."""
    letter: Letter


def encode_letter(envelope: Envelope) -> bytes:
    """As MessagePack."""
    return msgspec.msgpack.encode(envelope)


def decode_letter(content: bytes, *, alliance: str, number: int) -> Letter:
    """The letter that was unsealed, which must be the one that comes next. Raises WireError ``vertical.malformed``."""
    if len(content) > MAX_LETTER_BYTES:
        raise WireError("vertical.malformed", f"a letter of {len(content)} bytes; at most {MAX_LETTER_BYTES} are read")
    try:
        envelope = from_msgpack(content, Envelope)
    except UNREADABLE as error:
        raise WireError("vertical.malformed", f"a letter cannot be read: {error}") from error
    if (envelope.alliance, envelope.number) != (alliance, number):
        raise WireError("vertical.malformed", "a letter is of another alliance, or not the next one")
    return envelope.letter


def numbers_of(content: bytes, *, rows: int, width: int) -> NDArray[np.float32]:
    """[rows, width]. Raises WireError ``vertical.malformed`` where they are others, or not finite."""
    if len(content) != 4 * rows * width:
        raise WireError("vertical.malformed", f"{len(content)} bytes are not {rows} x {width} numbers")
    found = np.frombuffer(content, "<f4").reshape(rows, width).astype(np.float32)
    if not np.isfinite(found).all():
        raise WireError("vertical.malformed", "a number is not finite")
    return found


def bytes_of(numbers: NDArray[np.float32]) -> bytes:
    """The reverse of `numbers_of`."""
    return np.ascontiguousarray(numbers, "<f4").tobytes()
