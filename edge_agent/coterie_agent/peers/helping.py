"""Sends a portion of the personal model to a device that asked for help, where the owner allows it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from coterie_agent.link.failure import Refused
from coterie_agent.link.http import HttpLink
from coterie_agent.peers.personal_model import PersonalModel
from coterie_agent.store.peers import PeersStore
from coterie_agent.upload import Delivery
from coterie_learning.client.start import terms_of
from coterie_learning.device_plan import DevicePlan
from coterie_learning.portions.payload import encode_portion
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.helping import DeclineTransfer, OfferPortion, Serve
from coterie_wire.messages import Done

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

    def serve(self, serve: Serve, own: PersonalModel, plan: DevicePlan, *, stop: Callable[[], bool]) -> bool:
        """Upload the portion, or decline; False if `stop` returned true before: the next call resumes the upload.

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
        read = self.store.read_served
        outcome = Delivery(link=self.link, offer=offer, read=read, chunk_bytes=self.chunk_bytes).run(stop=stop)
        if outcome == "accepted":
            about = f"helped another device with {named(serve.classes)}: {offer.size_bytes} bytes"
            self.store.end_serving(serve.transfer, "served", about, now=self.now())
        elif isinstance(outcome, Refused):
            self.store.end_serving(serve.transfer, "declined", outcome.detail, now=self.now())
        return outcome != "stopped"

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
    """Classes for people."""
    return f"class{'' if len(classes) == 1 else 'es'} {', '.join(map(str, classes))}"
