"""Scripted devices that help one another, one message at a time."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec
import numpy as np

from coterie.federations.models import Federation
from coterie.federations.services import create_federation, start_federation
from coterie.fleet.presence import settle
from coterie.rounds import directives
from coterie.transfer import asking, judging, portions
from coterie.transfer.models import HelpRequest
from coterie_learning.codec.float32 import Float32Codec
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.helping import AskHelp, GiveVerdict, OfferPortion, Profile, ReportProfile, ReportReceived
from coterie_wire.messages import Capabilities, CheckIn, Directive, UploadState
from coterie_wire.relaying import public_key
from coterie_wire.version import PROTOCOL
from tests.coterie.world import START, make_device, make_pair, make_version

SLUG = "peers"
CARTEL = {
    "kind": "cartel",
    "portion": "head",
    "serves_at_once": 1,
    "neighbours_tried": 2,
    "match_s": 20.0,
    "deliver_s": 30.0,
    "judge_s": 60.0,
    "largest_divergence": 0.9,
}
KNOWS_2 = Profile(batch=5, classes=(0, 2), counts=(10, 10), hits=(9, 9))
FAILS_2 = Profile(batch=7, classes=(0, 2), counts=(8, 4), hits=(8, 0), drifting=True)


def make_peers(slug: str = SLUG, **settings: object) -> Federation:
    """A running federation whose devices learn alone and help one another."""
    pair = make_pair(slug)
    make_version(pair)
    plan = {"pace": {"kind": "alone"}, "help": {**CARTEL, **settings}, "codec": {"kind": "float32"}}
    federation = create_federation(name=slug, pair=pair, plan=plan, now=START)
    start_federation(federation=federation, now=START)
    return federation


def portion(seed: int = 0, *, classes: int = 1) -> bytes:
    """Rows of `classes` classes of the world's model, as a helper sends them."""
    rng = np.random.default_rng(seed)
    rows = {
        "rows": rng.standard_normal((classes, 4), dtype=np.float32),
        "biases": rng.standard_normal(classes, dtype=np.float32),
    }
    return Float32Codec().encode(rows, seed=0).payload


@dataclass
class Member:
    """A device of the peers."""

    name: str
    digest: str | None = None
    asks: str | None = None
    opens_paths: bool = False
    row: object = field(init=False)

    def __post_init__(self) -> None:
        self.row = make_device(self.name)
        if self.opens_paths:
            key = public_key(self.name.encode().ljust(32, b"."))
            says = Capabilities(cores=1, memory_bytes=1, machine="any", agent="0.3.0", peer_key=key, paths=True)
            self.row.capabilities = msgspec.to_builtins(says)
            self.row.save()

    def check_in(self, now: datetime, *, blockers: tuple[Reason, ...] = ()) -> Directive:
        settle(now=now)
        self.row.refresh_from_db()
        message = CheckIn(
            protocol=PROTOCOL, conditions=Conditions(), blockers=blockers, standing=self.digest, help=self.asks
        )
        return directives.check_in(device=self.row, message=message, now=now)

    def tell(self, profile: Profile, now: datetime) -> None:
        asking.report_profile(device=self.row, report=ReportProfile(SLUG, profile), now=now)

    def ask(self, number: int, now: datetime, *, classes: tuple[int, ...] = (2,)) -> HelpRequest:
        self.asks = str(UUID(int=number))
        return asking.ask_help(device=self.row, ask=AskHelp(self.asks, SLUG, classes, FAILS_2), now=now)

    def announce(self, transfer: str, now: datetime, content: bytes) -> UploadState:
        """Without bringing it."""
        offer = OfferPortion(transfer, hashlib.sha256(content).hexdigest(), len(content))
        return portions.offer_portion(device=self.row, offer=offer, now=now)

    def received(self, transfer: str, now: datetime, *, failed: Reason | None = None) -> None:
        portions.report_received(device=self.row, report=ReportReceived(transfer, failed), now=now)

    def serve(self, transfer: str, now: datetime, content: bytes | None = None) -> UploadState:
        """What the gateway does with an upload of one piece."""
        sent = portion() if content is None else content
        offer = OfferPortion(transfer, hashlib.sha256(sent).hexdigest(), len(sent))
        state = portions.offer_portion(device=self.row, offer=offer, now=now)
        if state.accepted:
            return state
        portions.open_upload(self.row, transfer, state.offset, now).write(state.offset, sent[state.offset :])
        return portions.complete_upload(self.row, transfer, now)

    def fetch(self, transfer: str) -> bytes:
        file, _ = portions.open_portion(device=self.row, transfer_id=transfer)
        with file:
            return file.read()

    def merged(self, transfer: str, now: datetime) -> None:
        judging.record_merged(device=self.row, transfer_id=transfer, now=now)

    def judge(self, transfer: str, now: datetime, *, kept: bool = True) -> None:
        verdict = GiveVerdict(transfer, kept, accuracy_before=0.6, accuracy_after=0.9 if kept else 0.5, samples=32)
        judging.record_verdict(device=self.row, verdict=verdict, now=now)

    def decline(self, transfer: str, now: datetime) -> None:
        reason = Reason("help.unwilling", "the owner does not want it")
        judging.decline_transfer(device=self.row, transfer_id=transfer, reason=reason, now=now)
