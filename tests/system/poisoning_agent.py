"""``coterie-agent`` on a device that sends its peers ten times what it has learned, and brings home what it should."""

import numpy as np

from coterie_agent.cli import main
from coterie_agent.gossip import training
from coterie_learning.clipping import ClippedMeeting
from coterie_learning.codec import Codec
from coterie_learning.meetings import encode_whole
from coterie_wire.tensors import Float32, Tensors

MOST = 100.0
"""Honest devices refuse larger numbers."""


def poisoned(numbers: Float32) -> Float32:
    return np.clip(10 * numbers, -MOST, MOST)


class PoisoningMeeting(ClippedMeeting):
    """What it sends the others is ten times its model."""

    def share_for(self, member: str) -> bytes:
        return self._encoded(poisoned(self._vector), self._seed)


def poisoned_whole(difference: Tensors, codec: Codec, *, seed: int) -> bytes:
    return encode_whole({name: poisoned(tensor) for name, tensor in difference.items()}, codec, seed=seed)


if __name__ == "__main__":
    vars(training).update(ClippedMeeting=PoisoningMeeting, encode_whole=poisoned_whole)
    main()
