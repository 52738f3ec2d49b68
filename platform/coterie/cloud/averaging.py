"""A round's merge from files to a file: updates are verified, compared with their cohort, and aggregated in blocks.

Everything is read and written as a stream: apart from the models that are measured, memory is that of a block.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import numpy as np

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.averaging_job import (
    BlobDamaged,
    ComparedUpdate,
    HeldOut,
    LeftOut,
    MergeArguments,
    MergeResult,
    NotFinite,
    NoUpdateLeft,
    PartialOutdated,
    Quality,
    RelayedUpdate,
    StoredBlob,
    StoredPartial,
    StoredUpdate,
    TooFewUpdates,
    UpdateChanged,
)
from coterie.cloud.root_update import root_update
from coterie.cloud.unmasking import unmask
from coterie.evaluation.datasets import read_model_dataset
from coterie.evaluation.scoring import open_session, read_frozen, run_model, score
from coterie_learning.cohort import Admission, admit, discounted, far_off, largest_norm, shortened, weights
from coterie_learning.device_plan import CODEC, LOCAL, PRIVACY
from coterie_learning.differences import make_difference
from coterie_learning.flat import parameters_of
from coterie_learning.fold import Aggregation, Block, CountedUpdate, Read, Release, fold_parameters, fold_statistics
from coterie_learning.merge import Merge
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.partial_sums import PartialFile, PartialSum, sum_specs
from coterie_learning.plan import DOWN, MERGE
from coterie_learning.privacy import Privacy
from coterie_learning.server_state import read_state, remembers, state_writer, write_state
from coterie_learning.tally import Tally, outliers, tally
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.contract import running_statistics
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source, TensorWriter, create_file, open_source, open_tensors
from coterie_wire.tensors import Float32, Tensors, check_specs, decode_tensors, encode_tensors

Opens = Callable[[], AbstractContextManager[UpdateFile]]
"""Opens an update."""
HASHED_BYTES = 1 << 18
"""Bytes read at a time, so that they are hashed while they are in the processor's cache."""


def merge_stored(arguments: MergeArguments, report: ReportProgress) -> MergeResult:
    """Merge the stored updates, write the new parameters durably, and measure both models where held-out data is given.

    The same updates give the same bytes in whatever order they are listed. An update that is damaged, not finite, out
    of range or far larger than the others of its cohort is left out and reported. Raises NoUpdateLeft, TooFewUpdates,
    BlobDamaged, UpdateChanged, NotFinite or MalformedDataset.
    """
    merge, model, privacy = MERGE.parse(arguments.merge), arguments.model, PRIVACY.parse(arguments.privacy)
    contents = Contents(model, CODEC.parse(arguments.codec), LOCAL.parse(arguments.local))
    with ExitStack() as files:
        read = _reader(_verified(arguments.base, files), model)
        state = None
        if arguments.server_state is not None:
            state = read_state(_verified(arguments.server_state, files), merge, model.parameters)
        statistics = {spec.name: read(spec.name, 0, spec.shape[0]) for spec in running_statistics(model)}
        sum_figures = None
        if arguments.masked is not None:
            masking = privacy.masking()
            assert masking is not None, "a secure sum is that of a plan which masks updates"
            update, sum_figures = unmask(arguments.masked, masking, contents, statistics, _opened_blob)
            arguments = msgspec.structs.replace(arguments, updates=(update,))
        bound = privacy.bound()
        admission = admit(
            [partial(_verified_update, update, contents) for update in arguments.updates],
            model,
            statistics,
            lambda place: report(Progress("verifying", place, len(arguments.updates))),
            known={place: one.norm for place, one in enumerate(arguments.updates) if one.norm is not None},
            bound=bound,
            others=_norms(arguments.partials),
            ordinary=arguments.ordinary_norm,
        )
        left_out = _named(arguments.updates, admission.faults)
        sound = [arguments.updates[place] for place in admission.kept]
        if bound is not None:
            sound = _shortened(sound, admission.norms, bound, model)
        relayed, faults = _relayed(arguments.partials, admission, arguments.ordinary_norm)
        left_out = (*left_out, *faults)
        if not sound and not relayed:
            raise NoUpdateLeft(updates=len(left_out), first=left_out[0].detail)
        found = _tallied(merge, sound, relayed, contents, _root(arguments, merge, contents))
        left_out = (*left_out, *_named(sound, outliers(found.ballots)))
        kept = [update for update, weight in zip(sound, found.weights, strict=False) if weight]
        if not kept and not relayed:
            raise NoUpdateLeft(updates=len(arguments.updates), first="the merge gives none of them any weight")
        samples = [update.samples for update in kept] + [update.samples for update in relayed]
        merged = fold_statistics(model.statistics, _counted(kept, contents, weights(samples)[: len(kept)]), statistics)
        counted = _counted(kept, contents, [weight for weight in found.weights[: len(sound)] if weight])
        release = _release(privacy, arguments, kept, counted)
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
                Aggregation(
                    parts=contents.local.parts,
                    scalars=contents.local.scalars,
                    fleet=arguments.fleet,
                    share=found.share,
                    release=release,
                    partials=[_summed(partial, contents, files) for partial in arguments.partials],
                ),
            ),
            report,
        )
    difference, residual = _made_difference(arguments)
    output, state_output = Path(arguments.output), Path(arguments.state_output)
    base_quality, candidate_quality = _measured(arguments.held_out, model, (Path(arguments.base.path), output))
    return MergeResult(
        parameters=BlobRef.of_file(output),
        server_state=BlobRef.of_file(state_output) if remembers(merge) else None,
        updates=sum(update.devices for update in kept) + len(relayed),
        samples=sum(samples),
        left_out=left_out,
        compared=tuple(
            ComparedUpdate(update.sha256, *ballot) for update, ballot in zip(sound, found.ballots, strict=False)
        ),
        sum_figures=sum_figures,
        difference=difference,
        residual=residual,
        summed="" if release is None else release.digest,
        next_bound=None if release is None else privacy.next_bound(admission.norms, seed=release.seed),
        ordinary_norm=admission.ordinary,
        base=base_quality,
        candidate=candidate_quality,
    )


def _tallied(
    merge: Merge,
    updates: Sequence[StoredUpdate],
    relayed: Sequence[RelayedUpdate],
    contents: Contents,
    root: Opens | None,
) -> Tally:
    """The weights of verified updates, those verified here and then those verified by supernodes.

    Raises TooFewUpdates, UpdateChanged or PartialOutdated.
    """
    problem = merge.too_few(len(updates) + len(relayed))
    if problem is not None:
        raise TooFewUpdates(sentence=problem.sentence)
    opens = [partial(_reopened, update, contents) for update in updates]
    samples = [update.samples for update in updates] + [update.samples for update in relayed]
    found = tally(merge, contents.model.parameters, opens, samples, parts=contents.local.parts, root=root)
    if list(found.weights[len(updates) :]) != [update.weight for update in relayed]:
        raise PartialOutdated
    return found


def _root(arguments: MergeArguments, merge: Merge, contents: Contents) -> Opens | None:
    """The platform's own update, where the merge compares with it. Raises MalformedDataset or NotFinite."""
    if not merge.compares_with_root:
        return None
    root, model = arguments.root, arguments.model
    assert root is not None, "a plan whose merge needs samples of the platform's is refused without"
    samples = read_model_dataset(Path(root.dataset), model).take(slice(0, merge.root_samples()))
    try:
        return root_update(
            contents.local,
            model,
            Path(root.train_step).read_bytes(),
            samples,
            read_parameters(Path(arguments.base.path), model),
            seed=int(arguments.base.sha256[:12], 16),
            frozen=read_frozen(root.frozen, model),
        )
    except WireError as error:
        raise NotFinite(tensor=error.detail) from error


def _relayed(
    partials: Sequence[StoredPartial], admission: Admission, ordinary: float
) -> tuple[Sequence[RelayedUpdate], Sequence[LeftOut]]:
    """The updates in partial aggregates that count, and those that their supernodes were told to leave out.

    Raises PartialOutdated where the latter differ from those that are now too large compared with the others.
    """
    every = [update for partial in partials for update in partial.updates]
    most = largest_norm([*admission.all_norms, *_norms(partials)], ordinary)
    counts = {update.sha256: most is None or update.norm <= most for update in every}
    if any(counts[update.sha256] != (update.weight > 0) for update in every):
        raise PartialOutdated
    faults = [(update, far_off(update.norm, most)) for update in every if most is not None and not update.weight]
    left_out = [LeftOut(update.sha256, fault.code, fault.detail) for update, fault in faults]
    return [update for update in every if update.weight], left_out


def _norms(partials: Sequence[StoredPartial]) -> list[float]:
    return [update.norm for partial in partials for update in partial.updates]


def _summed(stored: StoredPartial, contents: Contents, files: ExitStack) -> PartialSum:
    """A partial aggregate, open until `files` are closed, with its hash checked.

    Raises BlobDamaged, or WireError ``partial.malformed``.
    """
    source = _verified(StoredBlob(stored.path, stored.sha256), files)
    expected = sum_specs(contents.model, contents.local)
    file = PartialFile(source, expected=expected, of=stored.of)
    return PartialSum(file, [update.weight for update in stored.updates])


def _named(updates: Sequence[StoredUpdate], faults: Mapping[int, WireError]) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(updates[place].sha256, fault.code, fault.detail) for place, fault in sorted(faults.items()))


@contextmanager
def _verified_update(update: StoredUpdate, contents: Contents) -> Iterator[UpdateFile]:
    """The update, open, with its hash checked. Raises WireError ``update.damaged`` or what `Contents.open` raises."""
    try:
        with open_source(Path(update.path)) as file:
            if _sha256(file) != update.sha256:
                raise WireError("update.damaged", "its content has another hash than when it was accepted")
            yield contents.open(file, update.classes)
    except OSError as error:
        raise WireError("update.damaged", str(error)) from error


@contextmanager
def _reopened(update: StoredUpdate, contents: Contents) -> Iterator[UpdateFile]:
    """An update that has been verified. Raises UpdateChanged if it can no longer be read."""
    try:
        with open_source(Path(update.path)) as file:
            yield contents.open(file, update.classes)
    except (OSError, WireError) as error:
        raise UpdateChanged(sha256=update.sha256, detail=str(error)) from error


def _counted(updates: Sequence[StoredUpdate], contents: Contents, found: Sequence[int]) -> list[CountedUpdate]:
    weighed = discounted(found, [update.discount for update in updates])
    return [
        CountedUpdate(partial(_reopened, update, contents), *weight, devices=update.devices)
        for update, weight in zip(updates, weighed, strict=True)
    ]


def _shortened(
    updates: Sequence[StoredUpdate], norms: Sequence[float], bound: float, model: ModelSpec
) -> list[StoredUpdate]:
    """The updates; the weight of those longer than `bound` is reduced."""
    discounts, parameters = [update.discount for update in updates], parameters_of(model.parameters)
    found = shortened(discounts, norms, bound, parameters=parameters)
    return [msgspec.structs.replace(update, discount=one) for update, one in zip(updates, found, strict=True)]


def _release(
    privacy: Privacy, arguments: MergeArguments, updates: Sequence[StoredUpdate], counted: Sequence[CountedUpdate]
) -> Release | None:
    """How the sum of `updates` is released: with the same noise whenever exactly these are merged."""
    if privacy.releases != "sums":
        return None
    assert len(arguments.noise_secret) == SECRET_BYTES, "a privacy kind that releases sums has a secret to draw from"
    sums = [f"{update.sha256} {one.weight}" for update, one in zip(updates, counted, strict=True)]
    return Release.under(privacy, arguments.noise_secret, sums, arguments.noise_earlier)


def _verified(blob: StoredBlob, files: ExitStack) -> Source:
    """The blob, open until `files` are closed, with its hash checked. Raises BlobDamaged."""
    try:
        file = files.enter_context(open_source(Path(blob.path)))
        found = _sha256(file)
    except OSError as error:
        raise BlobDamaged(sha256=blob.sha256, detail=str(error)) from error
    if found != blob.sha256:
        raise BlobDamaged(sha256=blob.sha256, detail="its content has another hash")
    return file


@contextmanager
def _opened_blob(blob: StoredBlob) -> Iterator[Source]:
    with ExitStack() as files:
        yield _verified(blob, files)


def _sha256(file: Source) -> str:
    digest = hashlib.sha256()
    for start in range(0, file.size_bytes, HASHED_BYTES):
        digest.update(file.read(start, start + HASHED_BYTES))
    return digest.hexdigest()


def _reader(base: Source, model: ModelSpec) -> Read:
    """A reader of a version's tensors, from a file that the platform wrote itself."""
    stored = open_tensors(base)
    check_specs(stored.header, model.version)
    return lambda name, start, stop: cast(Float32, stored.read(name, start, stop))


def _write(
    arguments: MergeArguments, merge: Merge, statistics: Tensors, folded: Iterator[Block], report: ReportProgress
) -> None:
    """Write the new version and its server state, block by block. Raises NotFinite."""
    model = arguments.model
    total, done = sum(math.prod(spec.shape) for spec in model.parameters), 0
    with create_file(Path(arguments.output)) as output, create_file(Path(arguments.state_output)) as state_output:
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


def _made_difference(arguments: MergeArguments) -> tuple[BlobRef | None, BlobRef | None]:
    """Write the encoded difference and its residual, where versions are sent so; the output becomes what devices
    decode.

    Whole models are in memory. Raises BlobDamaged or NotFinite.
    """
    codec, model = DOWN.parse(arguments.down).codec(), arguments.model
    if codec is None:
        return None, None
    base, merged = (read_parameters(Path(path), model) for path in (arguments.base.path, arguments.output))
    try:
        made = make_difference(codec, model, base=base, merged=merged, residual=_read_residual(arguments))
    except WireError as error:
        raise NotFinite(tensor=error.detail) from error
    assert arguments.difference_output is not None and arguments.residual_output is not None
    Path(arguments.output).write_bytes(encode_tensors(made.version))
    Path(arguments.difference_output).write_bytes(made.payload)
    if not made.residual:
        return BlobRef.of_bytes(made.payload), None
    residual = encode_tensors(made.residual)
    Path(arguments.residual_output).write_bytes(residual)
    return BlobRef.of_bytes(made.payload), BlobRef.of_bytes(residual)


def _read_residual(arguments: MergeArguments) -> Tensors:
    """The residual; empty where there is none. Raises BlobDamaged."""
    if arguments.residual is None:
        return {}
    with _opened_blob(arguments.residual) as source:
        content = source.read(0, source.size_bytes)
    tensors = decode_tensors(content, expected=arguments.model.parameters)
    return {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}


def _check_finite(tensor: str, numbers: Float32) -> None:
    if not np.isfinite(numbers).all():
        raise NotFinite(tensor=tensor)


class DecodedUpdate(NamedTuple):
    """An update, decoded."""

    difference: Tensors
    """Of all parameters; zero for those that the plan does not train."""
    statistics: Tensors
    """The running statistics as the device measured them."""


def read_update(update: StoredUpdate, contents: Contents) -> DecodedUpdate:
    """An accepted update, decoded in memory. Raises UpdateChanged."""
    try:
        with _verified_update(update, contents) as file:
            difference = {
                spec.name: file.numbers(spec.name, 0, math.prod(spec.shape)).reshape(spec.shape)
                for spec in contents.model.parameters
            }
            return DecodedUpdate(difference, file.statistics)
    except WireError as error:
        raise UpdateChanged(sha256=update.sha256, detail=error.detail) from error


def read_parameters(path: Path, model: ModelSpec) -> Tensors:
    """The tensors of a version, from a file that the platform wrote itself."""
    tensors = decode_tensors(path.read_bytes(), expected=model.version)
    return {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}


def _measured(held_out: HeldOut | None, model: ModelSpec, models: Sequence[Path]) -> list[Quality | None]:
    """The quality of each of `models`; None for each, where there is no held-out data."""
    if held_out is None:
        return [None for _ in models]
    dataset = read_model_dataset(Path(held_out.dataset), model)
    session = open_session(Path(held_out.predict).read_bytes())
    frozen = read_frozen(held_out.frozen, model)
    answers = (run_model(session, read_parameters(path, model), dataset, frozen) for path in models)
    found = [
        score(answer.output, dataset.labels, task=model.task, padding=model.padding, own=answer.own)
        for answer in answers
    ]
    return [
        Quality(accuracy=one.accuracy, loss=one.loss, class_accuracy=one.class_accuracy, confusion=one.confusion)
        for one in found
    ]
