"""Folds of updates that are given as numbers, for tests of merges."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_plan import LOCAL
from coterie_learning.fold import Aggregation, CountedUpdate, Folded, fold_in_memory
from coterie_learning.geometry import Opens
from coterie_learning.local import Local
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge import Merge, ServerState
from coterie_learning.tally import Tally, tally
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.updates import encode_scalars, join_update
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
    fleet: int = 0,
    scalars: Sequence[Mapping[str, float]] | None = None,
) -> Folded:
    """The merge of `updates`, which have one sample each, scalars of 1 and equal parts, where nothing else is said."""
    halves = (kind() for kind in LOCAL.kinds.values() if merge.half_of and kind.half_of == merge.half_of)
    local = next(halves, Sgd())
    told = scalars or [dict.fromkeys(local.scalars, 1.0)] * len(updates)
    specs, opens = stored(base, updates, codec or Float32Codec(), told, local)
    root = _root(base, updates) if merge.compares_with_root else None
    found = tally(merge, specs, opens, samples or [1] * len(updates), root=root)
    counted = [CountedUpdate(*pair) for pair in zip(opens, found.weights, strict=True) if pair[1]]
    if not counted:  # production abandons the round
        return Folded(base, state or merge.init(base))
    return fold_in_memory(
        merge,
        specs,
        counted,
        base,
        state,
        Aggregation(parts=local.parts, scalars=local.scalars, fleet=fleet, share=found.share),
        block=block,
    )


def _root(base: Tensors, updates: Sequence[Tensors]) -> Callable[[], AbstractContextManager[UpdateFile]]:
    """What the platform has learned itself, where nothing is said of it: what devices have, for the most part."""
    median = {name: np.median([one[name] for one in updates], axis=0).astype(np.float32) for name in base}
    _, (opened,) = stored(base, [median], Float32Codec())
    return opened


def tallied(merge: Merge, updates: Sequence[Tensors]) -> Tally:
    """By what each of `updates` counts."""
    specs, opens = stored(updates[0], updates, Float32Codec())
    return tally(merge, specs, opens, [1] * len(updates))


def stored(
    base: Tensors,
    updates: Sequence[Tensors],
    codec: Codec,
    scalars: Sequence[Mapping[str, float]] | None = None,
    local: Local | None = None,
) -> tuple[Sequence[TensorSpec], Opens]:
    """The tensors of `base`, and `updates` as they are uploaded under `local`, every part alike, with `scalars`."""
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in base.items())
    model = ModelSpec.of_classifier(inputs=(), classes=3, batch_size=1, parameters=specs)
    contents = Contents(model, codec, local or Sgd())
    told = scalars or [{}] * len(updates)
    return specs, [
        partial(_opened, contents, contents.codec.encode(update, seed=7).payload, numbers)
        for update, numbers in zip(updates, told, strict=True)
    ]


@contextmanager
def _opened(contents: Contents, payload: bytes, scalars: Mapping[str, float]) -> Iterator[UpdateFile]:
    parts = [payload] * len(contents.local.parts)
    beside = [encode_scalars(scalars)] if contents.local.scalars else []
    file = contents.open(InMemory(join_update({}, *parts, *beside)), ())
    file.scalars = scalars
    yield file
