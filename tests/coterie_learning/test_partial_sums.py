"""Whatever the tree and whoever fails in it, a merge has the bits of a flat one; and no altered sum is accepted."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.cohort import UpdateFigures, admit, weights, weights_of_figures
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory, partial_aggregate
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.packings import deflate
from coterie_learning.partial_sums import (
    CHUNK,
    Fingerprint,
    PartialFile,
    PartialSum,
    Sums,
    added,
    encode_sums,
    fingerprint,
    saved_bytes,
    sum_specs,
)
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.updates import join_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32, encode_tensors
from tests.examples import examples

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=5,
    batch_size=2,
    parameters=(TensorSpec("body", "float32", (3, 40)), TensorSpec("bias", "float32", (5,))),
)
LOCAL = Sgd()
SEED = bytes(range(32))
CODECS = (Float32Codec(), Int8())


def numbers(seed: int) -> dict[str, Float32]:
    rng = np.random.default_rng(seed)
    return {spec.name: 0.01 * rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}


def opened(codec: Codec, seed: int) -> AbstractContextManager[UpdateFile]:
    payload = join_update({}, codec.encode(numbers(seed), seed=seed).payload)
    return nullcontext(Contents(MODEL, codec, LOCAL).open(InMemory(payload), ()))


def fleet(codec: Codec, found: Sequence[int]) -> list[CountedUpdate]:
    return [CountedUpdate(partial(opened, codec, seed), weight) for seed, weight in enumerate(found)]


def summed(updates: Sequence[CountedUpdate]) -> Sums:
    return partial_aggregate(MODEL.parameters, updates, parts=LOCAL.parts)


def sent(sums: Sums, found: Sequence[int]) -> PartialSum:
    file = PartialFile(InMemory(encode_sums(sums, of="a")), expected=sum_specs(MODEL, LOCAL), of="a")
    return PartialSum(file, found)


def merged(updates: Sequence[CountedUpdate], partials: Sequence[PartialSum] = ()) -> list[bytes]:
    found = fold_in_memory(FedAvg(), MODEL.parameters, updates, numbers(1_000), None, Aggregation(partials=partials))
    return [tensor.tobytes() for tensor in found.parameters.values()]


def tree(data: st.DataObject, updates: Sequence[CountedUpdate], depth: int) -> Sums:
    """Some updates summed here, the others by supernodes below, in whatever shape."""
    if depth == 0 or len(updates) < 2:
        return summed(updates)
    cut = data.draw(st.integers(1, len(updates) - 1))
    below = [tree(data, half, depth - 1) for half in (updates[:cut], updates[cut:])]
    return added(data.draw(st.permutations(below)))


@given(data=st.data())
@settings(max_examples=examples(100, 1_000), deadline=None)
def test_any_tree_with_any_failures_gives_the_bits_of_a_star(data: st.DataObject) -> None:
    """A supernode that fails leaves its devices to others, or to send their updates themselves."""
    found = data.draw(st.lists(st.integers(1, 500), min_size=1, max_size=9))
    updates = fleet(data.draw(st.sampled_from(CODECS)), found)
    whom = data.draw(st.lists(st.integers(0, 3), min_size=len(updates), max_size=len(updates)))
    failed = data.draw(st.sets(st.integers(1, 3)))
    again = [
        node if node not in failed else data.draw(st.sampled_from([0, *sorted({1, 2, 3} - failed)])) for node in whom
    ]
    sites = [[one for one, node in zip(updates, again, strict=True) if node == site] for site in range(4)]
    partials = [
        sent(tree(data, site, data.draw(st.integers(0, 3))), [one.weight for one in site]) for site in sites[1:] if site
    ]
    direct = data.draw(st.permutations(sites[0]))
    assert merged(direct, data.draw(st.permutations(partials))) == merged(updates)


def test_one_level_with_one_device_is_flat() -> None:
    update = fleet(Int8(), [7])
    assert merged((), [sent(summed(update), [7])]) == merged(update)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_a_sum_is_checked_against_the_fingerprints_of_its_updates(codec: Codec) -> None:
    updates = fleet(codec, [3, 1, 20])
    members = [(one.weight, fingerprint(SEED, summed([one._replace(weight=1)]).items())) for one in updates]
    file_of(summed(updates)).check(SEED, members)
    with refused("partial.altered"):
        file_of(summed(updates[:2])).check(SEED, members)
    for change in (1, -1, 1 << 40):
        altered = {name: numbers.copy() for name, numbers in summed(updates).items()}
        altered["delta.bias"][3] += change
        with refused("partial.altered"):
            file_of(altered).check(SEED, members)


def test_a_sum_larger_than_its_updates_can_make_it_is_refused() -> None:
    sums = {name: np.full(size, 1 << 41, np.int64) for name, size in sum_specs(MODEL, LOCAL).items()}
    with refused("partial.out_of_range"):
        file_of(sums).check(SEED, [(1, Fingerprint(0, 0))])


@contextmanager
def refused(code: str) -> Iterator[None]:
    with pytest.raises(WireError) as caught:
        yield
    assert caught.value.code == code


def file_of(sums: Sums) -> PartialFile:
    return PartialFile(InMemory(encode_sums(sums, of="a")), expected=sum_specs(MODEL, LOCAL), of="a")


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20))
def test_integers_of_any_size_travel(values: list[int]) -> None:
    sums = {"delta.bias": np.array(values, np.int64)}
    payload = encode_sums(sums, of="b")
    file = PartialFile(InMemory(payload), expected={"delta.bias": len(values)}, of="b")
    assert file.numbers("delta.bias", 0, len(values)).tolist() == values
    assert file.numbers("delta.bias", 1, len(values)).tolist() == values[1:]


@given(st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=20), st.integers(1, 2**40))
def test_a_divisor_that_all_have_does_not_travel(values: list[int], step: int) -> None:
    once, often = ({"delta.bias": np.array(values, np.int64) * times} for times in (1, step))
    assert len(encode_sums(often, of="b")) == len(encode_sums(once, of="b"))
    file = PartialFile(InMemory(encode_sums(often, of="b")), expected={"delta.bias": len(values)}, of="b")
    assert file.numbers("delta.bias", 0, len(values)).tolist() == often["delta.bias"].tolist()


def test_spans_are_read_across_chunks_and_sums() -> None:
    rng = np.random.default_rng(0)
    sums = {name: rng.integers(-(2**33), 2**33, size) for name, size in (("b", 70_000), ("a", 5), ("c", CHUNK))}
    expected = {name: numbers.size for name, numbers in sums.items()}
    file = PartialFile(InMemory(encode_sums(sums, of="b")), expected=expected, of="b")
    for name, numbers in sums.items():
        for start, stop in [(0, 1), (3, 5), (0, numbers.size), (numbers.size - 2, numbers.size)]:
            assert file.numbers(name, start, stop).tolist() == numbers[start:stop].tolist()
    assert {name: numbers.tolist() for name, numbers in file.sums()} == {
        name: numbers.tolist() for name, numbers in sums.items()
    }


def test_a_sum_takes_hardly_more_than_its_numbers_tell() -> None:
    """Eight updates of normal numbers, a hundredth large, of the same weight: 28.9 bits each."""
    rng = np.random.default_rng(0)
    numbers = sum(24 * np.rint(0.01 * rng.standard_normal(CHUNK) * 2**32).astype(np.int64) for _ in range(8))
    told_bits = math.log2((numbers // 24).std() * math.sqrt(2 * math.pi * math.e))
    assert len(encode_sums({"a": numbers}, of="b")) * 8 < 1.02 * told_bits * CHUNK


def planes(count: int) -> np.ndarray:
    return np.frombuffer(deflate(np.arange(count, dtype=np.uint8)), np.uint8)


def sizes(length: int, of: int = 8) -> np.ndarray:
    return np.array([[length, *[0] * (of - 1)]], np.int32)


STEPS, PLANES = np.ones(1, np.int64), planes(5)


@pytest.mark.parametrize(
    ("change", "of"),
    [
        ({}, "another"),
        ({"steps": np.zeros(1, np.int64)}, "a"),
        ({"steps": np.ones(2, np.int64)}, "a"),
        ({"steps": np.ones(1, np.int32)}, "a"),
        ({"sizes": sizes(PLANES.size - 1)}, "a"),
        ({"sizes": sizes(-1)}, "a"),
        ({"sizes": sizes(PLANES.size, of=7)}, "a"),
        ({"planes": PLANES[:-1]}, "a"),
        ({"planes": PLANES[:-1], "sizes": sizes(PLANES.size - 1)}, "a"),
        ({"planes": PLANES.view(np.int8)}, "a"),
        ({"planes": planes(6), "sizes": sizes(planes(6).size)}, "a"),
        ({"more": STEPS}, "a"),
    ],
)
def test_a_file_of_anything_else_is_refused(change: dict[str, np.ndarray], of: str) -> None:
    content = {"steps": STEPS, "sizes": sizes(PLANES.size), "planes": PLANES, **change}
    payload = encode_tensors(content, {"sum": of})
    with refused("partial.malformed"):
        PartialFile(InMemory(payload), expected={"delta.bias": 5}, of="a").numbers("delta.bias", 0, 5)


@given(
    st.lists(st.tuples(st.integers(1, 10_000), st.floats(1e-3, 1e3), st.booleans()), min_size=1, max_size=8),
    st.floats(0, 1e3),
)
def test_figures_weigh_updates_as_reading_them_does(cohort: list[tuple[int, float, bool]], ordinary: float) -> None:
    """Each is large or small by its norm; some are known by their figures alone."""

    def update(norm: float) -> AbstractContextManager[UpdateFile]:
        delta = {spec.name: np.zeros(spec.shape, np.float32) for spec in MODEL.parameters}
        delta["bias"][0] = min(norm, 100.0)
        payload = join_update({}, Float32Codec().encode(delta, seed=0).payload)
        return nullcontext(Contents(MODEL, Float32Codec(), LOCAL).open(InMemory(payload), ()))

    opens = [partial(update, norm) for _, norm, _ in cohort]
    flat = admit(opens, MODEL, {}, lambda _: None, ordinary=ordinary)
    by_reading = dict(zip(flat.kept, weights([cohort[place][0] for place in flat.kept]), strict=True))
    figures = [UpdateFigures(samples, flat.all_norms[place]) for place, (samples, _, _) in enumerate(cohort)]
    by_figures = weights_of_figures(FedAvg(), figures, ordinary)
    assert list(by_figures) == [by_reading.get(place, 0) for place in range(len(cohort))]
    read = [place for place, (_, _, is_read) in enumerate(cohort) if is_read]
    mixed = admit(
        [opens[place] for place in read],
        MODEL,
        {},
        lambda _: None,
        others=[flat.all_norms[place] for place in range(len(cohort)) if place not in read],
        ordinary=ordinary,
    )
    assert [read[place] for place in mixed.kept] == [place for place in flat.kept if place in read]


def test_a_sum_pays_for_many_fine_updates_and_not_for_two_coarse_ones() -> None:
    model = msgspec.structs.replace(MODEL, parameters=(TensorSpec("body", "float32", (300, 400)),))
    assert saved_bytes(LOCAL, Float32Codec(), model, members=2) > 0
    assert saved_bytes(LOCAL, Int8(), model, members=2) < 0 < saved_bytes(LOCAL, Int8(), model, members=16)
