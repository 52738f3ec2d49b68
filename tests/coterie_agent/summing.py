"""A platform's part in a secure sum, in this process, and devices that take their turns in it."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from coterie_agent.home import Home
from coterie_agent.link.failure import Refused
from coterie_agent.secure_sum import SecureSum
from coterie_agent.situation import Situation
from coterie_agent.store.opened import open_store
from coterie_learning.secure_sum import recovery
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_learning.secure_sum.members import MemberList, member_list
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout, Vector, open_vector
from coterie_wire.message import Message
from coterie_wire.messages import UploadState
from coterie_wire.secure_sum import (
    AskSum,
    Box,
    JoinSum,
    LogEntries,
    LogEntry,
    Member,
    OfferMasked,
    ReadLog,
    RevealShares,
    Share,
    ShareSecrets,
    SumNews,
)
from coterie_wire.tensor_files import InMemory


class Platform:
    """Goes on to the next step when all devices that are not lost have done one."""

    def __init__(self, count: int, terms: SumTerms, layout: Layout, session: str = "session") -> None:
        self.count, self.terms, self.layout, self.session = count, terms, layout, session
        self.lost: set[str] = set()
        self.members: dict[str, Member] = {}
        self.log: list[LogEntry] = []
        self.log_length = 0
        """When the last had joined."""
        self.boxes: dict[str, tuple[Box, ...]] = {}
        self.offers: dict[str, OfferMasked] = {}
        self.files: defaultdict[str, bytearray] = defaultdict(bytearray)
        self.shares: dict[str, tuple[Share, ...]] = {}
        self.heard: defaultdict[tuple[str, str], set[bytes]] = defaultdict(set)
        """By device and kind of message, what it has sent."""
        self.tampered: Callable[[SumNews], SumNews] = lambda news: news
        """What a dishonest platform says instead."""

    def handle(self, device: str, message: Message) -> Message:
        self.heard[device, type(message).__name__].add(msgspec.json.encode(message))
        match message:
            case ReadLog():
                if device not in {entry.device for entry in self.log}:
                    self.log.append(LogEntry(device, message.identity))
                return LogEntries(tuple(self.log[message.known :]), len(self.log))
            case JoinSum():
                self.members[device] = message.member
                self.log_length = len(self.log)
            case ShareSecrets():
                recovery.check_boxes(self.found, self.found.place_of(device), message.boxes, self.terms)
                self.boxes[device] = message.boxes
            case OfferMasked():
                self.offers[device] = message
                return UploadState(len(self.files[device]), accepted=self._has_delivered(device))
            case RevealShares():
                self.shares[device] = message.shares
            case _:
                assert isinstance(message, AskSum)
        return self.tampered(self._news(device))

    def receive(self, device: str, offset: int, chunk: bytes) -> UploadState:
        file = self.files[device]
        assert offset == len(file)
        file += chunk
        return UploadState(len(file), accepted=self._has_delivered(device))

    @property
    def found(self) -> MemberList:
        return member_list(self.session, list(self.members.values()), self.log_head)

    @property
    def log_head(self) -> bytes:
        head = EMPTY
        for entry in self.log[: self.log_length]:
            head = next_head(head, entry.device, entry.identity)
        return head

    @property
    def survivors(self) -> list[int]:
        return sorted(self.found.place_of(device) for device in self.offers if self._has_delivered(device))

    def sum(self) -> Vector:
        """Without the masks."""
        found = self.found
        files = [
            open_vector(InMemory(bytes(self.files[found.members[place].device])), self.layout, found.digest)
            for place in self.survivors
        ]
        recovered = recovery.recover(
            found,
            self.terms,
            shared={found.place_of(device) for device in self.boxes},
            survivors=self.survivors,
            revealed={found.place_of(device): shares for device, shares in self.shares.items()},
        )
        assert not recovered.liars
        return recovery.unmasked(files, self.layout, recovered.masks)

    def _news(self, device: str) -> SumNews:
        if len(self.members) < self.count:
            return self._to_do(device in self.members, "join")
        if not self._is_done(self.boxes):
            news = {"members": self.found.members, "log_length": self.log_length, "log_head": self.log_head}
            return self._to_do(device in self.boxes, "share", **news)
        if not self._is_done({one for one in self.offers if self._has_delivered(one)}):
            sent = [box for boxes in self.boxes.values() for box in boxes]
            boxes = recovery.boxes_for(self.found.place_of(device), sent)
            return self._to_do(self._has_delivered(device), "mask", boxes=boxes)
        if not self._is_done(self.shares):
            return self._to_do(device in self.shares, "reveal", survivors=tuple(self.survivors))
        return SumNews(self.session, "counted")

    def _is_done(self, by: Any) -> bool:
        return self.members.keys() - self.lost <= set(by)

    def _to_do(self, is_done: bool, step: Literal["join", "share", "mask", "reveal"], **given: Any) -> SumNews:
        return SumNews(self.session, "wait", again_s=0.05) if is_done else SumNews(self.session, step, **given)

    def _has_delivered(self, device: str) -> bool:
        return device in self.offers and len(self.files[device]) == self.offers[device].size_bytes


class Killed(Exception):
    """The device lost its power."""


class Link:
    """A device's way to the platform, on which it dies at the call numbered `dies_at`, heard or not."""

    def __init__(self, device: str, platform: Platform) -> None:
        self.device, self.platform = device, platform
        self.dies_at: int | None = None
        self.is_heard = False
        self.calls = 0
        self.refusal: Refused | None = None

    def call(self, message: Message, _reply: object) -> Message:
        if self.refusal is not None:
            raise self.refusal
        return self._passed(lambda: self.platform.handle(self.device, message))

    def upload(self, what: str, _key: str, *, offset: int, chunk: bytes) -> UploadState:
        assert what == "masked-update"
        return self._passed(lambda: self.platform.receive(self.device, offset, chunk))

    def _passed(self, call: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.calls != self.dies_at:
            return call()
        if self.is_heard:
            call()
        raise Killed


class Turn(Situation):
    """Ends when the device would wait."""

    def wait(self, edition: int, timeout_s: float | None) -> None:
        self.stop()


class Device:
    """One that has trained. Its store is opened anew for each turn, as after a restart."""

    def __init__(self, home: Home, link: Link, vector: Callable[[int], Vector], terms: SumTerms) -> None:
        self.name, self.home, self.link, self.vector, self.terms = link.device, home, link, vector, terms
        self.computed = 0
        """How often its vector was."""

    def turn(self) -> SumNews | Refused | None:
        """Do what there is to do, until the device has to wait or the sum has ended for it."""
        with open_store(self.home) as store:
            return SecureSum(
                assignment=f"of-{self.name}",
                device=self.name,
                identity=store.identity.key(),
                terms=self.terms,
                vector=self._vector,
                link=self.link,
                store=store.secure_sum,
                log=store.identity_log,
                situation=Turn(),
                report_wait=lambda _: None,
                chunk_bytes=64,
            ).run()

    def _vector(self, members: int) -> Vector:
        self.computed += 1
        return self.vector(members)


def take_turns(devices: list[Device]) -> None:
    """Until the sum is over for each."""
    left = list(devices)
    for _ in range(20):
        left = [device for device in left if device.turn() is None]
    assert not left
