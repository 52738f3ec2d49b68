"""What devices put into a sum is what comes out of it together: updates, samples, losses, accuracy, statistics."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from coterie_learning import contribution
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.contribution import FULL_WEIGHT_BITS, LARGEST_BITS, DeviceFigures, Summed
from coterie_learning.local import Local
from coterie_learning.local.fed_nova import FedNova
from coterie_learning.local.q_fed_avg import QFedAvg
from coterie_learning.local.scaffold import Scaffold
from coterie_learning.local.sgd import Sgd
from coterie_learning.moments import add_moments, empty_moments, merged_moments
from coterie_learning.privacy import Masking
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Vector, added
from coterie_learning.update_files import Contents as FileContents
from coterie_learning.update_files import UpdateFile
from coterie_learning.updates import encode_scalars, join_update
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors

PAIRS = (
    RunningMoments(TensorSpec("a.mean", "float32", (3,)), TensorSpec("a.var", "float32", (3,))),
    RunningMoments(TensorSpec("b.mean", "float32", (2, 2)), TensorSpec("b.var", "float32", (2, 2))),
)
MODEL = msgspec.structs.replace(
    ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (4,)),),
        classes=3,
        batch_size=2,
        parameters=(TensorSpec("weight", "float32", (30, 7)), TensorSpec("bias", "float32", (7,))),
    ),
    statistics=PAIRS,
)
BASE: Tensors = {
    spec.name: np.full(spec.shape, 0.5, np.float32) for pair in PAIRS for spec in (pair.mean, pair.variance)
}
CODEC, SGD = Float32Codec(), Sgd()
TERMS = SumTerms(3, 0.0, 0.0, "curious")
FULL = 1 << FULL_WEIGHT_BITS


class Device:
    """An update of some length and figures, the same for the same number."""

    def __init__(self, number: int, *, local: Local = SGD, samples: int | None = None) -> None:
        rng = np.random.default_rng(number)
        self.number = number
        self.parts = [
            {spec.name: 0.02 * rng.standard_normal(spec.shape).astype(np.float32) for spec in MODEL.parameters}
            for _ in local.parts
        ]
        self.statistics = {
            spec.name: rng.uniform(0.1, 2, spec.shape).astype(np.float32)
            for pair in PAIRS
            for spec in (pair.mean, pair.variance)
        }
        self.measured = DeviceFigures(
            samples or int(rng.integers(1, 500)),
            rng.uniform(0, 5),
            rng.uniform(0, 5),
            rng.uniform() if number % 3 else None,
        )
        encoded = [CODEC.encode(part, seed=0).payload for part in self.parts]
        if local.scalars:
            encoded.append(encode_scalars({name: rng.uniform(1, 9) for name in local.scalars}))
        payload = join_update(self.statistics, *encoded)
        self.file = FileContents(MODEL, CODEC, local).open(InMemory(payload), ())


def contents(members: int, *, full_samples: int | None = None, local: Local = SGD) -> contribution.Contents:
    return contribution.Contents(MODEL, local, Masking(TERMS, 32, 1.0, full_samples, 60.0), members, seed=3)


def summed(what: contribution.Contents, devices: Sequence[Device]) -> Summed:
    vectors = [what.vector(one.file, one.measured, BASE, seed=one.number) for one in devices]
    assert all((len(one.numbers), len(one.tail)) == (what.layout.length, what.layout.tail) for one in vectors)
    total = added(vectors)
    return what.summed(total.numbers, total.tail, len(devices), BASE, CODEC)


def opened(found: Summed, local: Local = SGD) -> UpdateFile:
    return FileContents(MODEL, CODEC, local).open(InMemory(found.payload), ())


def numbers(file: UpdateFile, part: str) -> Tensors:
    return {
        spec.name: file.numbers(spec.name, 0, math.prod(spec.shape), part=part).reshape(spec.shape)
        for spec in MODEL.parameters
    }


@pytest.mark.parametrize("full_samples", [None, 1, 100, 1_000])
@pytest.mark.parametrize(
    "local", [Sgd(), Scaffold(), FedNova(), QFedAvg()], ids=["one part", "two parts", "one number", "two numbers"]
)
def test_the_mean_is_that_of_the_updates_by_what_they_count(full_samples: int | None, local: Local) -> None:
    devices, what = (
        [Device(number, local=local) for number in range(9)],
        contents(9, full_samples=full_samples, local=local),
    )
    weights = [what.weight_of(one.measured.samples) for one in devices]

    found = summed(what, devices)
    measured = found.figures
    assert measured is not None

    for place, part in enumerate(local.parts):
        for name, tensor in numbers(opened(found, local), part).items():
            wanted = np.average([one.parts[place][name] for one in devices], axis=0, weights=weights)
            np.testing.assert_allclose(tensor, wanted, atol=1e-6)
    for name in local.scalars:
        wanted = np.average([one.file.scalars[name] for one in devices], weights=weights)
        assert opened(found, local).scalars[name] == pytest.approx(wanted, rel=1e-6)
    mean = {
        key: np.average([getattr(one.measured, key) for one in devices], weights=weights)
        for key in ("loss_before", "loss_after")
    }
    assert measured.loss_before == pytest.approx(mean["loss_before"], abs=1e-6)
    assert measured.loss_after == pytest.approx(mean["loss_after"], abs=1e-6)
    knowing = [
        (one, weight) for one, weight in zip(devices, weights, strict=True) if one.measured.accuracy_before is not None
    ]
    accuracy = np.average(
        [one.measured.accuracy_before for one, _ in knowing], weights=[weight for _, weight in knowing]
    )
    assert measured.accuracy_before == pytest.approx(accuracy, abs=1e-6)
    assert found.devices == 9
    assert found.samples == sum(min(one.measured.samples, full_samples or one.measured.samples) for one in devices)


def test_what_an_update_counts_is_capped_and_never_nothing() -> None:
    by_samples, alike = contents(5, full_samples=200), contents(5)
    assert [by_samples.weight_of(samples) for samples in (0, 1, 50, 100, 200, 2**53)] == [1, 5, 256, 512, FULL, FULL]
    assert {alike.weight_of(samples) for samples in (0, 1, 2**53)} == {FULL}


@pytest.mark.parametrize("full_samples", [None, 300])
def test_statistics_are_those_of_all_samples_together(full_samples: int | None) -> None:
    """The law of total variance, as `coterie_learning.moments` has it of updates that are seen."""
    devices, what = [Device(number) for number in range(7)], contents(7, full_samples=full_samples)
    total = empty_moments(PAIRS)
    for one in devices:
        total = add_moments(total, PAIRS, one.statistics, BASE, what.weight_of(one.measured.samples))
    found = opened(summed(what, devices)).statistics
    for name, tensor in merged_moments(total, PAIRS, BASE).items():
        np.testing.assert_allclose(found[name], tensor, atol=2e-7)


def test_of_one_device_alone_the_sum_is_its_update() -> None:
    one = Device(5)
    found = summed(contents(1), [one])
    for name, tensor in numbers(opened(found), "delta").items():
        np.testing.assert_allclose(tensor, one.parts[0][name], atol=1e-7)
    assert found.samples == one.measured.samples


def test_nobody_knows_the_accuracy_where_no_device_does() -> None:
    devices = [Device(0), Device(3)]
    assert all(one.measured.accuracy_before is None for one in devices)
    found = summed(contents(2), devices).figures
    assert found is not None
    assert found.accuracy_before is None


def test_samples_beyond_all_measure_do_not_overflow() -> None:
    devices = [Device(number, samples=2**53) for number in range(3)]
    what = contents(2_500)
    vectors = [what.vector(one.file, one.measured, BASE, seed=0) for one in devices]
    tail = added(vectors).tail
    assert what.summed(added(vectors).numbers, tail, 3, BASE, CODEC).samples == 3 * 2**50


@pytest.mark.parametrize("figure", [2.0**LARGEST_BITS, -(2.0**LARGEST_BITS), math.inf, math.nan])
def test_what_would_overflow_is_refused(figure: float) -> None:
    one = Device(1)
    for field in ("loss_before", "loss_after"):
        with pytest.raises(WireError) as caught:
            contents(3).vector(one.file, one.measured._replace(**{field: figure}), BASE, seed=0)
        assert caught.value.code == "update.out_of_range"


def test_a_running_variance_that_would_overflow_is_refused() -> None:
    one = Device(1)
    one.file.statistics = {**one.statistics, "a.mean": np.full(3, 2_000, np.float32)}
    with pytest.raises(WireError) as caught:
        contents(3).vector(one.file, one.measured, BASE, seed=0)
    assert caught.value.code == "update.out_of_range"


@pytest.mark.parametrize("number", [2.0**LARGEST_BITS, math.inf])
def test_numbers_beside_an_update_that_would_overflow_are_refused(number: float) -> None:
    one = Device(1, local=QFedAvg())
    one.file.scalars = {"weight": 1.0, "curvature": number}
    with pytest.raises(WireError, match="weight") as caught:
        contents(3, local=QFedAvg()).vector(one.file, one.measured, BASE, seed=0)
    assert caught.value.code == "update.out_of_range"


def test_numbers_above_zero_stay_so_and_in_their_order() -> None:
    """What a merge divides by is never zero where no device's is, and a curvature never below its weight."""
    one, what = Device(1, local=QFedAvg()), contents(2_500, local=QFedAvg())
    one.file.scalars = {"weight": 1e-20, "curvature": 2e-20}
    found = opened(summed(what, [one]), QFedAvg()).scalars
    assert 0 < found["weight"] <= found["curvature"] < 2.0**-19
    one.file.scalars = {"weight": 0.0, "curvature": 0.0}
    assert set(opened(summed(what, [one]), QFedAvg()).scalars.values()) == {0.0}


def test_numbers_beside_updates_cannot_add_up_to_less_than_nothing() -> None:
    one, what = Device(1, local=FedNova()), contents(3, local=FedNova())
    vector = what.vector(one.file, one.measured, BASE, seed=0)
    tail = vector.tail.astype(np.int64) * 3
    tail[6] = -1
    with pytest.raises(WireError, match="normaliser") as caught:
        what.summed(vector.numbers, tail.astype(np.uint64), 3, BASE, CODEC)
    assert caught.value.code == "secure_sum.wrong_sum"


@pytest.mark.parametrize("members", [3, 1_000, 2_500])
def test_the_largest_figures_of_as_many_devices_as_there_may_be_fit(members: int) -> None:
    one, what = Device(1), contents(members)
    largest = 2.0**LARGEST_BITS - 1
    vector = what.vector(one.file, one.measured._replace(loss_before=largest, loss_after=-largest), BASE, seed=0)
    found = what.summed(vector.numbers, vector.tail * np.uint64(members), members, BASE, CODEC)
    assert found.figures is not None
    assert (found.figures.loss_before, found.figures.loss_after) == (largest, -largest)


@pytest.mark.parametrize(
    ("place", "number"),
    [
        (0, 0),
        (0, -5),
        (0, 4 * FULL),
        (1, -1),
        (1, 1 << 62),
        (2, 1 << 62),
        (2, -(1 << 63)),
        (4, -1),
        (4, 1 << 61),
        (5, 1 << 61),
    ],
)
def test_what_no_devices_could_have_sent_is_refused(place: int, number: int) -> None:
    what = contents(3, full_samples=100)
    one = Device(1)
    vector: Vector = what.vector(one.file, one.measured, BASE, seed=0)
    tail = vector.tail.astype(np.int64) * 3
    tail[place] = number
    with pytest.raises(WireError) as caught:
        what.summed(vector.numbers, tail.astype(np.uint64), 3, BASE, CODEC)
    assert caught.value.code == "secure_sum.wrong_sum"
