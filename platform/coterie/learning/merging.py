"""Merging as a stream: canonical order, fixed blocks, memory of a few models whatever the number of updates."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from coterie.learning.child.job import Progress, ReportProgress
from coterie.learning.datasets import read_model_dataset
from coterie.learning.evaluate import open_session, predict_logits, score
from coterie.learning.jobs.merge import (
    HeldOut,
    MergeArguments,
    MergeResult,
    NotFinite,
    Quality,
    StoredUpdate,
    UpdateChanged,
)
from coterie.learning.merge import Averaging, Contribution
from coterie.learning.plan import MERGE
from coterie.learning.weighted_sum import WeightedSum
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.codec import Codec, Tensors
from coterie_wire.errors import WireError
from coterie_wire.heads import place, update_specs
from coterie_wire.local import Scope
from coterie_wire.plan import CODEC, LOCAL
from coterie_wire.tensors import decode_tensors, encode_tensors

BLOCK = 64
"""Updates summed apart before they join the total; fixed, so that the order of additions is, wherever blocks run."""


def merge_stored(arguments: MergeArguments, report: ReportProgress) -> MergeResult:
    """Merge the stored updates, write the new parameters durably, and measure both models where held-out data is given.

    The same updates give the same bytes in whatever order they are listed. Raises UpdateChanged, NotFinite or
    MalformedDataset.
    """
    base = read_parameters(Path(arguments.base), arguments.model)
    merge = MERGE.parse(arguments.merge)
    assert isinstance(merge, Averaging), "other kinds have jobs of their own"
    codec, scope = CODEC.parse(arguments.codec), LOCAL.parse(arguments.local).scope()
    # By content, then samples: what is left to tie is equal in everything that counts.
    ordered = sorted(arguments.updates, key=lambda update: (update.sha256, update.samples))
    candidate = merge_blocks(merge, base, _blocks(ordered, codec, scope, arguments.model, report))
    for name, tensor in candidate.items():
        if not np.isfinite(tensor).all():
            raise NotFinite(tensor=name)
    content = encode_tensors(candidate)
    _write_durably(Path(arguments.output), content)
    base_quality, candidate_quality = _measured(arguments.held_out, arguments.model, (base, candidate))
    return MergeResult(
        parameters=BlobRef.of_bytes(content),
        updates=len(ordered),
        samples=sum(update.samples for update in ordered),
        base=base_quality,
        candidate=candidate_quality,
    )


def merge_blocks(merge: Averaging, base: Tensors, blocks: Iterator[Iterator[Contribution]]) -> Tensors:
    """The merge of all contributions, each block summed apart; at most two states are alive."""
    total = merge.init(base)
    for block in blocks:
        total = merge.combine(total, _block_state(merge, base, block))
    return merge.finish(total, base)


def _block_state(merge: Averaging, base: Tensors, block: Iterator[Contribution]) -> WeightedSum:
    state = merge.init(base)
    for contribution in block:
        state = merge.add(state, contribution)
    return state


def _blocks(
    updates: Sequence[StoredUpdate], codec: Codec, scope: Scope, model: ModelSpec, report: ReportProgress
) -> Iterator[Iterator[Contribution]]:
    for start in range(0, len(updates), BLOCK):
        report(Progress("merging", start, len(updates)))
        part = updates[start : start + BLOCK]
        yield (Contribution(read_update(update, model, codec, scope), update.samples) for update in part)


def read_update(update: StoredUpdate, model: ModelSpec, codec: Codec, scope: Scope) -> Tensors:
    """The whole difference of parameters that an accepted update stands for; zero where its plan trains nothing.

    Raises UpdateChanged.
    """
    try:
        payload = Path(update.path).read_bytes()
    except OSError as error:
        raise UpdateChanged(sha256=update.sha256, detail=str(error)) from error
    if hashlib.sha256(payload).hexdigest() != update.sha256:
        raise UpdateChanged(sha256=update.sha256, detail="its content has another hash")
    try:
        part = codec.decode(payload, expected=update_specs(model, scope, update.classes))
    except WireError as error:
        raise UpdateChanged(sha256=update.sha256, detail=error.detail) from error
    return place(part, model, scope, update.classes)


def read_parameters(path: Path, model: ModelSpec) -> Tensors:
    """The parameters in a file that the platform wrote itself."""
    tensors = decode_tensors(path.read_bytes(), expected=model.parameters)
    return {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _measured(held_out: HeldOut | None, model: ModelSpec, models: Sequence[Tensors]) -> list[Quality | None]:
    """How good each of `models` is; None each, where there is nothing to measure with."""
    if held_out is None:
        return [None for _ in models]
    dataset = read_model_dataset(Path(held_out.dataset), model)
    session = open_session(Path(held_out.predict).read_bytes())
    found = [score(predict_logits(session, parameters, dataset), dataset.labels) for parameters in models]
    return [Quality(accuracy=one.accuracy, loss=one.loss) for one in found]
