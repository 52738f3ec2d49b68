"""What an assignment adds to a secure sum: its spooled update and what was measured, before any mask."""

import hashlib
import secrets
from dataclasses import dataclass

from coterie_agent.errors import AgentError
from coterie_agent.store.work import WorkStore
from coterie_agent.training.model import Model
from coterie_learning.contribution import Contents, DeviceFigures
from coterie_learning.device_plan import DevicePlan
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.privacy import Masking
from coterie_learning.secure_sum.vector import Vector
from coterie_learning.update_files import Contents as UpdateContents
from coterie_learning.update_files import UpdateFile
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.tensor_files import InMemory


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The update of `assignment`, as its plan has it summed."""

    assignment: Assignment
    plan: DevicePlan
    masking: Masking
    model: Model
    work: WorkStore
    offer: OfferUpdate
    """Of the spooled update; it is never sent."""

    def vector(self, members: int) -> Vector:
        """What is added to a sum of so many `members`; the same each time but for noise, where the plan has any.

        Raises AgentError ``agent.update_damaged`` or ``bundle.*``, WireError ``update.*``, ``tensors.*`` or
        ``secure_sum.too_few_bits``.
        """
        contents = Contents(
            self.model.manifest.model, self.plan.local, self.masking, members=members, seed=self.assignment.round
        )
        offer = self.offer
        measured = DeviceFigures(offer.samples, offer.loss_before, offer.loss_after, offer.accuracy_before)
        key = secrets.token_bytes(SECRET_BYTES)
        return contents.vector(self._update(), measured, self.model.parameters(), seed=self.assignment.seed, key=key)

    def _update(self) -> UpdateFile:
        payload = self.work.read_payload(0, self.offer.size_bytes)
        if hashlib.sha256(payload).hexdigest() != self.offer.sha256:  # nobody else could ever tell
            raise AgentError("agent.update_damaged", "the update was damaged on the disk before it was masked")
        contents = UpdateContents(self.model.manifest.model, self.plan.codec, self.plan.local)
        return contents.open(InMemory(payload), self.offer.classes)
