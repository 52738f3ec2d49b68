"""States as blobs: what was written is read again, and damage is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.device_state import NO_STATE, State, decode_state, encode_state
from coterie_wire.errors import WireError

STATE = State(
    {"delta.w": np.arange(6, dtype=np.float32).reshape(2, 3), "seen": np.array([1, 2], np.int64)},
    {"rounds": 3, "rate": 0.5, "names": ["a", "b"]},
)


@pytest.mark.parametrize("state", [STATE, NO_STATE, State(values={"rounds": 1}), State(tensors=STATE.tensors)])
def test_what_was_written_is_read_again(state: State) -> None:
    found = decode_state(encode_state(state))
    assert found.values == state.values
    assert found.tensors.keys() == state.tensors.keys()
    for name, tensor in state.tensors.items():
        np.testing.assert_array_equal(found.tensors[name], tensor)
        assert found.tensors[name].dtype == tensor.dtype
    assert found.is_empty is (state is NO_STATE)


def test_equal_states_give_equal_bytes() -> None:
    other = State(dict(reversed(STATE.tensors.items())), dict(reversed(STATE.values.items())))
    assert encode_state(other) == encode_state(STATE)


@given(place=st.integers(0, len(encode_state(STATE)) - 1), bit=st.integers(0, 7))
def test_damage_is_found(place: int, bit: int) -> None:
    blob = bytearray(encode_state(STATE))
    blob[place] ^= 1 << bit
    with pytest.raises(WireError) as caught:
        decode_state(bytes(blob))
    assert caught.value.code == "state.damaged"


@pytest.mark.parametrize("length", [0, 5, 32, 60])
def test_what_was_cut_off_is_damaged(length: int) -> None:
    with pytest.raises(WireError, match="state of"):
        decode_state(encode_state(STATE)[:length])
