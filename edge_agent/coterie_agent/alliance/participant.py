"""A party's part in an alliance: letters go out and come in, and every step is on the disk before it is told."""

import hashlib
import logging
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import numpy as np

from coterie_agent.alliance.halves import OnnxLower, OnnxUpper
from coterie_agent.alliance.table import PeopleTable
from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError, Exit, reason_of
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.model import fetch_model
from coterie_agent.store.alliances import Agreed, AllianceState, AllianceStore
from coterie_agent.training.model import Model
from coterie_learning.vertical.letters import Envelope, Letter, decode_letter, encode_letter
from coterie_learning.vertical.party import ColumnsParty, LabelsParty, Party, PartyState, Stage
from coterie_learning.vertical.terms import VerticalTerms
from coterie_wire.alliances import (
    MOST_AT_ONCE,
    Alliance,
    AllianceFigures,
    ExchangeLetters,
    JoinAlliance,
    LettersNews,
)
from coterie_wire.bundle import verify_manifest
from coterie_wire.contract import step_state
from coterie_wire.errors import WireError
from coterie_wire.message import Message
from coterie_wire.relaying import public_key, seal, unseal
from coterie_wire.structs import from_json, from_msgpack
from coterie_wire.tensors import decode_tensors, encode_tensors

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Message)
SECRET_BYTES = 64
_SOON_S = 0.01
_LATEST_S = 2.0
"""Between two questions while the other party computes, or is away."""


class Stopped(Exception):
    """The owner has stopped the program."""


@dataclass(kw_only=True)
class AllianceParticipant:
    """Runs one alliance to its end; killed anywhere, the next one on the same store goes on to the same bits."""

    alliance: str
    secret: bytes
    """Of this device's key."""
    trusted: tuple[bytes, ...]
    """The platform's public keys."""
    store: AllianceStore
    blobs: BlobCache
    link: HttpLink
    wait: Callable[[float], bool]
    """Waits so many seconds, and says whether the owner has stopped the program."""
    rng: random.Random = field(default_factory=random.SystemRandom)

    def agree(self, partner: bytes, table: PeopleTable) -> None:
        """Keep what the owner agrees to. Raises AgentError ``alliance.agreed_otherwise``."""
        found = self.store.agreed(self.alliance)
        if found is None:
            self.store.agree(self.alliance, Agreed(partner, table.encoded(), os.urandom(SECRET_BYTES)))
        elif (found.partner, found.table) != (partner, table.encoded()):
            detail = "another partner or table was agreed to for this alliance; leave them out to go on with those"
            raise AgentError("alliance.agreed_otherwise", detail, exit_code=Exit.USAGE)

    def run(self) -> tuple[Party, PeopleTable, Sequence[str]]:
        """The party once it has finished, its table, and the names of the classes.

        Raises Stopped, AgentError ``alliance.…`` or WireError ``vertical.…``, which the platform was told, and Refused.
        """
        agreed = self.store.agreed(self.alliance)
        if agreed is None:
            detail = "nothing was agreed for this alliance yet: name the partner's key and the table"
            raise AgentError("alliance.not_agreed", detail, exit_code=Exit.USAGE)
        table = PeopleTable.decoded(agreed.table)
        key = public_key(self.secret)
        joined = self._call(
            JoinAlliance(
                alliance=self.alliance,
                key=key,
                partner=agreed.partner,
                people=len(table.identifiers),
                columns=len(table.names),
            ),
            Alliance,
        )
        exchange = ExchangeLetters(alliance=self.alliance, first=0, letters=(), received=0, figures=AllianceFigures())
        try:
            party, classes = self._party(joined, agreed, table)
            self._exchange(party, agreed.partner)
        except (AgentError, WireError) as error:
            if not isinstance(error, Refused):
                self._call(msgspec.structs.replace(exchange, ended="failed", reason=reason_of(error)), LettersNews)
            raise
        return party, table, classes

    def _party(self, joined: Alliance, agreed: Agreed, table: PeopleTable) -> tuple[Party, Sequence[str]]:
        terms = from_json(joined.terms, VerticalTerms)
        manifest = verify_manifest(joined.manifest, *self.trusted)
        while not self._is_fetched(lambda: fetch_model(manifest, self.blobs, self.link.download, stop=self._stops)):
            pass
        model = Model(manifest, self.blobs)
        kept = self.store.load(self.alliance)
        salt = alliance_salt(self.alliance, public_key(self.secret), agreed.partner)
        standing = (
            Party.beginning(salt=salt, secret=agreed.secret) if kept is None else from_msgpack(kept.party, PartyState)
        )
        identifiers = table.identifiers
        party: Party
        if joined.role == "labels":
            if not table.labels:
                detail = "this party is the one with the labels, and its table has none: name their column by --label"
                raise AgentError("alliance.bad_table", detail, exit_code=Exit.BAD_DATA)
            upper = OnnxUpper(model, table, manifest.labels)
            half: OnnxLower | OnnxUpper = upper
            party = LabelsParty(identifiers, upper, terms, standing)
        else:
            lower = OnnxLower(model, table)
            half = lower
            party = ColumnsParty(identifiers, lower, terms, standing)
        if kept is not None:
            tensors = decode_tensors(kept.tensors, expected=step_state(manifest.model))
            half.restore({name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()})
        else:
            self._keep(party, AllianceState(b"", b"", 0, 0), list(party.begin()), agreed.partner, received=0)
        return party, manifest.labels

    def _exchange(self, party: Party, partner: bytes) -> None:
        """Until both have finished."""
        wanted, idle_s, stage = 0, _SOON_S, party.stage
        taken = -1
        while True:
            standing = self._standing()
            is_done = party.standing.is_finished and taken == standing.sent
            letters = self.store.letters(self.alliance, first=wanted, most=MOST_AT_ONCE)
            news = self._call(
                ExchangeLetters(
                    alliance=self.alliance,
                    first=wanted,
                    letters=tuple(letters),
                    received=standing.received,
                    figures=figures_of(party),
                    ended="finished" if is_done else "",
                ),
                LettersNews,
            )
            if news.taken > standing.sent or news.wanted > standing.sent:
                detail = "the platform knows letters that this device has not written: its store is older than it was"
                raise AgentError("alliance.store_went_back", detail)
            if news.taken != taken:
                taken = news.taken
                self.store.delete_taken(self.alliance, taken)
            is_over = party.standing.is_finished and news.state == "finished"  # known here after a restart, too
            if is_over or (is_done and news.state == "working"):
                return
            if news.state in ("failed", "cancelled", "finished"):
                why = "it has ended" if news.reason is None else news.reason.sentence
                raise AgentError("alliance.ended", f"the alliance is {news.state}: {why}", exit_code=Exit.REFUSED)
            moved = bool(news.letters) or news.wanted != wanted
            wanted = news.wanted
            for sealed in news.letters:
                self._take(party, sealed, partner)
            stage = _log_progress(party, stage)
            idle_s = _SOON_S if moved else min(_LATEST_S, 2 * idle_s)
            if not moved and self.wait(idle_s):
                raise Stopped
            if self._stops():
                raise Stopped

    def _take(self, party: Party, sealed: bytes, partner: bytes) -> None:
        standing = self._standing()
        content = unseal(sealed, secret=self.secret, by=partner)
        letter = decode_letter(content, alliance=self.alliance, number=standing.received)
        answers = party.receive(letter)
        self._keep(party, standing, answers, partner, received=standing.received + 1)

    def _keep(
        self, party: Party, before: AllianceState, answers: Sequence[Letter], partner: bytes, *, received: int
    ) -> None:
        sealed = [
            seal(encode_letter(Envelope(self.alliance, before.sent + at, letter)), secret=self.secret, to=partner)
            for at, letter in enumerate(answers)
        ]
        standing = AllianceState(
            party=msgspec.msgpack.encode(party.standing),
            tensors=encode_tensors(party.half.tensors()),
            received=received,
            sent=before.sent + len(sealed),
        )
        self.store.keep(self.alliance, standing, sealed)

    def _standing(self) -> AllianceState:
        found = self.store.load(self.alliance)
        assert found is not None, "it is kept before anything is exchanged"
        return found

    def _stops(self) -> bool:
        return self.wait(0)

    def _call(self, message: Message, reply: type[R]) -> R:
        """Waits for a platform that is away. Raises Refused or Stopped."""
        backoff = Backoff()
        while True:
            try:
                return self.link.call(message, reply)
            except AgentError as error:
                backoff = self._waited_out(error, backoff)

    def _is_fetched(self, fetch: Callable[[], bool]) -> bool:
        try:
            if not fetch():
                raise Stopped
        except AgentError as error:
            self._waited_out(error, Backoff())
            return False
        return True

    def _waited_out(self, error: AgentError, backoff: Backoff) -> Backoff:
        if not is_retryable(error):
            raise error
        later = backoff.failed()
        log.warning("%s; trying again", error.detail)
        if self.wait(later.delay_s(longest_s=30.0, rng=self.rng)):
            raise Stopped from error
        return later


def alliance_salt(alliance: str, key: bytes, partner: bytes) -> bytes:
    """What both parties hash identifiers with, in this alliance alone."""
    return hashlib.sha256(b"".join([alliance.encode(), *sorted([key, partner])])).digest()


def figures_of(party: Party) -> AllianceFigures:
    """What the platform is told."""
    measured = party.standing.epochs
    latest = measured[-1] if measured else None
    return AllianceFigures(
        common=party.common,
        epoch=len(measured) if measured else party.epoch,
        loss=None if latest is None else latest.loss,
        accuracy=None if latest is None else latest.accuracy,
        alone=party.standing.alone,
    )


def _log_progress(party: Party, before: Stage) -> Stage:
    if party.stage != before:
        log.info("alliance: %s, %d people are known to both", party.stage, party.common)
    return party.stage
