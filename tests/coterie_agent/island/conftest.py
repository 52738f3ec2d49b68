"""An island, ready to be cut off."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coterie_wire.island import Island
from coterie_wire.relaying import Peer, public_key
from tests.coterie_agent.island.supernodes import NAMES, SECRETS, Supernode
from tests.free_ports import free_port


@pytest.fixture
def island(tmp_path: Path) -> Iterator[dict[str, Supernode]]:
    """Its supernodes, by name."""
    voters = tuple(Peer(name, public_key(SECRETS[name]), f"127.0.0.1:{free_port()}") for name in NAMES)
    told = Island(1, "7", voters, time.time() + 600)
    found = {name: Supernode(name, tmp_path / name, told) for name in NAMES}
    yield found
    with ThreadPoolExecutor(len(found)) as pool:  # each door looks once a second whether to stop
        list(pool.map(Supernode.kill, found.values()))
