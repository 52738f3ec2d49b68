"""Predictions of the model that the device holds."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.model import held_manifest
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalEdition
from coterie_agent.store.samples import Row, StoredRow
from coterie_agent.training.filling import lengths_of
from coterie_agent.training.model import Model, read_parameters
from coterie_agent.training.predictor import Predictor
from coterie_agent.variants import FLOAT32
from coterie_learning.predictions import prediction_of
from coterie_wire.bundle import Manifest, SignedManifest, verify_manifest
from coterie_wire.contract import at_length
from coterie_wire.predictions import Output, Prediction
from coterie_wire.tensors import Float32

log = logging.getLogger(__name__)
_ROWS = 256


@dataclass(frozen=True)
class HeldModel:
    """A model ready to predict."""

    manifest: Manifest
    stored: PersonalEdition | None
    """The number of the personal model when this one was loaded; it grows with every change."""
    is_personal: bool
    """Whether the personal model predicts, or the version itself."""
    form: str
    """Which form predicts: ``float32`` is the version, or the personal model, itself."""
    predictor: Predictor
    run_s: float = math.inf
    """How long a run on one sample takes here at least; infinite: it has not been measured."""

    def predict(self, rows: Sequence[Row]) -> list[Prediction | Output]:
        """One prediction a row."""
        predictions: list[Prediction | Output] = []
        for start in range(0, len(rows), _ROWS):
            asked = [StoredRow(0, row.x, 0) for row in rows[start : start + _ROWS]]
            outputs, lengths = self.predictor.outputs(asked), lengths_of(asked, self.manifest.model)
            shapes = (at_length(self.manifest.model, length).output.shape for length in lengths)
            # The outputs of padding are dropped.
            predictions += [
                prediction_of(
                    output[tuple(map(slice, shape))], task=self.manifest.model.task, labels=self.manifest.labels
                )
                for output, shape in zip(outputs, shapes, strict=True)
            ]
        return predictions

    def outputs(self, xs: Sequence[bytes]) -> Float32:
        """What the model gives for samples of one shape, [samples, *output]."""
        return self.predictor.outputs([StoredRow(0, x, 0) for x in xs])


def load_held_model(store: Store, home: Home, *, threads: int) -> HeldModel:
    """The model in use: the device's personal model where there is one, else the version that it holds, in the form
    that was measured to suit the device.

    A new version is not used before it is decided that it replaces the personal model
    (`coterie_agent.peers.personal_model`), so that the owner's predictions never get worse meanwhile.

    Raises AgentError ``agent.not_joined``, ``agent.no_model``, ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    manifest = held_manifest(store)
    model = Model(manifest, BlobCache(home.blobs))
    stored = store.peers.personal()
    own = None if stored is None else read_parameters(store.peers.personal_tensors(), manifest.model)
    smaller = _smaller_form(store, home, manifest, threads=threads) if own is None else None
    if smaller is not None:
        return HeldModel(manifest, stored, False, *smaller)
    parameters = model.parameters() if own is None else own
    predictor = Predictor(model.predict(), manifest.model, parameters, model.frozen(), threads=threads)
    return HeldModel(manifest, stored, own is not None, FLOAT32, predictor)


def load_candidate(store: Store, home: Home, signed: SignedManifest, *, threads: int) -> HeldModel:
    """The candidate of a roll-out, every part of which is on the device.

    Raises AgentError ``agent.not_joined``, ``bundle.*`` or ``model.*``, WireError ``bundle.*`` or ``tensors.*``.
    """
    manifest = verify_manifest(signed, *store.identity.keys().pinned())
    model = Model(manifest, BlobCache(home.blobs))
    predictor = Predictor(model.predict(), manifest.model, model.parameters(), model.frozen(), threads=threads)
    return HeldModel(manifest, None, False, FLOAT32, predictor)


def _smaller_form(store: Store, home: Home, manifest: Manifest, *, threads: int) -> tuple[str, Predictor] | None:
    """The form of the version that was chosen on this device; None where that is the version itself."""
    known = store.variants.load()
    if known is None or known.version != manifest.version or known.graph is None:
        return None
    try:
        content = BlobCache(home.variants).read(known.graph)
    except AgentError as error:  # the disk has damaged it: the version itself predicts, until the form is there again
        log.warning("the form %s of the model is lost: %s [%s]", known.chosen, error.detail, error.code)
        store.variants.delete()
        return None
    return known.chosen, Predictor.self_contained(content, manifest.model, threads=threads)
