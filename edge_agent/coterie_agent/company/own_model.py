"""The device's own model: the version it received, and what its own training and its company have made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie_agent.store.company import CompanyStore
from coterie_agent.store.own_model import Own, OwnTensors
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.model import Model, Parameters, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_learning.guard import judge
from coterie_learning.profile import Int64
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import encode_tensors


@dataclass
class OwnModel:
    """A version's graphs with the device's own parameters."""

    model: Model
    predictor: Predictor
    parameters: Parameters
    stored: Own
    """As what the store knew it when it was last read or written; a round may have changed it since."""

    @property
    def spec(self) -> ModelSpec:
        return self.model.manifest.model

    @property
    def version(self) -> str:
        return self.model.manifest.version

    def take(self, parameters: Parameters) -> None:
        """Predict with `parameters` from now on."""
        self.parameters = parameters
        self.predictor.set_parameters(parameters)

    def predict(self, rows: Sequence[StoredRow], parameters: Parameters | None = None) -> Int64:
        """The most likely class of each of `rows`, by the own parameters or by others."""
        if parameters is not None:
            self.predictor.set_parameters(parameters)
        try:
            predicted: Int64 = self.predictor.probabilities(rows).argmax(axis=1)
        finally:
            if parameters is not None:
                self.predictor.set_parameters(self.parameters)
        return predicted

    def as_stored(self) -> OwnTensors:
        """The own parameters for the store."""
        return OwnTensors(self.version, encode_tensors(dict(self.parameters)))


def load_own_model(
    model: Model, store: CompanyStore, newest: Sequence[StoredRow], *, keeps_own: bool, threads: int
) -> OwnModel:
    """The own model, on the version that the device holds now.

    Where the version is new to it and the plan's devices do not keep their own model anyway (`keeps_own`), the device
    keeps its own parameters only if they do better on its `newest` samples: no version makes a device's model worse,
    and none is refused for noise.

    Raises AgentError ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    received, spec = model.parameters(), model.manifest.model
    predictor = Predictor(model.predict(), spec, received, model.frozen(), threads=threads)
    known, kept = store.own(), read_parameters(store.own_tensors(), spec)
    if known is None or kept is None:
        adopted = store.adopt(OwnTensors(model.manifest.version, encode_tensors(dict(received))))
        return OwnModel(model, predictor, received, adopted)
    own = OwnModel(model, predictor, received, known)
    if known.base == own.version or keeps_own or (newest and _does_better(own, newest, kept)):
        own.take(kept)
    if known.base != own.version:
        own.stored = store.adopt(own.as_stored())
    return own


def _does_better(own: OwnModel, newest: Sequence[StoredRow], kept: Parameters) -> bool:
    labels = np.array([row.label for row in newest], np.int64)
    return judge(labels, own.predict(newest), own.predict(newest, kept)).kept
