"""A version's graphs and parameters, read from the cache."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from msgspec import UNSET

from coterie_agent.blobs import BlobCache
from coterie_learning.server_state import broadcast_state
from coterie_wire.bundle import Manifest, ModelSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array, Float32, check_finite, decode_tensors

Parameters = Mapping[str, Float32]
Frozen = Mapping[str, Array]
"""The tensors that no training changes, by the names of the graphs' inputs."""


@dataclass(frozen=True)
class Model:
    """A version whose parts are all in the cache."""

    manifest: Manifest
    blobs: BlobCache

    def train_step(self) -> bytes:
        """The ONNX graph of one optimisation step."""
        return self.blobs.read(self.manifest.train_step)

    def predict(self) -> bytes:
        """The ONNX graph of prediction."""
        return self.blobs.read(self.manifest.predict)

    def parameters(self) -> Parameters:
        """The version's parameters and statistics by name.

        Raises AgentError ``bundle.wrong_hash``, WireError ``tensors.*``.
        """
        tensors = decode_tensors(self.blobs.read(self.manifest.parameters), expected=self.manifest.model.version)
        check_finite(tensors)
        return {name: np.asarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}

    def server_state(self) -> Mapping[str, Parameters]:
        """What the platform's merge remembers beside the version, by what it is; nothing where devices do not get it.

        Raises AgentError ``bundle.wrong_hash``, WireError ``tensors.*``.
        """
        if self.manifest.server_state is UNSET:
            return {}
        return broadcast_state(self.blobs.read(self.manifest.server_state), self.manifest.model.parameters)

    def frozen(self) -> Frozen:
        """What no training changes.

        Raises AgentError ``bundle.wrong_hash``, WireError ``tensors.*``.
        """
        if self.manifest.frozen is None:
            return {}
        tensors = decode_tensors(self.blobs.read(self.manifest.frozen), expected=self.manifest.model.frozen)
        check_finite({name: tensor for name, tensor in tensors.items() if tensor.dtype == np.float32})
        return tensors


def read_parameters(stored: bytes | None, spec: ModelSpec) -> Parameters | None:
    """The device's own tensors of a version as they were stored; None where there are none, or another model's."""
    if stored is None:
        return None
    try:
        tensors = decode_tensors(stored, expected=spec.version)
        check_finite(tensors)
    except WireError:
        return None
    return {name: np.asarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}
