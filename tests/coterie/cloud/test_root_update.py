"""What the platform learns itself, and merges that compare updates with it, in a process of their own too."""

from pathlib import Path

import numpy as np

from coterie.child.run import run_child
from coterie.cloud import averaging_job
from coterie.cloud.averaging import merge_stored
from coterie.cloud.averaging_job import MergeArguments, Root, StoredBlob, StoredUpdate
from coterie.cloud.root_update import root_update
from coterie.evaluation.datasets import Dataset
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_plan import LOCAL
from coterie_wire.bundle import BlobRef
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors
from tests.coterie_agent.bundles import CLASSES, SIDE, SPEC, parameters, train_step_graph

LOCAL_KIND = {"kind": "sgd", "epochs": 3, "learning_rate": 0.2}
SGD = LOCAL.parse(LOCAL_KIND)
BASE: Tensors = parameters(0)


def labelled(count: int, seed: int) -> Dataset:
    """Images that are brighter in one of three places."""
    source = np.random.default_rng(seed)
    labels = source.integers(0, CLASSES, count)
    images = source.normal(0, 0.3, (count, SIDE * SIDE)).astype(np.float32)
    images[np.arange(count), labels] += 2
    return Dataset({"pixels": images.reshape(count, SIDE, SIDE)}, labels)


def learned(samples: Dataset, *, seed: int = 1) -> Tensors:
    with root_update(SGD, SPEC, train_step_graph(SPEC), samples, BASE, seed=seed)() as file:
        return {
            spec.name: file.numbers(spec.name, 0, int(np.prod(spec.shape))).reshape(spec.shape)
            for spec in SPEC.parameters
        }


def test_it_is_what_steps_of_the_graph_make_of_the_samples() -> None:
    update = learned(labelled(30, 1))
    again = learned(labelled(30, 1))
    assert all(update[name].tobytes() == again[name].tobytes() for name in update)
    assert any(update[name].tobytes() != learned(labelled(30, 1), seed=2)[name].tobytes() for name in update)
    data = labelled(200, 9)
    logits = [
        data.inputs["pixels"].reshape(200, -1) @ one["weight"].T + one["bias"]
        for one in (BASE, {name: BASE[name] + update[name] for name in update})
    ]
    before, after = [float((found.argmax(axis=1) == data.labels).mean()) for found in logits]
    assert after > 0.9 > before


def arguments(directory: Path, updates: list[Tensors]) -> MergeArguments:
    def store(name: str, content: bytes) -> StoredBlob:
        path = directory / name
        path.write_bytes(content)
        return StoredBlob(str(path), BlobRef.of_file(path).sha256)

    root, stored = labelled(40, 2), []
    for number, update in enumerate(updates):
        blob = store(f"update-{number}", Float32Codec().encode(update, seed=0).payload)
        stored.append(StoredUpdate(blob.path, blob.sha256, 10))
    np.savez(directory / "root.npz", x=root.inputs["pixels"], y=root.labels)
    return MergeArguments(
        local=LOCAL_KIND,
        model=SPEC,
        base=store("base", encode_tensors(BASE)),
        merge={"kind": "trusted_root", "samples": 30},
        codec={"kind": "float32"},
        updates=tuple(stored),
        output=str(directory / "output"),
        state_output=str(directory / "state"),
        root=Root(train_step=store("train_step", train_step_graph(SPEC)).path, dataset=str(directory / "root.npz")),
    )


def test_a_majority_of_attackers_moves_nothing(tmp_path: Path) -> None:
    honest = [learned(labelled(30, seed)) for seed in (3, 4)]
    hostile = [{name: -5 * tensor for name, tensor in honest[0].items()} for _ in range(4)]
    given = arguments(tmp_path, [*honest, *hostile])
    result = merge_stored(given, lambda _: None)
    assert [one.weight > 0 for one in result.compared] == [True] * 2 + [False] * 4
    version = decode_tensors(Path(given.output).read_bytes(), expected=SPEC.version)
    moved = {name: version[name] - BASE[name] for name in BASE}
    assert sum(float(np.vdot(moved[name], honest[0][name])) for name in BASE) > 0
    assert run_child(averaging_job.JOB, given) == result
