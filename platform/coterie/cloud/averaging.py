"""Merging as a stream: canonical order, fixed blocks, memory of a few models whatever the number of updates."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.averaging_job import (
    HeldOut,
    MergeArguments,
    MergeResult,
    NotFinite,
    Quality,
    StoredUpdate,
    UpdateChanged,
)
from coterie.evaluation.datasets import read_model_dataset
from coterie.evaluation.scoring import ask, open_session, read_frozen, score
from coterie_learning.codec import Codec
from coterie_learning.device_plan import CODEC, LOCAL
from coterie_learning.heads import place, update_specs
from coterie_learning.local import Scope
from coterie_learning.merge import Averaging, Contribution
from coterie_learning.moments import MomentSum, add_moment_sums, add_moments, empty_moments, merged_moments
from coterie_learning.plan import MERGE
from coterie_learning.updates import split_update
from coterie_learning.weighted_sum import WeightedSum
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors

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
    candidate = merge_blocks(merge, arguments.model, base, _blocks(ordered, codec, scope, arguments.model, report))
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


class _State(NamedTuple):
    parameters: WeightedSum
    statistics: MomentSum


def merge_blocks(
    merge: Averaging, model: ModelSpec, base: Tensors, blocks: Iterator[Iterator[Contribution]]
) -> Tensors:
    """The merge of all contributions, each block summed apart; at most two states are alive."""
    learned = {spec.name: base[spec.name] for spec in model.parameters}
    total = _State(merge.init(learned), empty_moments(model.statistics))
    for block in blocks:
        state = _State(merge.init(learned), empty_moments(model.statistics))
        for contribution in block:
            state = _added(merge, model, base, state, contribution)
        total = _State(
            merge.combine(total.parameters, state.parameters), add_moment_sums(total.statistics, state.statistics)
        )
    parameters = merge.finish(total.parameters, learned)
    return {**parameters, **merged_moments(total.statistics, model.statistics, base)}


def _added(merge: Averaging, model: ModelSpec, base: Tensors, state: _State, contribution: Contribution) -> _State:
    return _State(
        merge.add(state.parameters, contribution),
        add_moments(state.statistics, model.statistics, contribution.statistics, base, float(contribution.samples)),
    )


def _blocks(
    updates: Sequence[StoredUpdate], codec: Codec, scope: Scope, model: ModelSpec, report: ReportProgress
) -> Iterator[Iterator[Contribution]]:
    for start in range(0, len(updates), BLOCK):
        report(Progress("merging", start, len(updates)))
        part = updates[start : start + BLOCK]
        yield (_contribution(update, model, codec, scope) for update in part)


def _contribution(update: StoredUpdate, model: ModelSpec, codec: Codec, scope: Scope) -> Contribution:
    found = read_update(update, model, codec, scope)
    return Contribution(found.difference, update.samples, found.statistics)


class Read(NamedTuple):
    """An update, decoded."""

    difference: Tensors
    """Of all parameters; zero where its plan trains nothing."""
    statistics: Tensors
    """As the device gathered them."""


def read_update(update: StoredUpdate, model: ModelSpec, codec: Codec, scope: Scope) -> Read:
    """What an accepted update stands for.

    Raises UpdateChanged.
    """
    try:
        payload = Path(update.path).read_bytes()
    except OSError as error:
        raise UpdateChanged(sha256=update.sha256, detail=str(error)) from error
    if hashlib.sha256(payload).hexdigest() != update.sha256:
        raise UpdateChanged(sha256=update.sha256, detail="its content has another hash")
    try:
        parts = split_update(payload, model)
        part = codec.decode(parts.encoded, expected=update_specs(model, scope, update.classes))
    except WireError as error:
        raise UpdateChanged(sha256=update.sha256, detail=error.detail) from error
    return Read(place(part, model, scope, update.classes), parts.statistics)


def read_parameters(path: Path, model: ModelSpec) -> Tensors:
    """The tensors of a version, in a file that the platform wrote itself."""
    tensors = decode_tensors(path.read_bytes(), expected=model.version)
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
    frozen = read_frozen(held_out.frozen, model)
    answers = (ask(session, tensors, dataset, frozen) for tensors in models)
    found = [
        score(answer.output, dataset.labels, task=model.task, padding=model.padding, own=answer.own)
        for answer in answers
    ]
    return [Quality(accuracy=one.accuracy, loss=one.loss, class_accuracy=one.class_accuracy) for one in found]
