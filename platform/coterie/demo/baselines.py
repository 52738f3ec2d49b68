"""What the federation is compared with: each device alone, and all data in one place.

Both start from the device model that the federation starts from, train with the agent's own code on the same samples,
and pass over them as often as a device that takes part in every round.
"""

import io
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np

from coterie.demo.digits import Samples, together
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import NOTHING_FROZEN, Frozen, evaluate
from coterie_agent.store.database import Database
from coterie_agent.store.samples import Row, SampleStore
from coterie_agent.training.batches import make_batch
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.optimisation import Optimisation
from coterie_learning.client.order import split, steps_per_epoch
from coterie_learning.device_plan import CODEC
from coterie_learning.local import Local
from coterie_wire.bundle import Manifest
from coterie_wire.structs import from_json
from coterie_wire.tensors import Tensors, decode_tensors


class InitialModel(NamedTuple):
    """The device model that everything starts from."""

    manifest: Manifest
    train_step: bytes
    predict: bytes
    parameters: Tensors
    frozen: Frozen

    def accuracy(self, parameters: Tensors, held_out: Samples) -> float:
        """Of `parameters` on held-out digits."""
        name = self.manifest.model.inputs[0].name
        dataset = Dataset({name: held_out.x}, held_out.y)
        found = evaluate(self.predict, parameters, dataset, self.manifest.model, self.frozen)
        assert found.accuracy is not None, "digits are right or wrong"
        return found.accuracy

    def float32_update_bytes(self) -> int:
        """Size of an update that is not quantised, encoded and not guessed."""
        zeros = {name: np.zeros_like(tensor) for name, tensor in self.parameters.items()}
        return len(CODEC.parse({"kind": "float32"}).encode(zeros, seed=0).payload)


class Baselines(NamedTuple):
    """Accuracy on held-out digits, as a share of 1."""

    bootstrap: float
    alone_mean: float
    central: float


def read_start(archive: bytes) -> InitialModel:
    """What a version's archive holds."""
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        manifest = from_json(members.read("manifest.json"), Manifest)
        spec = manifest.model
        tensors = decode_tensors(members.read("parameters.safetensors"), expected=spec.version)
        frozen = members.read("frozen.safetensors") if spec.frozen else None
        return InitialModel(
            manifest=manifest,
            train_step=members.read("train_step.onnx"),
            predict=members.read("predict.onnx"),
            parameters={name: np.asarray(tensor, dtype=np.float32) for name, tensor in tensors.items()},
            frozen=NOTHING_FROZEN if frozen is None else decode_tensors(frozen, expected=spec.frozen),
        )


def measure_baselines(
    start: InitialModel, *, devices: Sequence[Samples], held_out: Samples, local: Local, rounds: int, seed: int
) -> Baselines:
    """Train and measure what the federation is compared with; some seconds of one core."""
    everything = together(devices)

    def trained(samples: Samples) -> float:
        return start.accuracy(_train(start, samples, local=local, rounds=rounds, seed=seed), held_out)

    return Baselines(
        bootstrap=start.accuracy(start.parameters, held_out),
        alone_mean=mean(trained(samples) for samples in devices),
        central=trained(everything),
    )


def _train(start: InitialModel, samples: Samples, *, local: Local, rounds: int, seed: int) -> Tensors:
    spec = start.manifest.model
    with tempfile.TemporaryDirectory(prefix="coterie-baseline-") as directory:
        database = Database(Path(directory, "store.sqlite3"), durability="process")
        try:
            stored = SampleStore(database)
            rows = (Row(x.tobytes(), int(y)) for x, y in zip(samples.x, samples.y, strict=True))
            stored.add(rows, max_samples=len(samples.y))
            train = split(stored.ids(stored.snapshot())).train
            optimisation = Optimisation(
                open_steps(train_graph(start.train_step, spec, threads=1), frozen_tensors=start.frozen),
                spec,
                start.parameters,
                inputs={},
                train=train,
                local=local,
                seed=seed,
            )
            for _ in range(rounds * local.epochs_wanted() * steps_per_epoch(len(train), spec.batch_size)):
                batch = stored.load(optimisation.batch_ids())
                optimisation.step(make_batch(batch, spec, size=spec.batch_size))
            return optimisation.parameters()
        finally:
            database.close()
