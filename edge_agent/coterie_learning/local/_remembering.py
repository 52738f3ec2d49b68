"""What devices remember of their own updates from round to round, one tensor a parameter, until it is too old."""

from collections.abc import Mapping
from typing import cast

import numpy as np

from coterie_learning.device_state import State
from coterie_learning.local import Broadcast
from coterie_wire.tensors import Tensors

ROUND = "round"


def remembered(state: State, broadcast: Broadcast, *, keep_rounds: int) -> Tensors:
    """What `remembering` stored; zeros where it is nothing, of another model, or more than `keep_rounds` old."""
    received = broadcast.received
    found = {name: (tensor.shape, tensor.dtype) for name, tensor in state.tensors.items()}
    fits = found == {name: (tensor.shape, np.dtype(np.float32)) for name, tensor in received.items()}
    since = state.values.get(ROUND)
    if not fits or not isinstance(since, int) or broadcast.round - since > keep_rounds:
        return {name: np.zeros_like(tensor) for name, tensor in received.items()}
    return cast(Tensors, state.tensors)


def remembering(tensors: Mapping[str, object], broadcast: Broadcast) -> State:
    """The state that holds `tensors` as of this round."""
    return State(cast(Tensors, tensors), {ROUND: broadcast.round})
