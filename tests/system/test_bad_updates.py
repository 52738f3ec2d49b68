"""Bad updates against a platform that runs: each gets its documented code, and nothing else changes."""

import gzip
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_wire.conditions import Reason
from coterie_wire.messages import ReleaseAssignment
from tests.system.conftest import Site
from tests.system.model import payload, tensors
from tests.system.scripted_device import Refused, ScriptedDevice

GOOD, OTHER = payload(1), payload(2)
END = Reason("agent.no_model", "the test is over")
INVITED = 200
"""More than there are cases."""


class Collection:
    """One open round that every case brings a new device into, with an update in it that counts.

    One more device keeps the round open as long as it has an assignment.
    """

    def __init__(self, site: Site) -> None:
        pace = {"kind": "sync", "target_updates": INVITED, "min_updates": 1, "over_selection": 1, "absent_s": 3600}
        self.site = site
        plan = {"pace": pace}
        self.federation = site.operator.start_federation("bad-updates", pair=site.unused_pair(), plan=plan)
        self.keeper, self.first = self.new_device(), self.new_device()
        self.kept = self.keeper.assignment(1).assignment
        self.assignment = self.first.assignment(1).assignment
        self.first.deliver(self.assignment, GOOD)

    def new_device(self) -> ScriptedDevice:
        return ScriptedDevice(self.site.url, self.site.operator.enrolment_token(tag="bad-updates"), "kiosk")

    def delivered(self) -> list[str]:
        """The assignments whose updates count."""
        round_ = self.site.operator.round(self.federation, 1)
        assert round_ is not None
        return [part["id"] for part in round_["assignments"] if part["state"] == "delivered"]

    def end(self) -> None:
        """Let the round end: every update that counted until now is merged, and no other."""
        counted = self.delivered()
        assert self.assignment in counted
        self.keeper.call(ReleaseAssignment(assignment=self.kept, reason=END))
        round_ = self.site.operator.ended_round(self.federation, 1)
        assert (round_["state"], round_["metrics"]["updates"]) == ("published", len(counted))


@pytest.fixture(scope="module")
def collection(site: Site) -> Iterator[Collection]:
    """After all cases its round ends as if there had been none."""
    made = Collection(site)
    with closing(made.keeper), closing(made.first):
        yield made
        made.end()


class Turn(NamedTuple):
    """A device with an assignment of its own, and one of another device."""

    device: ScriptedDevice
    own: str
    foreign: str

    def deliver(self, content: bytes) -> None:
        self.device.offer(self.own, content)
        self.device.send(self.own, content, 0)


@pytest.fixture
def turn(collection: Collection) -> Iterator[Turn]:
    with closing(collection.new_device()) as device:
        own = device.assignment(1).assignment
        yield Turn(device, own, collection.kept)
        device.call(ReleaseAssignment(assignment=own, reason=END))


def not_finite() -> bytes:
    stored = load(GOOD)
    return Int8().pack({**stored, "scale": np.full_like(stored["scale"], np.nan)})


def other_shape() -> bytes:
    return Int8().encode({name: tensor[:-1] for name, tensor in tensors(1).items()}, seed=1).payload


def send_more_than_offered(turn: Turn) -> None:
    turn.device.offer(turn.own, GOOD)
    turn.device.send(turn.own, GOOD + b"!", 0)


def send_other_than_offered(turn: Turn) -> None:
    turn.device.offer(turn.own, GOOD)
    turn.device.send(turn.own, GOOD[:-1] + bytes([GOOD[-1] ^ 1]), 0)


def send_where_it_does_not_go_on(turn: Turn) -> None:
    turn.device.offer(turn.own, GOOD)
    turn.device.send(turn.own, GOOD[:100], 0)
    turn.device.send(turn.own, GOOD[100:], 99)


def replace_what_counts(turn: Turn) -> None:
    turn.deliver(GOOD)
    turn.device.offer(turn.own, OTHER)


def send_after_what_counts(turn: Turn) -> None:
    turn.deliver(GOOD)
    turn.device.send(turn.own, GOOD, 0)


Case = Callable[[Turn], object]
REFUSED: dict[str, tuple[str, str, Case]] = {
    "noise": ("update.malformed", "rejected", lambda turn: turn.deliver(b"noise" * 300)),
    "empty header": ("update.malformed", "rejected", lambda turn: turn.deliver(bytes(64))),
    "truncated": ("update.malformed", "rejected", lambda turn: turn.deliver(GOOD[:-10])),
    "padded": ("update.malformed", "rejected", lambda turn: turn.deliver(GOOD + bytes(8))),
    "compressed": ("update.malformed", "rejected", lambda turn: turn.deliver(gzip.compress(GOOD))),
    "other codec": (
        "update.wrong_codec",
        "rejected",
        lambda turn: turn.deliver(Float32Codec().encode(tensors(1), seed=1).payload),
    ),
    "other shape": ("update.wrong_shape", "rejected", lambda turn: turn.deliver(other_shape())),
    "not finite": ("update.not_finite", "rejected", lambda turn: turn.deliver(not_finite())),
    "other content": ("upload.wrong_hash", "rejected", send_other_than_offered),
    "oversized": ("update.too_large", "rejected", lambda turn: turn.device.offer(turn.own, bytes(1 << 20))),
    "enormous": ("update.too_large", "rejected", lambda turn: turn.device.offer(turn.own, GOOD, size_bytes=2**53)),
    "no bytes": ("update.implausible", "rejected", lambda turn: turn.device.offer(turn.own, b"")),
    "too many samples": (
        "update.implausible",
        "rejected",
        lambda turn: turn.device.offer(turn.own, GOOD, samples=10**9, steps_done=10**9, steps_total=10**9),
    ),
    "more steps than there are": (
        "update.implausible",
        "rejected",
        lambda turn: turn.device.offer(turn.own, GOOD, steps_done=6),
    ),
    "longer than offered": ("gateway.upload_too_long", "offered", send_more_than_offered),
    "wrong offset": ("upload.wrong_offset", "offered", send_where_it_does_not_go_on),
    "offset behind the end": (
        "upload.wrong_offset",
        "offered",
        lambda turn: (turn.device.offer(turn.own, GOOD), turn.device.send(turn.own, GOOD, 10**17)),
    ),
    "not offered": ("rounds.not_offered", "offered", lambda turn: turn.device.send(turn.own, GOOD, 0)),
    "replayed with other content": ("rounds.already_delivered", "delivered", replace_what_counts),
    "sent again": ("rounds.assignment_closed", "delivered", send_after_what_counts),
    "foreign offer": ("rounds.not_your_assignment", "offered", lambda turn: turn.device.offer(turn.foreign, GOOD)),
    "foreign upload": ("rounds.not_your_assignment", "offered", lambda turn: turn.device.send(turn.foreign, GOOD, 0)),
    "unknown assignment": (
        "rounds.unknown_assignment",
        "offered",
        lambda turn: turn.device.offer(str(uuid.uuid4()), GOOD),
    ),
    "no assignment at all": (
        "rounds.unknown_assignment",
        "offered",
        lambda turn: turn.device.send("nonsense", GOOD, 0),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_update_is_refused(collection: Collection, turn: Turn, name: str) -> None:
    code, state, send = REFUSED[name]
    with pytest.raises(Refused) as refusal:
        send(turn)
    assert (refusal.value.problem.code, refusal.value.problem.status < 500) == (code, True)
    round_ = collection.site.operator.round(collection.federation, 1)
    assert round_ is not None
    parts = {part["id"]: part["state"] for part in round_["assignments"]}
    assert (round_["state"], parts[turn.own], parts[collection.assignment]) == ("open", state, "delivered")


@pytest.mark.parametrize("offset", [None, "-1", "1e3", "9" * 40, "0x0"])
def test_upload_without_a_proper_offset_is_refused(turn: Turn, offset: str | None) -> None:
    turn.device.offer(turn.own, GOOD)
    headers = {} if offset is None else {"Upload-Offset": offset}
    answer = turn.device.http.patch(f"/uploads/{turn.own}", content=GOOD, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "gateway.offset_missing")
    turn.device.deliver(turn.own, GOOD)


def test_update_that_was_cut_off_goes_on_and_counts_once(collection: Collection, turn: Turn) -> None:
    turn.device.offer(turn.own, GOOD)
    assert turn.device.send(turn.own, GOOD[:700], 0).offset == 700
    assert turn.device.offer(turn.own, GOOD).offset == 700
    assert turn.device.send(turn.own, GOOD[700:], 700).accepted
    assert turn.device.offer(turn.own, GOOD).accepted
    assert collection.delivered().count(turn.own) == 1
