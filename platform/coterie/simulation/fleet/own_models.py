"""Personal models of devices, stored like device states: those that rounds train, and those beside the version."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np

from coterie.simulation.fleet.block import Base
from coterie.simulation.fleet.setting import Setting
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.on_device import Rows
from coterie.simulation.personal_training import goes_on_answering, train_personal_model
from coterie_learning.client.personal import GivenPersonal, is_due, parts_of
from coterie_learning.device_state import State, decode_state, encode_state
from coterie_learning.personal import PersonalRules
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Tensors

OWN = "own"
"""The slot name under which it is stored."""
_VERSION = "version"


class Own(NamedTuple):
    """A device's personal model."""

    parameters: Tensors | None
    """None: the version is used."""
    version: int
    """The version that it was last trained from, or beside."""


def own_of(states: Mapping[str, bytes]) -> Own | None:
    """The personal model in a device's `states`; None: it has not trained one yet."""
    blob = states.get(OWN)
    if blob is None:
        return None
    state = decode_state(blob)
    return Own(cast(Tensors, state.tensors) or None, cast(int, state.values[_VERSION]))


def encode_own(own: Own) -> bytes:
    """The stored form."""
    return encode_state(State(own.parameters or {}, {_VERSION: own.version}))


def trained_beside(setting: Setting, base: Base, device: int, own: Own | None, rules: PersonalRules) -> Own:
    """Train the personal model beside version `base`, which the device has just received."""
    if own is not None and own.version == base.number:
        return own
    dataset, graphs = setting.dataset(device), setting.graphs
    ids = range(1, len(dataset.labels) + 1)
    if not is_due(ids, trained_up_to=None, again_share=rules.again_share):
        return Own(None, base.number)
    before = None if own is None else own.parameters
    rows = Rows(dataset, graphs.spec, ids)
    if before is not None and not goes_on_answering(graphs, rows, own=before, version=base.parameters):
        before = None
    given = GivenPersonal(
        rules=rules,
        model=graphs.spec,
        received=base.parameters,
        personal=before,
        ids=ids,
        seed=derive_seed(setting.seed, "personal", device, base.number),
    )
    return Own(train_personal_model(given, graphs, rows, held=base.parameters).parameters, base.number)


def trained_samples(sizes: Int64, rules: PersonalRules) -> Int64:
    """Most samples that devices of these sizes process for a version, counted in each epoch."""
    each, places = np.unique(sizes, return_inverse=True)
    return np.array([_trained(int(size)) for size in each], np.int64)[places] * rules.epochs


@lru_cache(maxsize=4096)
def _trained(samples: int) -> int:
    ids: Sequence[int] = range(1, samples + 1)
    return len(parts_of(ids).train) if samples and is_due(ids, trained_up_to=None, again_share=1.0) else 0
