"""A member of secure sums that lies in every step, beside three that do not; an operator forgives it each time."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import TypeVar, cast

import httpx
import msgspec
from nacl.signing import SigningKey

from coterie.gateway.door.refusal_costs import RefusedTooOften
from coterie_learning.plan import parse_plan
from coterie_learning.secure_sum import party
from coterie_wire.message import Message
from coterie_wire.secure_sum import (
    AskSum,
    Box,
    JoinSum,
    Member,
    OfferMasked,
    ReadLog,
    RevealShares,
    Share,
    ShareSecrets,
    SumNews,
)
from tests.benchmarks.hostile.attackers import Outcome
from tests.system.operator_client import OperatorClient
from tests.system.scripted_device import Refused, ScriptedDevice
from tests.system.summed_device import SUMS
from tests.system.summed_device import Member as HonestMember

MEMBERS = 4
PLAN = {
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "privacy": {"kind": "secure_aggregation", "min_devices": 3, "corrupted": 0, "dropped": 0.25, "step_s": 5},
    "pace": {"kind": "sync", "target_updates": MEMBERS, "min_updates": 3, "over_selection": 1, "pause_s": 0},
}
PARSED = parse_plan(PLAN)
PASS_S = 60.0
Told = tuple[str, Message]
T = TypeVar("T")


class SumLiar(threading.Thread):
    """Rounds of secure sums without end, in each of which one of four devices lies."""

    def __init__(self, url: str, token: str, pair: str, outcome: Outcome) -> None:
        super().__init__(daemon=True)
        self._url, self._token, self._pair, self._outcome = url, token, pair, outcome
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._rng = Random(0)
        self._earlier: Member | None = None
        self.sums = 0
        """That ended with a version, in spite of it."""
        self.quarantined = 0
        """How often it was put into quarantine."""
        self.stuck = ""
        """The round that did not end in time, as the operator sees it then; nothing: all did."""

    def run(self) -> None:
        try:
            self._lie_on()
        except Exception as error:  # noqa: BLE001 - raised by `end`
            self._failure = error

    def end(self) -> None:
        """Wait for the round that is held. Raises what stopped it before."""
        self._ending.set()
        self.join(2 * PASS_S)
        assert not self.is_alive()
        if self._failure is not None:
            raise self._failure

    def _lie_on(self) -> None:
        with OperatorClient(self._url, self._token) as operator:
            federation = operator.start_federation("sum-liars", pair=self._pair, plan=PLAN, rounds_wanted=100_000)
            secret = operator.enrolment_token(tag="sum-liars", uses=MEMBERS)
            devices = [ScriptedDevice(self._url, secret, f"sum-{number}", SUMS) for number in range(MEMBERS)]
            identities = [SigningKey.generate() for _ in devices]
            try:
                number = 1
                while not (self._ending.is_set() and number > len(REVEALED)):  # each lie once, however short it is
                    try:
                        self._round(devices, identities, number)
                        round_ = operator.ended_round(federation, number, within_s=PASS_S)
                    except AssertionError as late:
                        self.stuck = f"{late}: {operator.round(federation, number)}"
                        return
                    self.sums += round_["state"] == "published"
                    self._forgive(operator, devices)
                    number += 1
            finally:
                for device in devices:
                    device.close()
                operator.post(f"/federations/{federation}/finish/")

    def _forgive(self, operator: OperatorClient, devices: Sequence[ScriptedDevice]) -> None:
        """Release the liar, so that it may lie again; nobody else is in quarantine."""
        *honest, liar = (operator.get(f"/devices/{device.id}/") for device in devices)
        assert not any(device["quarantine"] for device in honest)
        if liar["quarantine"]:
            self.quarantined += 1
            operator.post(f"/devices/{liar['id']}/resume/")

    def _round(self, devices: Sequence[ScriptedDevice], identities: Sequence[SigningKey], number: int) -> None:
        for device in devices:
            self._patiently(device.check_in)
        parts = [self._patiently(partial(device.assignment, number)) for device in devices]
        members = [
            HonestMember(device, parts[index].assignment, number, index, identity, plan=PARSED)
            for index, (device, identity) in enumerate(zip(devices, identities, strict=True))
        ]
        *honest, liar = members
        with ThreadPoolExecutor(MEMBERS) as pool:
            held = [pool.submit(member.ended) for member in honest]
            self._take_part(liar, number)
            for one in held:
                one.result()

    def _take_part(self, liar: HonestMember, number: int) -> None:
        """Whatever the step is, every lie about it, then what is right; at last one of the lies that are believed."""
        seen = set[str]()
        for _ in range(int(PASS_S / 0.1)):
            news = self._patiently(lambda: cast(SumNews, liar.device.call(AskSum(liar.assignment))))
            if news.to_do in ("counted", "over"):
                return
            if news.to_do in ("join", "share", "mask", "reveal") and news.to_do not in seen:
                seen.add(news.to_do)
                for name, message in self._lies(liar, news, number):
                    self._tell(liar.device, name, message)
                if news.to_do != "reveal":
                    self._do_right(liar)
                if news.to_do == "mask":
                    self._tell(liar.device, "a vector of other bits", OfferMasked(liar.assignment, "0" * 64, 1))
            self._ending.wait(0.1) if not self._ending.is_set() else threading.Event().wait(0.1)

    def _patiently(self, ask: Callable[[], T]) -> T:
        """What the platform answers to a liar that waits when it is told to, for its lies."""
        while True:
            try:
                return ask()
            except Refused as refused:
                if refused.problem.code != RefusedTooOften.code:
                    raise
                self._outcome.answers["429"] += 1
                time.sleep(float(cast(int, refused.problem.fields["wait_s"])))

    def _do_right(self, liar: HonestMember) -> None:
        """It may have lied for so long that the others have gone on without it."""
        try:
            self._patiently(liar.act)
        except Refused as refused:
            self._note("sum: what is right", refused)

    def _lies(self, liar: HonestMember, news: SumNews, number: int) -> Iterator[Told]:
        assignment, rng = liar.assignment, self._rng
        match news.to_do:
            case "join":
                self._patiently(lambda: liar.device.call(ReadLog(bytes(liar.identity.verify_key), 0)))
                yield from self._entries(liar, news.session)
                yield "shares before their time", ShareSecrets(assignment, (Box(0, 1, rng.randbytes(82)),))
                yield "a vector before its time", OfferMasked(assignment, "0" * 64, 1000)
            case "share":
                yield "no boxes", ShareSecrets(assignment, ())
                yield "boxes for itself", ShareSecrets(assignment, (Box(0, 0, rng.randbytes(82)),))
                every = tuple(Box(rng.randrange(MEMBERS), place, rng.randbytes(82)) for place in range(2500))
                yield "boxes for thousands that are not there", ShareSecrets(assignment, every)
            case "mask":
                yield "a vector of another size", OfferMasked(assignment, "0" * 64, 1 << 40)
                yield "shares after their time", RevealShares(assignment, ())
                yield from self._vector(liar)
            case "reveal":
                name, shares = REVEALED[number % len(REVEALED)]
                yield name, RevealShares(assignment, tuple(shares(rng)))
                yield "other shares afterwards", RevealShares(assignment, (Share(0, "own_mask", rng.randbytes(33)),))

    def _entries(self, liar: HonestMember, session: str) -> Iterator[Told]:
        assignment = liar.assignment
        _, other = party.join(session, liar.device.id, SigningKey.generate())
        _, right = party.join(session, liar.device.id, liar.identity)
        yield "keys of another identity", JoinSum(assignment, other)
        yield "keys that nobody signed", JoinSum(assignment, msgspec.structs.replace(right, mask=os.urandom(32)))
        yield "keys without a secret", JoinSum(assignment, msgspec.structs.replace(right, mask=bytes(32)))
        _, named = party.join(session, "another", liar.identity)
        yield "another device's name", JoinSum(assignment, named)
        if self._earlier is not None:
            yield "keys of an earlier sum", JoinSum(assignment, self._earlier)
        self._earlier = right
        yield "a sum that is none of its own", AskSum(os.urandom(16).hex())

    def _vector(self, liar: HonestMember) -> Iterator[Told]:
        """Nothing is announced yet: bytes come, and are nobody's."""
        self._outcome.sent["sum: bytes that were not announced"] += 1
        try:
            liar.device.send(liar.assignment, self._rng.randbytes(1000), 0)
        except Refused as refused:
            self._note("sum: bytes that were not announced", refused)
        content = self._rng.randbytes(1000)
        yield "a vector of rubbish", OfferMasked(liar.assignment, hashlib.sha256(content).hexdigest(), len(content))

    def _tell(self, device: ScriptedDevice, name: str, message: Message) -> None:
        self._outcome.sent[f"sum: {name}"] += 1
        try:
            device.call(message)
            self._outcome.answers["200"] += 1
        except Refused as refused:
            self._note(f"sum: {name}", refused)
        except httpx.TransportError:
            self._outcome.answers["cut off"] += 1

    def _note(self, name: str, refused: Refused) -> None:
        status = refused.problem.status
        self._outcome.answers[str(status)] += 1
        if status >= 500 and status != 503:
            self._outcome.broken[f"{name}: {status}"] += 1


REVEALED = (
    ("shares of nobody", lambda rng: [Share(2499, "own_mask", rng.randbytes(33))]),
    ("wrong shares of all", lambda rng: [Share(place, "own_mask", rng.randbytes(33)) for place in range(MEMBERS)]),
    (
        "both secrets of each",
        lambda rng: [
            Share(place, of, rng.randbytes(33)) for place in range(MEMBERS) for of in ("own_mask", "pair_masks")
        ],
    ),
    ("the same share a thousand times", lambda rng: [Share(0, "own_mask", rng.randbytes(33))] * 1000),
)
SUM_KINDS = {
    f"sum: {name}"
    for name in (
        "keys of another identity",
        "keys that nobody signed",
        "keys without a secret",
        "another device's name",
        "keys of an earlier sum",
        "a sum that is none of its own",
        "shares before their time",
        "a vector before its time",
        "no boxes",
        "boxes for itself",
        "boxes for thousands that are not there",
        "a vector of another size",
        "shares after their time",
        "bytes that were not announced",
        "a vector of rubbish",
        "a vector of other bits",
        "other shares afterwards",
        *(name for name, _ in REVEALED),
    )
}
