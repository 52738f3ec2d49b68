"""Predictions of the model that the device holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from coterie_agent.blobs import BlobCache
from coterie_agent.model import held_manifest
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalEdition
from coterie_agent.store.samples import Row, StoredRow
from coterie_agent.training.filling import lengths_of
from coterie_agent.training.model import Model, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_learning.metrics import log_softmax
from coterie_wire.bundle import Manifest
from coterie_wire.contract import at_length
from coterie_wire.tensors import Float32

_ROWS = 256


class Prediction(msgspec.Struct, frozen=True):
    """The most likely class of one sample."""

    label: str
    """What the class is called."""
    index: int
    probability: float


class Output(msgspec.Struct, frozen=True):
    """The output for one sample of a model that is not a classifier."""

    output: list[float]
    """The probability of each label, the likeliest token at each position, or the values, flattened."""


@dataclass(frozen=True)
class HeldModel:
    """A model ready to predict."""

    manifest: Manifest
    stored: PersonalEdition | None
    """The number of the personal model when this one was loaded; it grows with every change."""
    is_personal: bool
    """Whether the personal model predicts, or the version itself."""
    predictor: Predictor

    def predict(self, rows: Sequence[Row]) -> list[Prediction | Output]:
        """One prediction a row."""
        predictions: list[Prediction | Output] = []
        for start in range(0, len(rows), _ROWS):
            asked = [StoredRow(0, row.x, 0) for row in rows[start : start + _ROWS]]
            outputs, lengths = self.predictor.outputs(asked), lengths_of(asked, self.manifest.model)
            shapes = (at_length(self.manifest.model, length).output.shape for length in lengths)
            # The outputs of padding are dropped.
            predictions += [
                self._answer(output[tuple(map(slice, shape))]) for output, shape in zip(outputs, shapes, strict=True)
            ]
        return predictions

    def _answer(self, output: Float32) -> Prediction | Output:
        match self.manifest.model.task:
            case "classes":
                probabilities = np.exp(log_softmax(output))
                index = int(probabilities.argmax())
                label = self.manifest.labels[index] if index < len(self.manifest.labels) else str(index)
                return Prediction(label, index, round(float(probabilities[index]), 6))
            case "labels":
                return Output((1 / (1 + np.exp(-output.astype(np.float64)))).round(6).tolist())
            case "tokens":
                return Output(output.argmax(axis=-1).tolist())
            case "values":
                return Output(output.reshape(-1).tolist())


def load_held_model(store: Store, blobs: BlobCache, *, threads: int) -> HeldModel:
    """The model in use: the device's personal model where there is one, else the version that it holds.

    A new version is not used before it is decided that it replaces the personal model
    (`coterie_agent.peers.personal_model`), so that the owner's predictions never get worse meanwhile.

    Raises AgentError ``agent.not_joined``, ``agent.no_model``, ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    manifest = held_manifest(store)
    model = Model(manifest, blobs)
    stored = store.peers.personal()
    own = None if stored is None else read_parameters(store.peers.personal_tensors(), manifest.model)
    parameters = model.parameters() if own is None else own
    predictor = Predictor(model.predict(), manifest.model, parameters, model.frozen(), threads=threads)
    return HeldModel(manifest, stored, own is not None, predictor)
