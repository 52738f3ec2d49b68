"""Folds of updates that are given as numbers, for tests of merges."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.cohort import weights
from coterie_learning.fold import Counted, Folded, fold_in_memory
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge import Merge, ServerState
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors


def folded(
    merge: Merge,
    base: Tensors,
    updates: Sequence[Tensors],
    samples: Sequence[int] | None = None,
    state: ServerState | None = None,
    codec: Codec | None = None,
    block: int | None = None,
) -> Folded:
    """The merge of `updates`, which have one sample each unless it is said."""
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in base.items())
    model = ModelSpec.of_classifier(inputs=(), classes=3, batch_size=1, parameters=specs)
    contents = Contents(model, codec or Float32Codec(), Sgd())
    found = weights(merge.counted(samples or [1] * len(updates)))
    counted = [
        Counted(partial(_opened, contents, contents.codec.encode(update, seed=7).payload), weight)
        for update, weight in zip(updates, found, strict=True)
    ]
    return fold_in_memory(merge, specs, counted, base, state, block=block)


@contextmanager
def _opened(contents: Contents, payload: bytes) -> Iterator[UpdateFile]:
    yield contents.open(InMemory(payload), ())
