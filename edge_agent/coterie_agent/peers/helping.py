"""Sends a portion of the personal model to a device that requested help, where the owner allows it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.peers.personal_model import PersonalModel
from coterie_agent.peers.portion_handler import PortionHandler
from coterie_agent.store.peers import PeersStore
from coterie_agent.upload import UploadInParts
from coterie_learning.client.start import terms_of
from coterie_learning.device_plan import DevicePlan
from coterie_learning.portions.payload import encode_portion
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.helping import DIRECT_S, DeclineTransfer, OfferPortion, Serve
from coterie_wire.messages import Done, UploadState

UNWILLING = Reason("help.unwilling", "the owner of this device does not let it help others")


@dataclass(frozen=True, kw_only=True)
class Helping:
    """The helper's side of a transfer."""

    link: HttpLink
    store: PeersStore
    chunk_bytes: int
    willing: bool
    now: Callable[[], float]
    """Unix time."""
    handler: PortionHandler | None = None
    """Serves the portion over a direct path; None: no direct paths."""

    def serve(self, serve: Serve, own: PersonalModel, plan: DevicePlan, *, stop: Callable[[], bool]) -> bool:
        """Upload the portion, or decline; False if `stop` returned true before: the next call resumes the upload.

        A portion to be fetched over a direct path is announced; False is returned while the other device may still
        fetch it.

        Raises Unreachable, and Refused where trying again can help or the device's credential has ended.
        """
        if not self.willing:
            self._decline(serve, UNWILLING)
            return True
        offer = self.store.serving()
        if offer is None or offer.transfer != serve.transfer:
            try:
                offer = self._spool(serve, own, plan)
            except WireError as error:
                self._decline(serve, Reason(error.code, error.detail))
                return True
        if self.handler is not None and serve.direct is not None:
            self.handler.give(serve.transfer, serve.direct)
            waited_s = self.handler.waited_s()
            if waited_s is None:
                self.link.call(offer, UploadState)
                self.handler.wait()
                return True
            if waited_s < DIRECT_S:
                return False
        if self.handler is not None:
            self.handler.withdraw()
        read = self.store.read_served
        outcome = UploadInParts(link=self.link, offer=offer, read=read, chunk_bytes=self.chunk_bytes).run(stop=stop)
        if outcome == "accepted":
            about = f"helped another device with {named(serve.classes)}: {offer.size_bytes} bytes"
            self.store.end_serving(serve.transfer, "served", about, now=self.now())
        elif isinstance(outcome, Refused):
            self.store.end_serving(serve.transfer, "declined", outcome.detail, now=self.now())
        return outcome != "stopped"

    def settle(self, serve: Serve | None) -> None:
        """Record that the other device has fetched its portion, once the platform's `serve` no longer names it."""
        fetched = None if self.handler is None else self.handler.fetched()
        if fetched is None or (serve is not None and serve.transfer == fetched.transfer):
            return
        about = f"helped another device, which fetched {fetched.size_bytes} bytes by a direct path"
        self.store.end_serving(fetched.transfer, "served", about, now=self.now())

    def _spool(self, serve: Serve, own: PersonalModel, plan: DevicePlan) -> OfferPortion:
        terms = terms_of(plan, own.spec, serve.classes)
        seed = int(hashlib.sha256(serve.transfer.encode()).hexdigest()[:12], 16)
        payload = encode_portion(terms, own.parameters, reference=own.model.parameters(), seed=seed)
        offer = OfferPortion(serve.transfer, hashlib.sha256(payload).hexdigest(), len(payload))
        self.store.serve(offer, payload)
        return offer

    def _decline(self, serve: Serve, reason: Reason) -> None:
        self.link.call(DeclineTransfer(serve.transfer, reason), Done)
        self.store.end_serving(serve.transfer, "declined", reason.sentence, now=self.now())


def named(classes: tuple[int, ...]) -> str:
    """The classes as text for people."""
    return f"class{'' if len(classes) == 1 else 'es'} {', '.join(map(str, classes))}"
