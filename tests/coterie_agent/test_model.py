"""A version fetched as a difference from the one that the device holds, or whole where that cannot be."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.model import fetch_model
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.differences import make_difference
from coterie_wire.bundle import BlobRef, Difference, ModelSpec, TensorSpec
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import SPEC, Bundle, make_bundle

WIDE = TensorSpec("weight", "float32", (3, 4096))
MODEL: ModelSpec = msgspec.structs.replace(SPEC, parameters=(WIDE,))


class Fetching:
    """A device that holds one version, and is told of the next."""

    def __init__(self, directory: Path, bundle: Bundle) -> None:
        source = np.random.default_rng(1)
        base = {"weight": source.standard_normal(WIDE.shape).astype(np.float32)}
        merged = {"weight": base["weight"] + source.standard_t(3, WIDE.shape).astype(np.float32)}
        made = make_difference(SparseLevels(), MODEL, base=base, merged=merged, residual={})
        self.held, self.payload, self.next = encode_tensors(base), made.payload, encode_tensors(dict(made.version))
        parameters = BlobRef.of_bytes(self.next)
        self.manifest = msgspec.structs.replace(bundle.manifest, model=MODEL, parameters=parameters)
        self.difference = Difference(base=BlobRef.of_bytes(self.held).sha256, blob=BlobRef.of_bytes(self.payload))
        self.served = {**bundle.blobs, parameters.sha256: self.next, self.difference.blob.sha256: self.payload}
        self.blobs, self.fetched = BlobCache(directory), dict[str, int]()
        self.blobs.keep(BlobRef.of_bytes(self.held), self.held)

    def fetch(self) -> bytes:
        """The parameters of the next version, as they then are on the device."""
        assert fetch_model(self.manifest, self.blobs, self._serve, stop=lambda: False, difference=self.difference)
        return self.blobs.read(self.manifest.parameters)

    def _serve(self, sha256: str, offset: int) -> Iterator[bytes]:
        self.fetched[sha256] = self.fetched.get(sha256, 0) + len(self.served[sha256]) - offset
        yield self.served[sha256][offset:]


@pytest.fixture
def fetching(tmp_path: Path) -> Fetching:
    return Fetching(tmp_path, make_bundle())


def test_the_version_is_made_of_the_difference(fetching: Fetching) -> None:
    assert fetching.fetch() == fetching.next
    assert fetching.fetched[fetching.difference.blob.sha256] < len(fetching.next) / 10
    assert fetching.manifest.parameters.sha256 not in fetching.fetched
    assert not fetching.blobs.has(fetching.difference.blob), "it is not needed again"


def test_a_device_that_holds_the_version_fetches_neither(fetching: Fetching) -> None:
    fetching.fetch()
    fetching.fetched.clear()
    assert fetching.fetch() == fetching.next
    assert not fetching.fetched


@pytest.mark.parametrize("fault", ["no base", "damaged base", "no difference", "another version"])
def test_what_cannot_be_made_comes_whole(fetching: Fetching, tmp_path: Path, fault: str) -> None:
    base = tmp_path / fetching.difference.base
    if fault == "no base":
        base.unlink()
    elif fault == "damaged base":
        base.write_bytes(fetching.held[:-1] + b"\0")
    else:
        content = b"no difference" if fault == "no difference" else fetching.payload[:-1] + b"\7"
        fetching.difference = msgspec.structs.replace(fetching.difference, blob=BlobRef.of_bytes(content))
        fetching.served[fetching.difference.blob.sha256] = content
    assert fetching.fetch() == fetching.next
    assert fetching.fetched[fetching.manifest.parameters.sha256] == len(fetching.next)
