"""A round's merge from files to a file: updates are verified, compared with their cohort, and folded in blocks.

Everything is read and written as a stream: beside the models that are measured, memory is that of a block.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import numpy as np

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.averaging_job import (
    BlobDamaged,
    Compared,
    HeldOut,
    LeftOut,
    MergeArguments,
    MergeResult,
    NotFinite,
    NoUpdateLeft,
    Quality,
    StoredBlob,
    StoredUpdate,
    TooFewUpdates,
    UpdateChanged,
)
from coterie.evaluation.datasets import read_model_dataset
from coterie.evaluation.scoring import ask, open_session, read_frozen, score
from coterie_learning.cohort import admit, discounted, shortened, weights
from coterie_learning.device_plan import CODEC, LOCAL, PRIVACY
from coterie_learning.flat import parameters_of
from coterie_learning.fold import Block, Counted, Read, Release, fold_parameters, fold_statistics
from coterie_learning.merge import Merge
from coterie_learning.noise import SECRET_BYTES, release_key
from coterie_learning.plan import MERGE
from coterie_learning.privacy import Privacy
from coterie_learning.server_state import read_state, remembers, state_writer, write_state
from coterie_learning.tally import Tally, standing_out, tally
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.contract import gathered
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source, TensorWriter, created, open_tensors, opened
from coterie_wire.tensors import Float32, Tensors, check_specs, decode_tensors

HASHED_BYTES = 1 << 18
"""Bytes read at once, so that they are hashed while they are in the processor's cache."""


def merge_stored(arguments: MergeArguments, report: ReportProgress) -> MergeResult:
    """Merge the stored updates, write the new parameters durably, and measure both models where held-out data is given.

    The same updates give the same bytes in whatever order they are listed. An update that is damaged, not finite, out
    of range or far larger than those of its cohort is left out and named. Raises NoUpdateLeft, TooFewUpdates,
    BlobDamaged, UpdateChanged, NotFinite or MalformedDataset.
    """
    merge, model, privacy = MERGE.parse(arguments.merge), arguments.model, PRIVACY.parse(arguments.privacy)
    contents = Contents(model, CODEC.parse(arguments.codec), LOCAL.parse(arguments.local))
    with ExitStack() as files:
        read = _reader(_verified(arguments.base, files), model)
        state = None
        if arguments.server_state is not None:
            state = read_state(_verified(arguments.server_state, files), merge, model.parameters)
        statistics = {spec.name: read(spec.name, 0, spec.shape[0]) for spec in gathered(model)}
        bound = privacy.bound()
        admission = admit(
            [partial(_verified_update, update, contents) for update in arguments.updates],
            model,
            statistics,
            lambda place: report(Progress("verifying", place, len(arguments.updates))),
            bound=bound,
        )
        left_out = _named(arguments.updates, admission.faults)
        sound = [arguments.updates[place] for place in admission.kept]
        if bound is not None:
            sound = _shortened(sound, admission.norms, bound, model)
        if not sound:
            raise NoUpdateLeft(updates=len(left_out), first=left_out[0].detail)
        found = _tallied(merge, sound, contents)
        left_out = (*left_out, *_named(sound, standing_out(found.ballots)))
        kept = [update for update, weight in zip(sound, found.weights, strict=True) if weight]
        if not kept:
            raise NoUpdateLeft(updates=len(arguments.updates), first="the merge gives none of them any weight")
        samples = [update.samples for update in kept]
        merged = fold_statistics(model.statistics, _counted(kept, contents, weights(samples)), statistics)
        counted = _counted(kept, contents, [weight for weight in found.weights if weight])
        _write(
            arguments,
            merge,
            merged,
            fold_parameters(
                merge,
                model.parameters,
                counted,
                read,
                state,
                parts=contents.local.parts,
                scalars=contents.local.scalars,
                fleet=arguments.fleet,
                share=found.share,
                release=_release(privacy, arguments.noise_secret, kept, counted),
            ),
            report,
        )
    output, state_output = Path(arguments.output), Path(arguments.state_output)
    base_quality, candidate_quality = _measured(arguments.held_out, model, (Path(arguments.base.path), output))
    return MergeResult(
        parameters=BlobRef.of_file(output),
        server_state=BlobRef.of_file(state_output) if remembers(merge) else None,
        updates=len(samples),
        samples=sum(samples),
        left_out=left_out,
        compared=tuple(Compared(update.sha256, *ballot) for update, ballot in zip(sound, found.ballots, strict=False)),
        base=base_quality,
        candidate=candidate_quality,
    )


def _tallied(merge: Merge, updates: Sequence[StoredUpdate], contents: Contents) -> Tally:
    """By what each counts of updates that have been verified. Raises TooFewUpdates or UpdateChanged."""
    problem = merge.too_few(len(updates))
    if problem is not None:
        raise TooFewUpdates(sentence=problem.sentence)
    opens = [partial(_reopened, update, contents) for update in updates]
    samples = [update.samples for update in updates]
    return tally(merge, contents.model.parameters, opens, samples, parts=contents.local.parts)


def _named(updates: Sequence[StoredUpdate], faults: Mapping[int, WireError]) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(updates[place].sha256, fault.code, fault.detail) for place, fault in sorted(faults.items()))


@contextmanager
def _verified_update(update: StoredUpdate, contents: Contents) -> Iterator[UpdateFile]:
    """The update, open, with its hash checked. Raises WireError ``update.damaged`` or what `Contents.open` raises."""
    try:
        with opened(Path(update.path)) as file:
            if _sha256(file) != update.sha256:
                raise WireError("update.damaged", "its content has another hash than when it was accepted")
            yield contents.open(file, update.classes)
    except OSError as error:
        raise WireError("update.damaged", str(error)) from error


@contextmanager
def _reopened(update: StoredUpdate, contents: Contents) -> Iterator[UpdateFile]:
    """An update that has been verified. Raises UpdateChanged if it can no longer be read."""
    try:
        with opened(Path(update.path)) as file:
            yield contents.open(file, update.classes)
    except (OSError, WireError) as error:
        raise UpdateChanged(sha256=update.sha256, detail=str(error)) from error


def _counted(updates: Sequence[StoredUpdate], contents: Contents, found: Sequence[int]) -> list[Counted]:
    weighed = discounted(found, [update.discount for update in updates])
    return [
        Counted(partial(_reopened, update, contents), *weight) for update, weight in zip(updates, weighed, strict=True)
    ]


def _shortened(
    updates: Sequence[StoredUpdate], norms: Sequence[float], bound: float, model: ModelSpec
) -> list[StoredUpdate]:
    """The updates, those longer than `bound` at a lower weight."""
    discounts, parameters = [update.discount for update in updates], parameters_of(model.parameters)
    found = shortened(discounts, norms, bound, parameters=parameters)
    return [msgspec.structs.replace(update, discount=one) for update, one in zip(updates, found, strict=True)]


def _release(
    privacy: Privacy, secret: bytes, updates: Sequence[StoredUpdate], counted: Sequence[Counted]
) -> Release | None:
    """How the sum of `updates` is released: with the same noise whenever these, and no others, are merged."""
    if privacy.releases != "sums":
        return None
    assert len(secret) == SECRET_BYTES, "a privacy kind that releases sums has a secret to draw from"
    sums = [f"{update.sha256} {one.weight}" for update, one in zip(updates, counted, strict=True)]
    return Release(privacy, release_key(secret, *sums))


def _verified(blob: StoredBlob, files: ExitStack) -> Source:
    """The blob, open until `files` are closed, with its hash checked. Raises BlobDamaged."""
    try:
        file = files.enter_context(opened(Path(blob.path)))
        found = _sha256(file)
    except OSError as error:
        raise BlobDamaged(sha256=blob.sha256, detail=str(error)) from error
    if found != blob.sha256:
        raise BlobDamaged(sha256=blob.sha256, detail="its content has another hash")
    return file


def _sha256(file: Source) -> str:
    digest = hashlib.sha256()
    for start in range(0, file.size_bytes, HASHED_BYTES):
        digest.update(file.read(start, start + HASHED_BYTES))
    return digest.hexdigest()


def _reader(base: Source, model: ModelSpec) -> Read:
    """Reads the tensors of a version, in a file that the platform wrote itself."""
    stored = open_tensors(base)
    check_specs(stored.header, model.version)
    return lambda name, start, stop: cast(Float32, stored.read(name, start, stop))


def _write(
    arguments: MergeArguments, merge: Merge, statistics: Tensors, folded: Iterator[Block], report: ReportProgress
) -> None:
    """Write the new version and its server state, block by block. Raises NotFinite."""
    model = arguments.model
    total, done = sum(math.prod(spec.shape) for spec in model.parameters), 0
    with created(Path(arguments.output)) as output, created(Path(arguments.state_output)) as state_output:
        version, state = TensorWriter(output, model.version), None
        for name, numbers in statistics.items():
            _check_finite(name, numbers)
            version.write(name, 0, numbers)
        for block in folded:
            report(Progress("merging", done, total))
            for name, numbers in block.parameters.items():
                _check_finite(name, numbers)
                version.write(name, block.spans[name].start, numbers)
                done += numbers.size
            if remembers(merge):
                state = state or state_writer(state_output, merge, model.parameters, block.state.notes)
                write_state(state, block.state, {name: span.start for name, span in block.spans.items()})
        version.finish()
        if state is not None:
            state.finish()


def _check_finite(tensor: str, numbers: Float32) -> None:
    if not np.isfinite(numbers).all():
        raise NotFinite(tensor=tensor)


class Whole(NamedTuple):
    """An update, decoded."""

    difference: Tensors
    """Of all parameters; zero where its plan trains nothing."""
    statistics: Tensors
    """The running statistics as the device measured them."""


def read_update(update: StoredUpdate, contents: Contents) -> Whole:
    """An accepted update, decoded in memory.

    Raises UpdateChanged.
    """
    try:
        with _verified_update(update, contents) as file:
            difference = {
                spec.name: file.numbers(spec.name, 0, math.prod(spec.shape)).reshape(spec.shape)
                for spec in contents.model.parameters
            }
            return Whole(difference, file.statistics)
    except WireError as error:
        raise UpdateChanged(sha256=update.sha256, detail=error.detail) from error


def read_parameters(path: Path, model: ModelSpec) -> Tensors:
    """The tensors of a version, in a file that the platform wrote itself."""
    tensors = decode_tensors(path.read_bytes(), expected=model.version)
    return {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}


def _measured(held_out: HeldOut | None, model: ModelSpec, models: Sequence[Path]) -> list[Quality | None]:
    """The quality of each of `models`; None for each, where there is no held-out data."""
    if held_out is None:
        return [None for _ in models]
    dataset = read_model_dataset(Path(held_out.dataset), model)
    session = open_session(Path(held_out.predict).read_bytes())
    frozen = read_frozen(held_out.frozen, model)
    answers = (ask(session, read_parameters(path, model), dataset, frozen) for path in models)
    found = [
        score(answer.output, dataset.labels, task=model.task, padding=model.padding, own=answer.own)
        for answer in answers
    ]
    return [Quality(accuracy=one.accuracy, loss=one.loss, class_accuracy=one.class_accuracy) for one in found]
