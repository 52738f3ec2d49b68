import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.child.run import run_child
from coterie.cloud import averaging_job
from coterie.cloud.averaging import BLOCK, merge_stored
from coterie.cloud.averaging_job import MergeArguments, NotFinite, StoredUpdate, UpdateChanged
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.updates import join_update
from coterie_wire.bundle import BlobRef, ModelSpec, RunningMoments, TensorSpec
from coterie_wire.tensors import decode_tensors, encode_tensors

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
        base=str(store(directory, "base", encode_tensors(numbers(0)))),
        merge={"kind": "fed_avg"},
        codec={"kind": codec},
        updates=updates,
        output=str(directory / "output"),
    )


def ignore(_progress: object) -> None:
    pass


@pytest.fixture(scope="module")
def updates(tmp_path_factory: pytest.TempPathFactory) -> list[StoredUpdate]:
    """More than a block of them; some have the same content, and some of these the same samples."""
    directory = tmp_path_factory.mktemp("updates")
    return [stored_update(directory, seed % (BLOCK + 5), 1 + seed % 7) for seed in range(BLOCK + 30)]


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
        base=str(store(tmp_path, "normed", encode_tensors(base))),
        merge={"kind": "fed_avg", "learning_rate": 0.5},
    )
    merge_stored(given, ignore)
    merged = decode_tensors(Path(given.output).read_bytes(), expected=model.version)
    np.testing.assert_allclose(merged["norm.mean"], 3.0)
    np.testing.assert_allclose(merged["norm.variance"], 4.0)  # 1 within devices, 3 between them


def test_a_child_process_gives_the_same_bytes(updates: list[StoredUpdate], tmp_path: Path) -> None:
    here = merge_stored(arguments(tmp_path, *updates), ignore)
    assert run_child(averaging_job.JOB, arguments(tmp_path, *updates)) == here


def test_an_update_that_has_changed_on_the_disk_is_refused(tmp_path: Path) -> None:
    update = stored_update(tmp_path, 1, 10)
    Path(update.path).write_bytes(b"something else")
    with pytest.raises(UpdateChanged):
        merge_stored(arguments(tmp_path, update), ignore)


def test_an_update_that_is_gone_is_refused(tmp_path: Path) -> None:
    update = stored_update(tmp_path, 1, 10)
    Path(update.path).unlink()
    with pytest.raises(UpdateChanged):
        merge_stored(arguments(tmp_path, update), ignore)


def test_parameters_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    huge = {name: np.full_like(tensor, 3e38) for name, tensor in numbers(1).items()}
    base = encode_tensors(huge)
    path = store(tmp_path, "huge", Float32Codec().encode(huge, seed=0).payload)
    wanted = arguments(tmp_path, StoredUpdate(str(path), BlobRef.of_file(path).sha256, 1), codec="float32")
    Path(wanted.base).write_bytes(base)
    with np.errstate(over="ignore"), pytest.raises(NotFinite):
        merge_stored(wanted, ignore)
