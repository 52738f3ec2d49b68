"""An algorithm's state between rounds: named tensors and JSON, in one blob with a checksum.

The blob is the SHA-256 of the rest, 32 bytes, and a tensor file whose metadata holds the JSON.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Array, encode_tensors, read_header, view_tensors

_DIGEST_BYTES = 32


class State(NamedTuple):
    """The state of one slot's kind on the device, stored from round to round."""

    tensors: Mapping[str, Array] = {}
    values: Mapping[str, object] = {}
    """Values that JSON can represent."""

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing."""
        return not self.tensors and not self.values


NO_STATE = State()
States = Mapping[str, State]
"""States by the name of the slot; a slot that is missing has no state."""


def encode_state(state: State) -> bytes:
    """`state` as a blob; equal states give equal bytes."""
    values = {"values": msgspec.json.encode(state.values, order="deterministic").decode()} if state.values else {}
    content = encode_tensors(state.tensors, values)
    return hashlib.sha256(content).digest() + content


def decode_state(blob: bytes) -> State:
    """Inverse of `encode_state`; the tensors are read-only views into `blob`. Raises WireError ``state.damaged``."""
    content = memoryview(blob)[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != blob[:_DIGEST_BYTES]:
        raise WireError("state.damaged", f"a state of {len(blob)} bytes is not what was written")
    try:
        header = read_header(content)
        tensors = view_tensors(content, header, expected=tuple(header.specs.values()))
        values = from_json(header.metadata.get("values", "{}"), dict[str, object])
    except (WireError, *UNREADABLE) as error:
        raise WireError("state.damaged", f"a state of {len(blob)} bytes: {error}") from error
    return State(tensors, values)
