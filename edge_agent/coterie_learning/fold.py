"""The merge of a round's updates into the next parameters, computed a block of parameters at a time.

Memory is that of a block, independent of the size of the model and the number of updates. The same updates give the
same bits in any order and with any block size: sums are exact, columns are sorted, and a merge treats each parameter
independently.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from coterie_learning.exact_sum import (
    GRID_BITS,
    TOGETHER,
    Float64,
    WeightedCodes,
    WeightedNumbers,
    add_codes,
    add_numbers,
    mean,
    mean_scalar,
)
from coterie_learning.local import DELTA
from coterie_learning.merge import Aggregate, Cohort, Merge, Note, ServerState
from coterie_learning.moments import add_moments, empty_moments, merged_moments
from coterie_learning.noise import digest_of, release_key
from coterie_learning.partial_sums import PartialSum, Sums, key_of
from coterie_learning.payloads import row_length, row_spans
from coterie_learning.privacy import Int64, Privacy, ReleasedElements
from coterie_learning.update_files import UpdateFile
from coterie_wire.bundle import RunningMoments, Shape, TensorSpec
from coterie_wire.tensors import Float32, Tensors

BLOCK = 1 << 20
"""Parameters of a block that is summed, at most."""
READ = 1 << 16
"""Parameters read of each update at once when summing, so that the processor's cache holds those of a few updates."""
COLUMNS = 1 << 23
"""Numbers of a block that is read as columns, one number for each update and parameter: 32 MiB."""

Numbers = TypeVar("Numbers", Float32, Float64)
Read = Callable[[str, int, int], Float32]
"""Elements [start, stop) of the flattened tensor of a name."""


class CountedUpdate(NamedTuple):
    """An update that counts."""

    open: Callable[[], AbstractContextManager[UpdateFile]]
    weight: int
    full: int | None = None
    """Its weight if it were not stale: means of parameters are divided by the sum of these. None: `weight`."""
    devices: int = 1
    """Devices that it is the mean of."""


class Release(NamedTuple):
    """How sums are released to the merge."""

    privacy: Privacy
    seed: bytes
    """32 secret bytes used for the sum of these updates alone."""
    earlier: Sequence[bytes] = ()
    """Seeds of the earlier releases, oldest first, where the kind's releases are a stream."""
    digest: str = ""
    """Identifies the sum in a stream, so that its seed can be derived again."""

    @classmethod
    def under(cls, privacy: Privacy, secret: bytes, what: Iterable[str], earlier: Sequence[str] = ()) -> "Release":
        """The release of the sum of `what`: an identifier and a weight for each update.

        `secret` belongs to this sum, or to the stream where the kind has one; `earlier` are the digests of the earlier
        releases. The same sum is always released with the same noise, and a different sum with different noise.
        """
        if privacy.stream() is None:
            return cls(privacy, release_key(secret, *what))
        digests = (*earlier, digest_of(what))
        *before, own = [release_key(secret, f"{place} {digest}") for place, digest in enumerate(digests)]
        return cls(privacy, own, tuple(before), digests[-1])


class Remembered(NamedTuple):
    """A server state, read in parts."""

    read: Callable[[str, str, int, int], Float32]
    """Elements [start, stop) of a kind of tensor (e.g. ``momentum``) for the parameter of a name."""
    notes: Mapping[str, Note]


class ElementSpan(NamedTuple):
    """Elements [start, stop) of the flattened tensor `name`."""

    name: str
    start: int
    stop: int
    width: int
    """Numbers in a row of its first axis, or in this part of one."""

    def divided(self, most: int) -> Iterator[tuple[int, int]]:
        """Divide it into spans of at most `most`, each of whole rows or a part of one."""
        shape = ((self.stop - self.start) // self.width, self.width)
        return ((self.start + start, self.start + stop) for start, stop in row_spans(shape, most))


class Block(NamedTuple):
    """New parameters and their state; both flat and by name."""

    spans: Mapping[str, ElementSpan]
    parameters: Tensors
    state: ServerState


class Aggregation(NamedTuple):
    """The inputs of a merge's aggregate, beside the updates."""

    parts: Sequence[str] = (DELTA,)
    """The parts of the updates."""
    scalars: Sequence[str] = ()
    """The names of the updates' scalars."""
    fleet: int = 0
    """The number of devices in the fleet, if known."""
    share: float = 1.0
    """Factor of the weighted means."""
    release: Release | None = None
    """How sums of the updates' parameters are released to the merge."""
    partials: Sequence[PartialSum] = ()
    """Sums of further updates, computed elsewhere; only for merges that read sums."""


DELTAS = Aggregation()
"""The default: the updates alone, one difference each."""


def fold_parameters(
    merge: Merge,
    specs: Sequence[TensorSpec],
    updates: Sequence[CountedUpdate],
    base: Read,
    state: Remembered | None,
    aggregation: Aggregation = DELTAS,
    *,
    block: int | None = None,
) -> Iterator[Block]:
    """The merge of at least one update, block by block; the resulting numbers may be not finite.

    `state` is the server state of the merge that made `base`; None where there is none. `block` is the number of
    parameters processed at once; the result does not depend on it.
    Raises OSError or WireError ``tensors.malformed`` where an update can no longer be read.
    """
    devices = sum(update.devices for update in updates)
    devices += sum(sum(weight > 0 for weight in one.weights) for one in aggregation.partials)
    cohort = Cohort(devices, max(aggregation.fleet, devices))
    means = _scalars(aggregation.scalars, updates)
    if merge.reads == "columns":
        aggregates, most = partial(_columns, merge), max(1, COLUMNS // len(updates))
    else:
        aggregates, most = partial(_sums, aggregation, cohort), BLOCK
    shapes = {spec.name: spec.shape for spec in specs} if merge.whole else {}
    most = max(1, sum(math.prod(shape) for shape in shapes.values())) if merge.whole else block or most
    for spans in blocks(specs, most):
        begun = {name: _shaped(base(name, span.start, span.stop), shapes.get(name)) for name, span in spans.items()}
        before = merge.init(begun) if state is None else _read_state(merge, state, spans)
        numbers = {
            name if part == DELTA else f"{part}.{name}": _shaped(found, shapes.get(name))
            for part in aggregation.parts
            for name, found in aggregates(part, spans, updates).items()
        }
        aggregate = Aggregate(numbers, cohort, means)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the caller checks for these
            finished = merge.finish(aggregate, begun, before)
            _check_shapes(merge, finished.parameters, begun)
            parameters = {name: tensor.astype(np.float32).reshape(-1) for name, tensor in finished.parameters.items()}
        yield Block(spans, parameters, finished.state)


def _check_shapes(merge: Merge, made: Mapping[str, Float32 | Float64], begun: Tensors) -> None:
    """Raises ValueError where a kind gives something else than one number for each."""
    for name, tensor in begun.items():
        found = made[name].shape if name in made else "nothing"
        if found != tensor.shape:
            raise ValueError(f"merge {merge.name} makes {found} of {name}, which is {tensor.shape}")


class Folded(NamedTuple):
    """A whole version and its server state."""

    parameters: Tensors
    state: ServerState


def fold_in_memory(
    merge: Merge,
    specs: Sequence[TensorSpec],
    updates: Sequence[CountedUpdate],
    base: Tensors,
    state: ServerState | None,
    aggregation: Aggregation = DELTAS,
    *,
    block: int | None = None,
) -> Folded:
    """`fold_parameters` of a model in memory, with all blocks joined. Raises what that raises."""
    remembered = None if state is None else Remembered(partial(_part, state), state.notes)
    found = Folded(
        {spec.name: np.empty(spec.shape, np.float32) for spec in specs},
        merge.init({spec.name: base[spec.name] for spec in specs}),
    )
    notes = found.state.notes
    read = partial(_whole, base)
    for part in fold_parameters(merge, specs, updates, read, remembered, aggregation, block=block):
        notes = part.state.notes
        for name, span in part.spans.items():
            found.parameters[name].reshape(-1)[span.start : span.stop] = part.parameters[name]
            for kind, tensors in part.state.tensors.items():
                found.state.tensors[kind][name].reshape(-1)[span.start : span.stop] = tensors[name]
    return Folded(found.parameters, ServerState(found.state.tensors, notes))


def _shaped(flat: Numbers, shape: Shape | None) -> Numbers:
    return flat if shape is None else flat.reshape(shape)


def _part(state: ServerState, kind: str, name: str, start: int, stop: int) -> Float32:
    return _whole(state.tensors[kind], name, start, stop)


def _whole(tensors: Tensors, name: str, start: int, stop: int) -> Float32:
    return tensors[name].reshape(-1)[start:stop]


def fold_statistics(statistics: Sequence[RunningMoments], updates: Sequence[CountedUpdate], base: Tensors) -> Tensors:
    """The running statistics of all devices together, weighted by their samples.

    Raises OSError or WireError where an update can no longer be read.
    """
    if not statistics:
        return {}
    total = empty_moments(statistics)
    for update in updates:
        with update.open() as file:
            total = add_moments(total, statistics, file.statistics, base, update.weight)
    return merged_moments(total, statistics, base)


def blocks(specs: Sequence[TensorSpec], most: int) -> Iterator[Mapping[str, ElementSpan]]:
    """Divide tensors into blocks of at most `most` elements; each has at most one span of a tensor."""
    spans: dict[str, ElementSpan] = {}
    room = most
    for spec in specs:
        for start, stop in row_spans(spec.shape, most):
            if spans and (stop - start > room or spec.name in spans):
                yield spans
                spans, room = {}, most
            spans[spec.name] = ElementSpan(spec.name, start, stop, min(row_length(spec.shape), stop - start))
            room -= stop - start
    if spans:
        yield spans


def summed(part: str, spans: Mapping[str, ElementSpan], updates: Sequence[CountedUpdate]) -> Mapping[str, Int64]:
    """The exact sums of the updates times their weights, in multiples of the grid's step.

    Raises OSError or WireError ``tensors.malformed`` where an update can no longer be read.
    """
    totals = {name: np.zeros(span.stop - span.start, np.int64) for name, span in spans.items()}
    for begin in range(0, len(updates), TOGETHER):
        group = updates[begin : begin + TOGETHER]
        with ExitStack() as files:
            opened = [(files.enter_context(update.open()), update.weight) for update in group]
            for name, span in spans.items():
                for start, stop in span.divided(READ):
                    piece = totals[name][start - span.start : stop - span.start]
                    _add(piece, opened, part, name, start, stop)
    return totals


def _add(total: Int64, updates: Sequence[tuple[UpdateFile, int]], part: str, name: str, start: int, stop: int) -> None:
    """Add the weighted sum of parameters [start, stop) of tensor `name` of the open updates to `total`, in place."""
    codes: list[WeightedCodes] = []
    numbers: list[WeightedNumbers] = []
    for file, weight in updates:
        coded = file.coded(name, start, stop, part=part)
        if coded is None:
            numbers.append(WeightedNumbers(file.numbers(name, start, stop, part=part), weight))
        else:
            codes.append(WeightedCodes(coded, weight))
    if codes:
        add_codes(total, codes)
    if numbers:
        add_numbers(total, numbers)


def partial_aggregate(specs: Sequence[TensorSpec], updates: Sequence[CountedUpdate], *, parts: Sequence[str]) -> Sums:
    """The sums of whole updates, none of them stale, for a merge that runs elsewhere. Raises what `summed` raises."""
    sums = {key_of(part, spec.name): np.zeros(math.prod(spec.shape), np.int64) for part in parts for spec in specs}
    for spans in blocks(specs, BLOCK):
        for part in parts:
            for name, numbers in summed(part, spans, updates).items():
                sums[key_of(part, name)][spans[name].start : spans[name].stop] = numbers
    return sums


def _sums(
    aggregation: Aggregation,
    cohort: Cohort,
    part: str,
    spans: Mapping[str, ElementSpan],
    updates: Sequence[CountedUpdate],
) -> Mapping[str, Float64]:
    """The weighted means of the updates, as released, times the share."""
    release, totals = aggregation.release, summed(part, spans, updates)
    full = [update.weight if update.full is None else update.full for update in updates]
    for one in aggregation.partials:
        each = one.weights if one.full is None else one.full
        full += [unstale for unstale, weight in zip(each, one.weights, strict=True) if weight]
        for name, span in spans.items():
            totals[name][...] += one.file.numbers(key_of(part, name), span.start, span.stop)
    weight = sum(full)
    if release is not None:
        totals = {
            name: _released(
                release, total, ReleasedElements(f"{part}.{name}", spans[name].start, max(full) << GRID_BITS), cohort
            )
            for name, total in totals.items()
        }
    return {name: mean(total, weight) * aggregation.share for name, total in totals.items()}


def _released(release: Release, total: Int64, place: ReleasedElements, cohort: Cohort) -> Int64:
    return release.privacy.release(total, seed=release.seed, place=place, cohort=cohort, earlier=release.earlier)


def _scalars(names: Sequence[str], updates: Sequence[CountedUpdate]) -> Mapping[str, float]:
    """The weighted means of the updates' scalars."""
    if not names:
        return {}
    found = []
    for update in updates:
        with update.open() as file:
            found.append(file.scalars)
    weights = [update.weight for update in updates]
    return {name: mean_scalar([one[name] for one in found], weights) for name in names}


def _columns(
    merge: Merge, part: str, spans: Mapping[str, ElementSpan], updates: Sequence[CountedUpdate]
) -> Mapping[str, Float64]:
    """The result of the merge on the updates' numbers, sorted in each column: the order of updates has no effect."""
    columns = {name: np.empty((len(updates), span.stop - span.start), np.float32) for name, span in spans.items()}
    for index, update in enumerate(updates):
        with update.open() as file:
            for name, span in spans.items():
                read = file.numbers(name, span.start, span.stop, part=part)
                columns[name][index] = read + np.float32(0)  # -0.0 becomes 0.0
    for numbers in columns.values():
        numbers.sort(axis=0)
    return {name: merge.combine(numbers) for name, numbers in columns.items()}


def _read_state(merge: Merge, state: Remembered, spans: Mapping[str, ElementSpan]) -> ServerState:
    kinds = merge.init({}).tensors
    tensors = {
        kind: {name: state.read(kind, name, span.start, span.stop) for name, span in spans.items()} for kind in kinds
    }
    return ServerState(tensors, state.notes)
