"""Device state derived from a device's own updates, one tensor a parameter, discarded when it is too old."""

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from coterie_learning.device_state import State
from coterie_learning.local import DELTA, Broadcast, Ended
from coterie_wire.tensors import Tensors

ROUND = "round"


def remembered(state: State, broadcast: Broadcast, *, keep_rounds: int) -> Tensors:
    """The tensors stored by `remembering`; zeros where there are none, of another model, or over `keep_rounds` old."""
    received = broadcast.received
    found = {name: (tensor.shape, tensor.dtype) for name, tensor in state.tensors.items()}
    fits = found == {name: (tensor.shape, np.dtype(np.float32)) for name, tensor in received.items()}
    since = state.values.get(ROUND)
    if not fits or not isinstance(since, int) or broadcast.round - since > keep_rounds:
        return {name: np.zeros_like(tensor) for name, tensor in received.items()}
    return cast(Tensors, state.tensors)


def remembering(tensors: Mapping[str, object], broadcast: Broadcast) -> State:
    """The state with `tensors` as of this round."""
    return State(cast(Tensors, tensors), {ROUND: broadcast.round})


def less_what_was_sent(ended: Ended, sent: Callable[[], Mapping[str, Tensors]]) -> State:
    """The state at the end of a round, its tensors minus the difference that was sent, as the platform decodes it."""
    update = sent()[DELTA]
    return State({name: own - update[name] for name, own in ended.state.tensors.items()}, ended.state.values)
