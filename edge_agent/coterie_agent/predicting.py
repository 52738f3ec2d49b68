"""Predictions of the model that the device holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from coterie_agent.blobs import BlobCache
from coterie_agent.model import features, held_manifest
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row, StoredRow
from coterie_agent.training.model import Model, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_wire.bundle import Manifest

_ROWS = 256


class Prediction(msgspec.Struct, frozen=True):
    """The most likely class of one sample."""

    label: str
    """What the class is called."""
    index: int
    probability: float


@dataclass(frozen=True)
class HeldModel:
    """A version ready to predict."""

    manifest: Manifest
    edition: int
    """Of the device's own parameters on that version; 0: the version itself."""
    predictor: Predictor

    @property
    def features(self) -> int:
        return features(self.manifest.model)

    def predict(self, rows: Sequence[Row]) -> list[Prediction]:
        """One prediction a row."""
        predictions: list[Prediction] = []
        for start in range(0, len(rows), _ROWS):
            part = [StoredRow(0, row.x, 0) for row in rows[start : start + _ROWS]]
            for probabilities in self.predictor.probabilities(part):
                index = int(probabilities.argmax())
                label = self.manifest.labels[index] if index < len(self.manifest.labels) else str(index)
                predictions.append(Prediction(label, index, round(float(probabilities[index]), 6)))
        return predictions


def load_held_model(store: Store, blobs: BlobCache, *, threads: int) -> HeldModel:
    """The version that the device holds, with the device's own parameters where it has made some of it, loaded.

    Raises AgentError ``agent.not_joined``, ``agent.no_model``, ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    manifest = held_manifest(store)
    model = Model(manifest, blobs)
    edition = own_edition(store, manifest.version)
    own = read_parameters(store.company.own_tensors(), manifest.model) if edition else None
    parameters = model.parameters() if own is None else own
    predictor = Predictor(model.predict(), manifest.model, parameters, model.frozen(), threads=threads)
    return HeldModel(manifest, edition, predictor)


def own_edition(store: Store, version: str | None) -> int:
    """How often the device has changed its own parameters of `version`; 0: it predicts with the version itself."""
    own = store.company.own()
    return own.edition if own is not None and own.base == version else 0
