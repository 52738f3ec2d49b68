"""Versions of the protocol: this one and the one before are understood, others are refused by their own code."""

import msgspec
import pytest

from coterie_wire.errors import WireError
from coterie_wire.message import Message
from coterie_wire.messages import EXCHANGES, CheckIn, decode
from coterie_wire.version import PROTOCOL, SPOKEN
from tests.contract.samples import MESSAGES

ANNOUNCING = [message for message in MESSAGES if "protocol" in message.__struct_fields__]
every_announcing = pytest.mark.parametrize("message", ANNOUNCING, ids=lambda message: type(message).__name__)


def test_this_version_and_the_one_before_are_spoken() -> None:
    assert set(SPOKEN) == {version for version in (PROTOCOL - 1, PROTOCOL) if version >= 1}


def test_a_device_announces_its_version_when_it_joins_and_when_it_checks_in() -> None:
    assert {type(message) for message in ANNOUNCING} == {EXCHANGES["enrol"].request, CheckIn}


@every_announcing
@pytest.mark.parametrize("version", SPOKEN)
def test_a_spoken_version_is_read(message: Message, version: int) -> None:
    spoken = msgspec.structs.replace(message, protocol=version)
    assert decode(type(message), msgspec.json.encode(spoken)) == spoken


@every_announcing
@pytest.mark.parametrize("version", [SPOKEN.start - 1, SPOKEN.stop])
def test_another_version_is_refused_as_such_whatever_else_it_says(message: Message, version: int) -> None:
    for sent in (msgspec.structs.replace(message, protocol=version), {"protocol": version, "unheard_of": 1}):
        with pytest.raises(WireError) as caught:
            decode(type(message), msgspec.json.encode(sent))
        assert caught.value.code == "wire.protocol"
