import random
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.child.errors import Cancelled
from coterie.child.run import run_child
from coterie.cloud import averaging_job
from coterie.cloud.averaging import merge_stored
from coterie.cloud.averaging_job import (
    BlobDamaged,
    MergeArguments,
    NotFinite,
    NoUpdateLeft,
    PartialOutdated,
    RelayedUpdate,
    StoredBlob,
    StoredPartial,
    StoredUpdate,
)
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.cohort import discounted, weights
from coterie_learning.device_plan import LOCAL, PRIVACY
from coterie_learning.fold import Aggregation, CountedUpdate, Release, fold_in_memory, partial_aggregate
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.partial_sums import encode_sums
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.updates import join_update
from coterie_wire.bundle import BlobRef, ModelSpec, RunningMoments, TensorSpec
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=3,
    batch_size=8,
    parameters=(TensorSpec("weight", "float32", (3, 5)), TensorSpec("bias", "float32", (3,))),
)


def numbers(seed: int, scale: float = 1.0):
    rng = np.random.default_rng(seed)
    return {spec.name: scale * rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}


def store(directory: Path, name: str, content: bytes) -> Path:
    path = directory / name
    path.write_bytes(content)
    return path


def stored_update(directory: Path, seed: int, samples: int) -> StoredUpdate:
    path = store(directory, f"update-{seed}", Int8().encode(numbers(seed, 0.1), seed=seed).payload)
    return StoredUpdate(str(path), BlobRef.of_file(path).sha256, samples)


def arguments(directory: Path, *updates: StoredUpdate, codec: str = "int8") -> MergeArguments:
    return MergeArguments(
        local={"kind": "sgd"},
        model=MODEL,
        base=stored_blob(store(directory, "base", encode_tensors(numbers(0)))),
        merge={"kind": "fed_avg"},
        codec={"kind": codec},
        updates=updates,
        output=str(directory / "output"),
        state_output=str(directory / "state"),
    )


def stored_blob(path: Path) -> StoredBlob:
    return StoredBlob(str(path), BlobRef.of_file(path).sha256)


def stored_codes(directory: Path, name: str, update: Tensors, samples: int = 10) -> StoredUpdate:
    path = store(directory, name, Float32Codec().encode(update, seed=0).payload)
    return StoredUpdate(str(path), BlobRef.of_file(path).sha256, samples)


def output_of(given: MergeArguments) -> Tensors:
    return decode_tensors(Path(given.output).read_bytes(), expected=given.model.version)


def ignore(_progress: object) -> None:
    pass


@pytest.fixture(scope="module")
def updates(tmp_path_factory: pytest.TempPathFactory) -> list[StoredUpdate]:
    """More than are summed by one product; some have the same content, and some of these the same samples."""
    directory = tmp_path_factory.mktemp("updates")
    return [stored_update(directory, seed % 35, 1 + seed % 7) for seed in range(60)]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_the_same_updates_give_the_same_bytes_in_any_order(
    seed: int, updates: list[StoredUpdate], tmp_path: Path
) -> None:
    expected = merge_stored(arguments(tmp_path, *updates), ignore).parameters
    shuffled = random.Random(seed).sample(updates, len(updates))
    assert merge_stored(arguments(tmp_path, *shuffled), ignore).parameters == expected


def test_statistics_are_merged_beside_the_parameters_whatever_the_servers_step(tmp_path: Path) -> None:
    mean, variance = (TensorSpec(f"norm.{name}", "float32", (2,)) for name in ("mean", "variance"))
    model = msgspec.structs.replace(MODEL, statistics=(RunningMoments(mean, variance),))
    base = {**numbers(0), "norm.mean": np.full(2, 9, np.float32), "norm.variance": np.full(2, 9, np.float32)}
    stored = []
    for centre, samples in ((0.0, 1), (4.0, 3)):
        found = {"norm.mean": np.full(2, centre, np.float32), "norm.variance": np.ones(2, np.float32)}
        payload = join_update(found, Int8().encode(numbers(1, 0.1), seed=1).payload)
        path = store(tmp_path, f"normed-{samples}", payload)
        stored.append(StoredUpdate(str(path), BlobRef.of_file(path).sha256, samples))
    given = msgspec.structs.replace(
        arguments(tmp_path, *stored),
        model=model,
        base=stored_blob(store(tmp_path, "normed", encode_tensors(base))),
        merge={"kind": "fed_avg", "learning_rate": 0.5},
    )
    merge_stored(given, ignore)
    merged = decode_tensors(Path(given.output).read_bytes(), expected=model.version)
    np.testing.assert_allclose(merged["norm.mean"], 3.0)
    np.testing.assert_allclose(merged["norm.variance"], 4.0)  # 1 within devices, 3 between them


def test_a_child_process_gives_the_same_bytes(updates: list[StoredUpdate], tmp_path: Path) -> None:
    here = merge_stored(arguments(tmp_path, *updates), ignore)
    assert run_child(averaging_job.JOB, arguments(tmp_path, *updates)) == here


def flipped(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [lambda path: flipped(path, 300), Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_update_costs_that_update(damage: Callable[[Path], object], tmp_path: Path) -> None:
    sound = [stored_update(tmp_path, seed, 10) for seed in (1, 2)]
    expected = merge_stored(arguments(tmp_path, *sound), ignore)
    damaged = stored_update(tmp_path, 3, 10)
    damage(Path(damaged.path))
    found = merge_stored(arguments(tmp_path, damaged, *sound), ignore)
    assert found.parameters == expected.parameters
    assert (found.updates, found.samples) == (2, 20)
    assert [(one.sha256, one.code) for one in found.left_out] == [(damaged.sha256, "update.damaged")]


def test_a_round_of_damaged_updates_makes_nothing(tmp_path: Path) -> None:
    update = stored_update(tmp_path, 1, 10)
    Path(update.path).unlink()
    with pytest.raises(NoUpdateLeft):
        merge_stored(arguments(tmp_path, update), ignore)


def test_a_damaged_base_is_never_merged(tmp_path: Path) -> None:
    given = arguments(tmp_path, stored_update(tmp_path, 1, 10))
    flipped(Path(given.base.path), 8 * (Path(given.base.path).stat().st_size - 1))
    with pytest.raises(BlobDamaged):
        merge_stored(given, ignore)
    assert not Path(given.output).exists()


@pytest.mark.parametrize(
    ("factor", "code"),
    [(3.4e38, "update.out_of_range"), (np.nan, "update.not_finite"), (100.0, "update.outlier")],
)
def test_an_update_that_would_decide_the_round_is_named_and_left_out(factor: float, code: str, tmp_path: Path) -> None:
    sound = [stored_codes(tmp_path, f"sound-{seed}", numbers(seed, 0.1)) for seed in range(4)]
    expected = merge_stored(arguments(tmp_path, *sound, codec="float32"), ignore)
    with np.errstate(over="ignore", invalid="ignore"):
        hostile = {name: np.clip(tensor * np.float32(factor), -3e38, 3e38) for name, tensor in numbers(9, 0.1).items()}
    payload = Float32Codec().pack(hostile)  # as a hostile device would: its own codec refuses what is not finite
    path = store(tmp_path, "hostile", payload)
    named = StoredUpdate(str(path), BlobRef.of_file(path).sha256, 10)
    found = merge_stored(arguments(tmp_path, sound[0], named, *sound[1:], codec="float32"), ignore)
    assert found.parameters == expected.parameters
    assert [(one.sha256, one.code) for one in found.left_out] == [(named.sha256, code)]


def test_what_was_ordinary_before_is_no_outlier_now(tmp_path: Path) -> None:
    """Devices that have learned their samples send little; one that has not sends what all sent before."""
    early = [stored_codes(tmp_path, f"early-{seed}", numbers(seed, 1.0)) for seed in range(3)]
    before = merge_stored(arguments(tmp_path, *early, codec="float32"), ignore)
    late = [stored_codes(tmp_path, f"late-{seed}", numbers(seed, 0.001)) for seed in range(3)]
    learning = stored_codes(tmp_path, "learning", numbers(9, 0.1))
    given = arguments(tmp_path, *late, learning, codec="float32")
    assert [one.code for one in merge_stored(given, ignore).left_out] == ["update.outlier"]
    found = merge_stored(msgspec.structs.replace(given, ordinary_norm=before.ordinary_norm), ignore)
    assert not found.left_out
    assert found.ordinary_norm == before.ordinary_norm
    excessive = stored_codes(tmp_path, "excessive", numbers(9, 5.0))
    given = arguments(tmp_path, *late, excessive, codec="float32")
    found = merge_stored(msgspec.structs.replace(given, ordinary_norm=before.ordinary_norm), ignore)
    assert [one.code for one in found.left_out] == ["update.outlier"]


def test_a_norm_that_is_known_is_not_measured_again(tmp_path: Path) -> None:
    sound = [stored_update(tmp_path, seed, 10) for seed in range(4)]
    measured = merge_stored(arguments(tmp_path, *sound), ignore)
    contents = Contents(MODEL, Int8(), LOCAL.parse({"kind": "sgd"}))
    files = [contents.open(InMemory(Path(update.path).read_bytes()), ()) for update in sound]
    norms = [file.extent().norm for file in files]
    known = [msgspec.structs.replace(update, norm=norm) for update, norm in zip(sound, norms, strict=True)]
    assert merge_stored(arguments(tmp_path, *known), ignore) == measured
    false = msgspec.structs.replace(known[0], norm=100 * norms[0])
    found = merge_stored(arguments(tmp_path, false, *known[1:]), ignore)
    assert [(one.sha256, one.code) for one in found.left_out] == [(false.sha256, "update.outlier")]


def test_an_update_whose_norm_is_known_is_compared_with_its_hash(tmp_path: Path) -> None:
    sound = [msgspec.structs.replace(stored_update(tmp_path, seed, 10), norm=1.0) for seed in range(4)]
    expected = merge_stored(arguments(tmp_path, *sound[1:]), ignore)
    damaged = bytearray(Path(sound[0].path).read_bytes())
    damaged[-1] ^= 1
    Path(sound[0].path).write_bytes(damaged)
    found = merge_stored(arguments(tmp_path, *sound), ignore)
    assert found.parameters == expected.parameters
    assert [(one.sha256, one.code) for one in found.left_out] == [(sound[0].sha256, "update.damaged")]


def test_no_number_of_samples_takes_the_whole_weight(tmp_path: Path) -> None:
    zeros = {name: np.zeros_like(tensor) for name, tensor in numbers(0).items()}
    greedy = stored_codes(tmp_path, "greedy", {name: tensor + 1 for name, tensor in zeros.items()}, samples=2**52)
    modest = [stored_codes(tmp_path, "modest", zeros, samples=samples) for samples in (8, 10, 12)]
    given = arguments(tmp_path, greedy, *modest, codec="float32")
    merge_stored(given, ignore)
    moved = {name: tensor - numbers(0)[name] for name, tensor in output_of(given).items()}
    np.testing.assert_allclose(moved["bias"], 0.5, atol=1e-6)  # as much as all others together


def test_parameters_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    wanted = arguments(tmp_path, stored_update(tmp_path, 1, 1))
    base = encode_tensors({name: np.full_like(tensor, np.inf) for name, tensor in numbers(1).items()})
    wanted = msgspec.structs.replace(wanted, base=stored_blob(store(tmp_path, "huge", base)))
    with pytest.raises(NotFinite):
        merge_stored(wanted, ignore)


@pytest.mark.long
@pytest.mark.parametrize("merge", ["fed_avg", "krum"])
def test_memory_is_that_of_a_block_whatever_the_model_and_the_number_of_updates(merge: str, tmp_path: Path) -> None:
    """Where nothing is measured, for which models are loaded."""

    def peak_bytes(rows: int, count: int) -> int:
        model = msgspec.structs.replace(MODEL, parameters=(TensorSpec("w", "float32", (rows, 2048)),))
        base = {"w": np.random.default_rng(0).standard_normal((rows, 2048), dtype=np.float32)}
        path = store(tmp_path, "large", Int8().encode(base, seed=0).payload)
        update = StoredUpdate(str(path), BlobRef.of_file(path).sha256, 10)
        given = msgspec.structs.replace(
            arguments(tmp_path, *(update,) * count),
            model=model,
            base=stored_blob(store(tmp_path, "base", encode_tensors(base))),
            merge={"kind": merge},
        )
        del base
        tracemalloc.start()
        try:
            merge_stored(given, ignore)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    one = peak_bytes(1024, 16)
    assert peak_bytes(3072, 16) < 1.1 * one
    assert peak_bytes(1024, 48) < 1.1 * one


NOISE = {"kind": "central_noise", "norm": 0.5, "noise_multiplier": 2.0}


def noised(directory: Path, *updates: StoredUpdate, secret: bytes = bytes(32), **privacy: object) -> MergeArguments:
    return msgspec.structs.replace(
        arguments(directory, *updates, codec="float32"),
        merge={"kind": "fed_avg", "weight_by": "uniform"},
        privacy={**NOISE, **privacy},
        noise_secret=secret,
    )


def test_a_repeated_merge_draws_the_same_noise_and_one_of_other_updates_another(tmp_path: Path) -> None:
    updates = [stored_codes(tmp_path, f"update-{seed}", numbers(seed, 0.01)) for seed in range(4)]
    first = merge_stored(noised(tmp_path, *updates), ignore)
    assert merge_stored(noised(tmp_path, *reversed(updates)), ignore).parameters == first.parameters
    whole = output_of(noised(tmp_path, *updates))
    merge_stored(noised(tmp_path, *updates[:3]), ignore)
    fewer = output_of(noised(tmp_path, *updates))
    # Were the noise the same, three times one and four times the other would differ by the update that is left out.
    differences = np.concatenate([(4 * whole[name] - 3 * fewer[name]).ravel() for name in whole])
    assert np.abs(differences - np.concatenate([numbers(3, 0.01)[name].ravel() for name in whole])).max() > 0.5
    assert merge_stored(noised(tmp_path, *updates, secret=bytes(31) + b"1"), ignore).parameters != first.parameters


def test_nobody_moves_the_sum_by_more_than_the_norm_whatever_he_sends(tmp_path: Path) -> None:
    """The noise is nearly off, so that what is left of the hostile update can be seen."""
    zeros = {spec.name: np.zeros(spec.shape, np.float32) for spec in MODEL.parameters}
    quiet = [stored_codes(tmp_path, "quiet", zeros), stored_codes(tmp_path, "other", zeros, samples=11)]
    hostile = stored_codes(tmp_path, "hostile", numbers(9, 2.0), samples=10**6)
    found = noised(tmp_path, *quiet, hostile, noise_multiplier=1e-6)
    assert merge_stored(found, ignore).left_out == (), "it is not judged by the others' norms, and shortened instead"
    base, output = numbers(0), output_of(found)
    moved = np.concatenate([(output[name] - base[name]).ravel() for name in base])
    assert 0.45 / 3 < float(np.linalg.norm(moved)) <= 0.5 / 3 * (1 + 1e-5)


CORRELATED = {"kind": "correlated_noise", "separation_rounds": 3, "target_rounds": 9}


def test_correlated_noise_is_that_of_the_digests_given_in_whatever_process(tmp_path: Path) -> None:
    """What a job of the platform draws, here or in a child that took over, is what the fold of the simulator draws."""
    updates = [stored_codes(tmp_path, f"update-{seed}", numbers(seed, 0.01)) for seed in range(4)]
    whole = msgspec.structs.replace(noised(tmp_path, *updates), privacy=CORRELATED)
    first = merge_stored(whole, ignore)
    second = msgspec.structs.replace(whole, noise_earlier=(first.summed,))
    again = merge_stored(msgspec.structs.replace(second, updates=tuple(reversed(updates))), ignore)
    assert run_child(averaging_job.JOB, second) == again
    assert again.parameters != first.parameters
    opens = [partial(nullcontext, opened_update(update)) for update in updates]
    weighed = discounted([1] * 4, [FULL_WEIGHT] * 4)
    sums = [f"{update.sha256} {one.weight}" for update, one in zip(updates, weighed, strict=True)]
    folded = fold_in_memory(
        FedAvg(weight_by="uniform"),
        MODEL.parameters,
        [CountedUpdate(one, *weight) for one, weight in zip(opens, weighed, strict=True)],
        numbers(0),
        None,
        Aggregation(release=Release.under(PRIVACY.parse(CORRELATED), bytes(32), sums, [first.summed])),
    )
    found = decode_tensors(Path(second.output).read_bytes(), expected=MODEL.version)
    for name, tensor in folded.parameters.items():
        np.testing.assert_array_equal(tensor, found[name])


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.2, 0.3])
def test_a_child_that_is_killed_leaves_the_next_the_same_noise(after_s: float, tmp_path: Path) -> None:
    updates = [stored_codes(tmp_path, f"update-{seed}", numbers(seed, 0.01)) for seed in range(4)]
    first = msgspec.structs.replace(noised(tmp_path, *updates), privacy=CORRELATED)
    given = msgspec.structs.replace(first, noise_earlier=(merge_stored(first, ignore).summed,))
    cancel = threading.Event()
    timer = threading.Timer(after_s, cancel.set)
    timer.start()
    with suppress(Cancelled):  # by SIGKILL, wherever it is
        run_child(averaging_job.JOB, given, cancel=cancel)
    timer.cancel()
    killed = run_child(averaging_job.JOB, given).parameters
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    elsewhere = msgspec.structs.replace(given, output=str(fresh / "output"), state_output=str(fresh / "state"))
    assert merge_stored(elsewhere, ignore).parameters == killed


def opened_update(update: StoredUpdate) -> UpdateFile:
    contents = Contents(MODEL, Float32Codec(), LOCAL.parse({"kind": "sgd"}))
    return contents.open(InMemory(Path(update.path).read_bytes()), ())


def stored_partial(directory: Path, updates: list[StoredUpdate], found: list[int]) -> StoredPartial:
    """The sum of `updates`, and their figures as a supernode reports them."""
    contents = Contents(MODEL, Int8(), Sgd())

    def opened_update(update: StoredUpdate) -> AbstractContextManager[UpdateFile]:
        return nullcontext(contents.open(InMemory(Path(update.path).read_bytes()), ()))

    kept = [(update, weight) for update, weight in zip(updates, found, strict=True) if weight]
    counted = [CountedUpdate(partial(opened_update, update), weight) for update, weight in kept]
    sums = partial_aggregate(MODEL.parameters, counted, parts=("delta",))
    path = store(directory, f"sum-{len(updates)}", encode_sums(sums, of="site"))
    figures = []
    for update, weight in zip(updates, found, strict=True):
        with opened_update(update) as file:
            figures.append(RelayedUpdate(update.sha256, update.samples, file.extent().norm, weight))
    return StoredPartial(str(path), BlobRef.of_file(path).sha256, "site", tuple(figures))


def test_partial_aggregates_make_the_version_that_their_updates_make(tmp_path: Path) -> None:
    updates = [stored_update(tmp_path, seed, samples) for seed, samples in enumerate([1, 2, 3, 400, 5, 6])]
    flat = merge_stored(arguments(tmp_path, *updates), lambda _: None)
    found = weights([update.samples for update in updates])
    partials = (
        stored_partial(tmp_path, updates[:2], list(found[:2])),
        stored_partial(tmp_path, updates[2:5], list(found[2:5])),
    )
    relayed = msgspec.structs.replace(arguments(tmp_path, updates[5]), partials=partials)
    assert merge_stored(relayed, lambda _: None) == flat
    everything = (stored_partial(tmp_path, updates, list(found)),)
    assert merge_stored(msgspec.structs.replace(arguments(tmp_path), partials=everything), lambda _: None) == flat
    damaged = msgspec.structs.replace(everything[0], sha256="0" * 64)
    with pytest.raises(BlobDamaged):
        merge_stored(msgspec.structs.replace(arguments(tmp_path), partials=(damaged,)), lambda _: None)


def test_a_partial_aggregate_leaves_out_what_is_left_out_of_a_flat_merge(tmp_path: Path) -> None:
    updates = [stored_update(tmp_path, seed, 5) for seed in range(4)]
    path = store(tmp_path, "large", Int8().encode(numbers(9, 20.0), seed=9).payload)
    updates.append(StoredUpdate(str(path), BlobRef.of_file(path).sha256, 5))
    flat = merge_stored(arguments(tmp_path, *updates), lambda _: None)
    assert len(flat.left_out) == 1
    site = (stored_partial(tmp_path, updates[2:], [5, 5, 0]),)
    relayed = msgspec.structs.replace(arguments(tmp_path, *updates[:2]), partials=site)
    assert merge_stored(relayed, lambda _: None) == flat
    for outdated in ([5, 5, 5], [5, 4, 0]):
        site = (stored_partial(tmp_path, updates[2:], outdated),)
        with pytest.raises(PartialOutdated):
            merge_stored(msgspec.structs.replace(relayed, partials=site), lambda _: None)
