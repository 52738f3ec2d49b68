"""Two devices in a network of two routers, and how one reaches the other."""

import msgspec

from tests.nat.device import Fetched
from tests.nat.network import Nat, Network

LONGEST_S = 120.0


def upload_s(*, size_bytes: int, delay_ms: float, loss: float) -> float:
    """Seconds in which TCP brings content over the line before host a."""
    with Network("none", "none", delay_ms=delay_ms, loss=loss) as network:
        post = network.start("net", "tests.nat.post")
        assert post.stdout is not None
        post.stdout.readline()
        said, _ = network.start("ha", "tests.nat.device", "upload", str(size_bytes)).communicate(timeout=LONGEST_S)
        return float(said)


def fetch(a: Nat, b: Nat, *, size_bytes: int, delay_ms: float = 0.0, loss: float = 0.0) -> Fetched:
    """Content of a device behind `a`, by one behind `b`."""
    with Network(a, b, delay_ms=delay_ms, loss=loss) as network:
        post = network.start("net", "tests.nat.post")
        assert post.stdout is not None
        post.stdout.readline()
        network.start("ha", "tests.nat.device", "helper")
        asker = network.start("hb", "tests.nat.device", "asker", str(size_bytes))
        said, _ = asker.communicate(timeout=LONGEST_S)
        return msgspec.json.decode(said, type=Fetched)
