"""Between rounds a device trains on whole batches of new samples, in order; the remainder waits for more samples.

A batch is evaluated before the model trains on it; a step on a few samples would weigh them as much as a whole batch.
"""

from collections.abc import Iterator, Sequence

from coterie_wire.conditions import Reason


def whole_batches(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """The complete batches of `size` in `ids`, oldest first."""
    for start in range(0, len(ids) - size + 1, size):
        yield ids[start : start + size]


def waits_for_a_batch(samples: int, size: int) -> Reason | None:
    """Why a device with `samples` samples does not train between rounds; None: they make up a batch of `size`."""
    if samples >= size:
        return None
    have = f"{samples} sample{'' if samples == 1 else 's'}"
    sentence = f"between rounds it trains on whole batches of {size}, and it has {have}: {size - samples} more to come"
    return Reason("data.less_than_a_batch", sentence)
