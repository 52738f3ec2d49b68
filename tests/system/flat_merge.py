"""The version that updates make when all are merged at once, of files that lie where a round has left them.

The platform has never seen all updates of a round with supernodes: what they hold lies on their shelves.
"""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from coterie_learning.codec import Codec
from coterie_learning.cohort import weights
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.update_files import Contents
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import encode_tensors
from tests.system.model import SPEC, tensors
from tests.system.operator_client import Json


def update_files(platform: Path, supernodes: Iterable[Path]) -> Sequence[Path]:
    """Every update of which the platform, or a supernode, has a file; by the directories of their states."""
    shelves = (path for home in supernodes for path in (home / "state" / "relay").rglob("*.update"))
    return [*shelves, *(platform / "updates").rglob("?" * 64)]


def flat_version(round_: Json, files: Iterable[Path], *, codec: Codec, spec: ModelSpec = SPEC) -> str:
    """The hash of the version that the updates which count in `round_`, a first one, make without supernodes.

    Raises KeyError where `files` lack one.
    """
    contents = Contents(spec, codec, Sgd())
    by_hash = {hashlib.sha256(content).hexdigest(): content for content in map(Path.read_bytes, files)}
    told = [part["delivered"] for part in round_["assignments"] if part["delivered"]]
    counted = [
        CountedUpdate(partial(nullcontext, contents.open(InMemory(by_hash[update["sha256"]]), ())), weight)
        for update, weight in zip(told, weights([update["samples"] for update in told]), strict=True)
    ]
    merged = fold_in_memory(FedAvg(), spec.parameters, counted, tensors(0, spec=spec), None)
    return hashlib.sha256(encode_tensors(merged.parameters)).hexdigest()
