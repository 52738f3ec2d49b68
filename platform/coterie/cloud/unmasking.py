"""From the masked vectors of a secure sum to the mean update of its devices, as a file that merges read."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from coterie.cloud.averaging_job import MaskedSum, StoredBlob, StoredUpdate, SumFigures, SumWrong, UpdateChanged
from coterie_learning.contribution import Contents
from coterie_learning.privacy import Masking
from coterie_learning.secure_sum.recovery import Mask, unmasked
from coterie_learning.secure_sum.vector import Layout, VectorFile, open_vector
from coterie_learning.update_files import Contents as UpdateContents
from coterie_wire.bundle import BlobRef
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source
from coterie_wire.tensors import Tensors

Opens = Callable[[StoredBlob], AbstractContextManager[Source]]
"""Opens a file after its hash was checked. Raises BlobDamaged."""


class Unmasked(NamedTuple):
    """The mean update, and the devices' figures together."""

    update: StoredUpdate
    figures: SumFigures


def unmask(masked: MaskedSum, masking: Masking, contents: UpdateContents, base: Tensors, opens: Opens) -> Unmasked:
    """Remove the masks from the sum of the vectors, and write the mean update.

    `base` are the running statistics of the version that devices started from. Raises UpdateChanged, SumWrong, or what
    `opens` raises.
    """
    what = Contents(contents.model, contents.local, masking, masked.members, masked.seed)
    lying = [Mask(one.seed, one.is_added) for one in masked.masks]
    total = unmasked(_opened(masked, what.layout, opens), what.layout, lying)
    try:
        found = what.summed(total.numbers, total.tail, len(masked.vectors), base, contents.codec)
    except WireError as error:
        raise SumWrong(sentence=error.detail) from error
    output = Path(masked.output)
    output.write_bytes(found.payload)
    return Unmasked(
        StoredUpdate(str(output), BlobRef.of_bytes(found.payload).sha256, found.samples, devices=found.devices),
        SumFigures(found.devices, *(found.figures or (None, None, None, None))),
    )


def _opened(masked: MaskedSum, layout: Layout, opens: Opens) -> Iterator[VectorFile]:
    """The vectors, one of which is open at a time."""
    for stored in masked.vectors:
        with opens(stored) as file:
            try:
                yield open_vector(file, layout, masked.digest)
            except WireError as error:
                raise UpdateChanged(sha256=stored.sha256, detail=error.detail) from error
