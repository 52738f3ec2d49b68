"""Portions that go from helper to asking device by a direct path, or, where there is none, by the platform."""

from collections.abc import Callable

import msgspec
import pytest

from coterie_agent.home import Home
from coterie_agent.link.failure import Unreachable
from coterie_agent.peers.portion_handler import PortionHandler
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_wire.bundle import BlobRef
from coterie_wire.errors import WireError
from coterie_wire.helping import DIRECT_S, GiveVerdict, OfferPortion, Portion, PortionOf, ReportReceived
from coterie_wire.paths import split_sealed
from coterie_wire.relaying import DirectPeer, public_key, with_body
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import Bundle
from tests.coterie_agent.peers.world import GOOD, Device, plan, rows, serve

NO_TRAINING = plan(local_training_every_s=None)
SECRETS = {"target": b"t" * 32, "helper": b"h" * 32}
WAYS = {name: DirectPeer(name, public_key(secret)) for name, secret in SECRETS.items()}
NEW = (0, 1, 2, 2)


class Path:
    """A direct path to a handler, in place of `DirectPaths`."""

    def __init__(self, handler: PortionHandler | None) -> None:
        self.secret, self._handler = SECRETS["target"], handler

    def ask(self, way: DirectPeer, handler: str, body: bytes, *, at_most_bytes: int) -> bytes:
        if self._handler is None:
            raise Unreachable("the networks between let no direct path through")
        assert (way, handler) == (WAYS["helper"], "/portions")
        line, sealed = split_sealed(body)
        answer = self._handler.receive(self._handler.admit(line), sealed)
        assert len(answer) <= at_most_bytes
        return answer


@pytest.fixture
def helper(home: Home, joined: Store, bundle: Bundle) -> Device:
    """It has all classes right, and a handler whose clock the test sets."""
    joined.peers.adopt(PersonalTensors("v1", encode_tensors({name: GOOD[name].copy() for name in GOOD})))
    device = Device(home, joined, bundle, {})
    handler = PortionHandler(
        store=joined.peers, secret=SECRETS["helper"], record_sent=lambda _what, _size: None, clock=lambda: device.at
    )
    device.companion.agent = device.companion.agent._replace(handler=handler)
    device.at = 0.0
    return device


def told(device: Device, *, direct: bool) -> None:
    device.direct(
        NO_TRAINING, serve=msgspec.structs.replace(serve(NO_TRAINING), direct=WAYS["target"] if direct else None)
    )


def test_what_is_to_be_fetched_is_announced_once_and_not_uploaded(helper: Device) -> None:
    told(helper, direct=True)
    helper.live()
    helper.live()
    (offer,) = helper.link.named(OfferPortion)
    assert helper.link.uploaded == b""
    path, content = Path(helper.companion.agent.handler), Portion("t-9", BlobRef(offer.sha256, offer.size_bytes), 60.0)
    from coterie_agent.peers.fetching import fetch_directly

    found = b"".join(fetch_directly(path, content, WAYS["helper"], 0))
    assert BlobRef.of_bytes(found) == content.content
    assert b"".join(fetch_directly(path, content, WAYS["helper"], 7)) == found[7:]
    assert helper.store.peers.outcomes() == (), "the platform does not know it yet"
    helper.direct(NO_TRAINING)
    helper.live()
    (outcome,) = helper.store.peers.outcomes()
    assert (outcome.outcome, "by a direct path" in outcome.sentence) == ("served", True)
    assert helper.link.uploaded == b""


@pytest.mark.parametrize("platform_says", [True, False])
def test_what_nobody_fetches_is_uploaded(helper: Device, *, platform_says: bool) -> None:
    told(helper, direct=True)
    helper.live()
    if platform_says:
        told(helper, direct=False)
    else:
        helper.at = DIRECT_S
    helper.live()
    assert len(helper.link.uploaded) == helper.link.named(OfferPortion)[-1].size_bytes
    with pytest.raises(WireError, match="no portion of that transfer"):
        helper.companion.agent.handler.admit(with_body(PortionOf("t-9")))


def test_a_stranger_gets_nothing(helper: Device) -> None:
    told(helper, direct=True)
    helper.live()
    handler = helper.companion.agent.handler
    with pytest.raises(WireError, match="no portion of that transfer"):
        handler.admit(with_body(PortionOf("t-8")))
    with pytest.raises(WireError, match="not sealed"):
        handler.receive(handler.admit(with_body(PortionOf("t-9"))), b"forged")


@pytest.fixture
def asking(home: Home, joined: Store, bundle: Bundle) -> Callable[[Path], Device]:
    """A device that has asked for help, with a path to its helper."""

    def make(path: Path) -> Device:
        half = {"weight": GOOD["weight"].copy(), "bias": GOOD["bias"].copy()}
        half["weight"][2] = -half["weight"][2]
        joined.peers.adopt(PersonalTensors("v1", encode_tensors(half)))
        device = Device(home, joined, bundle, {})
        device.companion.agent = device.companion.agent._replace(paths=path)  # as much of it as is used
        device.direct(NO_TRAINING)
        device.take(NEW, NEW, NEW, NEW)
        return device

    return make


class Shelf(PortionHandler):
    """A helper's handler that has one portion for the asking device."""

    def __init__(self, store: Store, content: bytes) -> None:
        super().__init__(store=store.peers, secret=SECRETS["helper"], record_sent=lambda _what, _size: None)
        ref = BlobRef.of_bytes(content)
        store.peers.serve(OfferPortion("t-1", ref.sha256, ref.size_bytes), content)
        self.give("t-1", WAYS["target"])


def news(device: Device, content: bytes, *, direct: bool) -> object:
    found = device.ask_news("requested" if direct else "delivered", content)
    portion = msgspec.structs.replace(found.portion, direct=WAYS["helper"] if direct else None)
    return msgspec.structs.replace(found, portion=portion)


def test_it_fetches_from_the_helper_says_so_and_merges(asking: Callable[[Path], Device], joined: Store) -> None:
    content = rows(GOOD)
    device = asking(Path(Shelf(joined, content)))
    device.direct(NO_TRAINING, help=news(device, content, direct=True))
    device.link.portion = b""
    device.live()
    assert device.link.named(ReportReceived) == [ReportReceived("t-1")]
    assert device.link.named(GiveVerdict)[0].kept


def test_without_a_path_it_says_why_once_and_takes_the_platforms_copy(asking: Callable[[Path], Device]) -> None:
    content = rows(GOOD)
    device = asking(Path(None))
    device.direct(NO_TRAINING, help=news(device, content, direct=True))
    device.live()
    (report,) = device.link.named(ReportReceived)
    assert report.failed.code == "transfer.no_direct_path"
    assert device.link.named(GiveVerdict) == []
    device.direct(NO_TRAINING, help=news(device, content, direct=False))
    device.live()
    assert device.link.named(GiveVerdict)[0].kept
