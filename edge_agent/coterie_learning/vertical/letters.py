"""The messages between the two parties of vertical learning; each is encrypted before it leaves a party."""

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
"""Most people that a party may have."""
MAX_NUMBERS_BYTES = 1 << 17
"""Most bytes of the tensors in one letter."""
MAX_LETTER_BYTES = MAX_NUMBERS_BYTES + 4096
"""Most bytes of a letter with its envelope, before encryption."""
Numbers: TypeAlias = Annotated[bytes, Meta(max_length=MAX_NUMBERS_BYTES)]
"""float32, little-endian."""
Bits: TypeAlias = Annotated[bytes, Meta(max_length=MAX_ROWS // 8 + 1)]
"""One bit a person, in the common order; the first is the highest of its byte."""
Part: TypeAlias = Literal["train", "held", "asked"]
"""People to train on; people held out for evaluation; people whose labels are to be predicted."""


class Blinded(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="blinded"):
    """Points of the sender's people, multiplied by its secret number."""

    total: Count
    """Number of points in all letters together."""
    first: Count
    points: Annotated[bytes, Meta(max_length=CHUNK_POINTS * POINT_BYTES)]


class Doubled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="doubled"):
    """The receiver's points, also multiplied by the sender's number."""

    first: Count
    points: Annotated[bytes, Meta(max_length=CHUNK_POINTS * POINT_BYTES)]


class Divided(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="divided"):
    """From the party with the labels: the division of the common people into parts."""

    train: Bits
    held: Bits
    asked: Bits


class Forward(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="forward"):
    """From the party with columns only: the output of its half for some people."""

    part: Part
    number: Count
    """Number of the step in training, else of the first person within the part."""
    values: Numbers


class Backward(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="backward"):
    """From the party with the labels: the protected gradient of each sample's loss by the forwarded values."""

    number: Count
    gradient: Numbers


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="done"):
    """From the party with columns only: the end of the protocol."""


Letter: TypeAlias = Blinded | Doubled | Divided | Forward | Backward | Done


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The encrypted content: a letter with its number, so that a relay can neither reorder nor replay it."""

    alliance: Identifier
    number: Count
    """Number of the letter, counted by the sender from 0."""
    letter: Letter


def encode_letter(envelope: Envelope) -> bytes:
    """Encode as MessagePack."""
    return msgspec.msgpack.encode(envelope)


def decode_letter(content: bytes, *, alliance: str, number: int) -> Letter:
    """The decrypted letter, which must be the next one. Raises WireError ``vertical.malformed``."""
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
    """[rows, width]. Raises WireError ``vertical.malformed`` where their number is wrong, or they are not finite."""
    if len(content) != 4 * rows * width:
        raise WireError("vertical.malformed", f"{len(content)} bytes are not {rows} x {width} numbers")
    found = np.frombuffer(content, "<f4").reshape(rows, width).astype(np.float32)
    if not np.isfinite(found).all():
        raise WireError("vertical.malformed", "a number is not finite")
    return found


def bytes_of(numbers: NDArray[np.float32]) -> bytes:
    """The reverse of `numbers_of`."""
    return np.ascontiguousarray(numbers, "<f4").tobytes()
