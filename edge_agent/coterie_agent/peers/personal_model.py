"""The device's own model: the version it received, and what its own training and its peers have made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie_agent.store.peers import PeersStore
from coterie_agent.store.personal_model import Own, PersonalTensors
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.model import Model, Parameters, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_learning.guard import judge
from coterie_learning.profile import Int64
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import encode_tensors


@dataclass
class PersonalModel:
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

    def as_stored(self) -> PersonalTensors:
        """The own parameters for the store."""
        return PersonalTensors(self.version, encode_tensors(dict(self.parameters)))


def load_personal_model(
    model: Model, store: PeersStore, newest: Sequence[StoredRow], *, is_personal: bool, threads: int
) -> PersonalModel:
    """The own model, on the version that the device holds now.

    Where the version is new to it and the plan's devices do not keep their own model anyway (`is_personal`), the device
    keeps its own parameters only if they do better on its `newest` samples: no version makes a device's model worse,
    and none is refused for noise.

    Raises AgentError ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    received, spec = model.parameters(), model.manifest.model
    predictor = Predictor(model.predict(), spec, received, model.frozen(), threads=threads)
    known, kept = store.own(), read_parameters(store.own_tensors(), spec)
    if known is None or kept is None:
        adopted = store.adopt(PersonalTensors(model.manifest.version, encode_tensors(dict(received))))
        return PersonalModel(model, predictor, received, adopted)
    own = PersonalModel(model, predictor, received, known)
    if known.base == own.version or is_personal or (newest and _does_better(own, newest, kept)):
        own.take(kept)
    if known.base != own.version:
        own.stored = store.adopt(own.as_stored())
    return own


def _does_better(own: PersonalModel, newest: Sequence[StoredRow], kept: Parameters) -> bool:
    labels = np.array([row.label for row in newest], np.int64)
    return judge(labels, own.predict(newest), own.predict(newest, kept)).kept
