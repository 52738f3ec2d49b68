"""The cloud model of a simulation: the platform's own bootstrap, distillation and compression, without files."""

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple, Self

import numpy as np
import torch
from torch.export import ExportedProgram

from coterie.child.job import Progress
from coterie.cloud.cloud_update import update_cloud
from coterie.cloud.compression import Compression, Student, compress
from coterie.cloud.preflight_job import PairMismatch
from coterie.cloud.program import CloudProgram
from coterie.compile.compiled import compile_model
from coterie.compile.upload import load_upload
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import NOTHING_FROZEN, predict_logits
from coterie.simulation.bodies import export_body
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Task
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.learners.pair import why_not_simulated
from coterie.simulation.on_device import Graphs
from coterie.simulation.scenario import Bootstrap
from coterie_learning.local import Local
from coterie_learning.merge.distill import DistillMerge
from coterie_learning.metrics import log_softmax
from coterie_learning.teacher import quantise_weights, restore_weights
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Float32, Tensors, decode_tensors


class CloudTeacher:
    """The teacher that devices download: the cloud model's predict graph with int8 parameters."""

    def __init__(self, model: "CloudModel", state: bytes) -> None:
        parameters = model.parameters(state)
        encoded = quantise_weights(parameters)
        self._session = model.graphs.predict
        self._parameters = restore_weights(encoded, model.graphs.spec.version)
        self._size_bytes = len(encoded) + len(model.graphs.predict_graph)

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def probabilities(self, data: Dataset) -> Float32:
        """[n, classes]."""
        found: Float32 = np.exp(log_softmax(predict_logits(self._session, self._parameters, data))).astype(np.float32)
        return found


class Pair(NamedTuple):
    """A cloud model's state and the device model distilled from it."""

    cloud: bytes
    device: Tensors


class CloudModel:
    """One architecture; parameters are passed in."""

    def __init__(self, program: ExportedProgram, bootstrap: Bootstrap) -> None:
        torch.set_num_threads(1)  # models are small, and results must not depend on the number of cores
        compiled = compile_model(program, batch_size=bootstrap.batch_size)
        self._program = CloudProgram(program)
        self._bootstrap = bootstrap
        self.graphs = Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict)
        self.untrained = self._program.save()

    @classmethod
    def stored(cls, program: bytes, device: ModelSpec) -> Self:
        """A model of the user's own, as ``torch.export.save`` writes it, beside the `device` model.

        Raises DoesNotFit or PairMismatch, and what loading and compiling raise.
        """
        with NamedTemporaryFile(suffix=".pt2") as file:
            file.write(program)
            file.flush()
            found = cls(load_upload(Path(file.name)), Bootstrap())
        spec = found.graphs.spec
        problem = why_not_simulated(spec)
        if problem is not None:
            raise DoesNotFit(detail=f"simulations do not take this cloud model yet: {problem}")
        if _mapped(spec) != _mapped(device):
            raise PairMismatch(device=_mapped(device), cloud=_mapped(spec))
        return found

    @classmethod
    def with_body(cls, task: Task, bootstrap: Bootstrap, *, seed: int) -> Self:
        """A network with one hidden layer."""
        return cls(export_body(task, body="mlp", hidden=bootstrap.hidden, seed=seed), bootstrap)

    def parameters(self, state: bytes) -> Tensors:
        """With its running statistics, as float32 tensors by name."""
        tensors = decode_tensors(state, expected=self._program.tensor_specs())
        return {spec.name: np.asarray(tensors[spec.name], dtype=np.float32) for spec in self.graphs.spec.version}

    def learner(self, state: bytes, local: Local) -> NeuralLearner:
        """The cloud model as a device would run it."""
        parameters = self.parameters(state)
        return NeuralLearner(self.graphs, local, parameters, first=parameters, received=parameters)

    def bootstrap(self, data: Dataset, *, seed: int) -> bytes:
        """Stage 1: learn from the labels alone."""
        given = self._bootstrap
        labels_only = DistillMerge(
            lambda_c=1.0,
            epochs=given.epochs,
            learning_rate=given.learning_rate,
            batch_size=given.batch_size,
            patience=given.patience,
            validation_share=given.validation_share,
        )
        nobody = np.zeros((len(data.labels), self.graphs.spec.classes), np.float32)
        return self.update(self.untrained, data, nobody, labels_only, seed=seed)

    def update(self, state: bytes, data: Dataset, wanted: Float32, merge: DistillMerge, *, seed: int) -> bytes:
        """Stage 4: learn from the labels and from the devices' mean output `wanted` [n, classes]."""
        self._program.load(state)
        return update_cloud(self._program, data, wanted, merge, seed=seed, report=_ignore).state

    def probabilities(self, state: bytes, data: Dataset) -> Float32:
        """[n, classes]."""
        self._program.load(state)
        return self._program.probabilities(data)

    def compress(self, state: bytes, into: NeuralLearner, data: Dataset, how: Compression) -> Tensors:
        """Stage 2, and the end of stage 4: the device model `into` learns from the labels and from this one."""
        graphs = into.graphs
        student = Student(graphs.spec, graphs.train_step, graphs.predict_graph, NOTHING_FROZEN)
        found = compress(student, into.parameters, data, self.probabilities(state, data), how, report=_ignore)
        tensors = decode_tensors(found.state, expected=graphs.spec.version)
        return {name: np.asarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}

    def first_pair(self, learner: NeuralLearner, data: Dataset, *, seed: int) -> Pair:
        """Stages 1 and 2."""
        state = self.bootstrap(data, seed=seed)
        how = Compression.of(self._bootstrap, seed=seed)
        return Pair(state, self.compress(state, learner, data, how))


def _mapped(spec: ModelSpec) -> str:
    inputs = ", ".join(f"{one.name} {one.dtype} {list(one.shape)}" for one in spec.inputs)
    return f"{inputs} to {spec.classes} classes"


def _ignore(_progress: Progress) -> None:
    """The default: progress is not reported."""
