"""An island's name and its signed list."""

import msgspec
import pytest

from coterie_wire.bundle import sign_content
from coterie_wire.errors import WireError
from coterie_wire.island import Island, read_island
from coterie_wire.relaying import Peer, public_key

KEY, OTHER = bytes([1]) * 32, bytes([2]) * 32
VOTERS = tuple(Peer(name, public_key(bytes([number]) * 32), "host:1") for number, name in enumerate("abc", 3))
ISLAND = Island(1, "7", VOTERS, 100.0)


def test_its_name_is_of_the_round_and_the_voters_and_their_keys_alone() -> None:
    moved = tuple(msgspec.structs.replace(voter, address="elsewhere:2") for voter in reversed(VOTERS))
    assert Island(1, "7", moved, 200.0).name == ISLAND.name
    another = (msgspec.structs.replace(VOTERS[0], key=public_key(OTHER)), *VOTERS[1:])
    names = {ISLAND.name, Island(1, "8", VOTERS, 100.0).name, Island(1, "7", another, 100.0).name}
    assert len(names) == 3


def test_it_holds_until_it_expires_and_only_as_the_platform_signed_it() -> None:
    signed = sign_content(msgspec.json.encode(ISLAND), KEY)
    assert read_island(signed, public_key(KEY), now=100.0) == ISLAND
    with pytest.raises(WireError) as expired:
        read_island(signed, public_key(KEY), now=100.1)
    assert expired.value.code == "island.expired"
    with pytest.raises(WireError):
        read_island(signed, public_key(OTHER), now=0.0)


def test_two_voters_are_too_few() -> None:
    signed = sign_content(msgspec.json.encode(msgspec.structs.replace(ISLAND, voters=VOTERS[:2])), KEY)
    with pytest.raises(WireError):
        read_island(signed, public_key(KEY), now=0.0)
