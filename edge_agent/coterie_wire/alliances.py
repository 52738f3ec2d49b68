"""Alliances: two parties with different columns about the same people, whose sealed letters the platform relays."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.message import Count, Identifier, Message
from coterie_wire.relaying import PublicKey

MAX_SEALED_BYTES = (1 << 17) + 8192
"""Of one letter."""
MOST_AT_ONCE = 4
"""Letters in one message: in base64 they stay below what a message may hold."""
Role: TypeAlias = Literal["columns", "labels"]
"""``labels``: has them, and the upper half of the network; ``columns``: has columns alone."""
NewsState: TypeAlias = Literal["waiting", "working", "finished", "failed", "cancelled"]
Sealed: TypeAlias = Annotated[bytes, Meta(max_length=MAX_SEALED_BYTES)]


class JoinAlliance(Message, frozen=True):
    """The owner agrees to train with one other party, whom the key stands for; the first time and again."""

    alliance: Identifier
    key: PublicKey
    """Of this device."""
    partner: PublicKey
    """Of the other one, as its owner has told it outside the platform."""
    people: Annotated[int, Meta(ge=1, le=1 << 20)]
    """Rows of its table."""
    columns: Annotated[int, Meta(ge=1, le=1 << 20)]


class Alliance(Message, frozen=True):
    """What the device has joined."""

    role: Role
    terms: msgspec.Raw
    """A `coterie_learning.vertical.terms.Terms`."""
    manifest: SignedManifest
    """Of the version that its half of the network begins with."""


class AllianceFigures(Message, frozen=True):
    """What a party tells of how far it is."""

    common: Count = 0
    """People whom both know; 0: not known yet."""
    epoch: Count = 0
    loss: float | None = None
    """Of the latest epoch, by the party with the labels."""
    accuracy: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Of the latest epoch on people held out, by the same."""
    alone: Annotated[float, Meta(ge=0, le=1)] | None = None
    """On the same people, of its half that has learned with nothing from the other party."""


class ExchangeLetters(Message, frozen=True):
    """Hand in letters to the other party, and fetch its own."""

    alliance: Identifier
    first: Count
    """Number of the first of `letters`."""
    letters: Annotated[tuple[Sealed, ...], Meta(max_length=MOST_AT_ONCE)]
    received: Count
    """How many of the other party's letters this one has taken, for good."""
    figures: AllianceFigures
    ended: Literal["", "finished", "failed"] = ""
    reason: Reason | None = None
    """Why it failed."""


class LettersNews(Message, frozen=True):
    """What there is for the device."""

    wanted: Count
    """Number of the letter that the platform wants next."""
    taken: Count
    """How many letters of this device the other party has taken, for good."""
    letters: Annotated[tuple[Sealed, ...], Meta(max_length=MOST_AT_ONCE)] = ()
    """The other party's, from `received` on."""
    state: NewsState = "working"
    reason: Reason | None = None
    """Why it waits or has ended."""
