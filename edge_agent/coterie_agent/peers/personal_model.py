"""The device's personal model: the received version after local training and portions from peers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from coterie_agent.store.peers import Helped, PeersStore
from coterie_agent.store.personal_model import PersonalEdition, PersonalTensors
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.model import Model, Parameters, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_learning.guard import Judgement, judge
from coterie_learning.heads import renew
from coterie_learning.local import Scope
from coterie_learning.profile import Int64
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import encode_tensors


@dataclass
class PersonalModel:
    """A version's graphs with the device's personal parameters."""

    model: Model
    predictor: Predictor
    parameters: Parameters
    stored: PersonalEdition
    """Its entry in the store when last read or written; a round may have changed it since."""

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
        """The most likely class of each of `rows`, by the personal parameters or by others."""
        if parameters is not None:
            self.predictor.set_parameters(parameters)
        try:
            predicted: Int64 = self.predictor.probabilities(rows).argmax(axis=1)
        finally:
            if parameters is not None:
                self.predictor.set_parameters(self.parameters)
        return predicted

    def as_stored(self) -> PersonalTensors:
        """The personal parameters for the store."""
        return PersonalTensors(self.version, encode_tensors(dict(self.parameters)))


class Keeping(Enum):
    """Whether the personal model stays in use when the device receives a new version."""

    ALWAYS = "always"
    """It stays: the plan has personal models."""
    IF_BETTER = "if better"
    """It stays if it is better on the newest samples, by more than noise."""
    UNLESS_WORSE = "unless worse"
    """It stays unless the version is better on the newest samples by more than noise; used where no plan applies."""


def load_personal_model(
    model: Model, store: PeersStore, newest: Sequence[StoredRow], *, keeping: Keeping, scope: Scope, threads: int
) -> PersonalModel:
    """The personal model on the version that the device holds now; where needed, both are compared on `newest`.

    Where under the plan's `scope` only some layers are personal, the others are taken from the version.

    Raises AgentError ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    received, spec = model.parameters(), model.manifest.model
    predictor = Predictor(model.predict(), spec, received, model.frozen(), threads=threads)
    known, kept = store.personal(), read_parameters(store.personal_tensors(), spec)
    if known is None or kept is None:
        adopted = store.adopt(PersonalTensors(model.manifest.version, encode_tensors(dict(received))))
        return PersonalModel(model, predictor, received, adopted)
    own = PersonalModel(model, predictor, received, known)
    keeping = Keeping.UNLESS_WORSE if known.is_elsewhere else keeping
    if known.base == own.version:
        own.take(kept)
    elif _stays(own, kept, received, newest, keeping):
        own.take(renew(kept, received, spec, scope))
    if known.base != own.version:
        own.stored = store.adopt(own.as_stored())
    return own


def settle(model: Model, store: PeersStore, newest: Sequence[StoredRow], *, now: float, threads: int) -> None:
    """Decide, once per version, whether the personal model stays in use while no plan applies.

    Raises AgentError ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    received, spec = model.parameters(), model.manifest.model
    known, kept = store.personal(), read_parameters(store.personal_tensors(), spec)
    if known is None or known.base == model.manifest.version:
        return
    if not store.is_personal():
        store.replace(known, None)  # a version answered before too
        return
    if kept is None:
        sentence = f"version {model.manifest.number} answers: the personal model was another model's"
        store.replace(known, Helped(model.manifest.version, "replaced", sentence, now))
        return
    predictor = Predictor(model.predict(), spec, received, model.frozen(), threads=threads)
    own = PersonalModel(model, predictor, kept, known)
    own.take(kept)
    if _stays(own, kept, received, newest, Keeping.UNLESS_WORSE):
        store.adopt(own.as_stored())
        return
    found = _judged(own, newest, kept, received)
    figures = f"accuracy {found.after:.3f} against {found.before:.3f} of the personal model, {len(newest)} samples"
    sentence = f"version {model.manifest.number} answers: {figures}"
    store.replace(known, Helped(model.manifest.version, "replaced", sentence, now))


def _stays(
    own: PersonalModel, kept: Parameters, received: Parameters, newest: Sequence[StoredRow], keeping: Keeping
) -> bool:
    can_judge = bool(newest) and own.spec.task == "classes"
    match keeping:
        case Keeping.ALWAYS:
            return True
        case Keeping.IF_BETTER:
            return can_judge and _judged(own, newest, received, kept).kept
        case Keeping.UNLESS_WORSE:
            return not can_judge or not _judged(own, newest, kept, received).kept


def _judged(own: PersonalModel, newest: Sequence[StoredRow], before: Parameters, after: Parameters) -> Judgement:
    labels = np.array([row.label for row in newest], np.int64)
    return judge(labels, own.predict(newest, before), own.predict(newest, after))
