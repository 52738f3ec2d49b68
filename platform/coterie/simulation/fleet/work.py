"""The work of a worker: trains the devices of a block, each from its version, and sums their updates."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from coterie.evaluation.scoring import predict_logits
from coterie.simulation.fleet.block import Base, Block, DeviceResult, Member, TrainedBlock, read_version
from coterie.simulation.fleet.own_models import OWN, Own, encode_own, own_of, trained_beside
from coterie.simulation.fleet.setting import Setting, unusable
from coterie.simulation.fleet.side_by_side import SideBySide
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.on_device import Rows
from coterie.simulation.participant import Participant
from coterie_learning.client.optimisation import Diverged
from coterie_learning.fold import CountedUpdate, partial_aggregate
from coterie_learning.metrics import log_softmax
from coterie_learning.update_files import UpdateFile
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory

Executor = Literal["exact", "batched"]
"""One device after the other by the agent's own code; or many in one step."""


@dataclass(frozen=True, eq=False)
class Work:
    """Trains the blocks that one worker process is given."""

    setting: Setting
    side_by_side: SideBySide | None
    """None: devices train one by one."""

    def train(self, block: Block) -> TrainedBlock:
        """Train the block; the result does not depend on the worker."""
        found: Sequence[DeviceResult]
        sums: Mapping[str, Int64] = {}
        if self.side_by_side is None:
            found = [self._alone(member) for member in block.members]
        else:
            found, sums = self.side_by_side.train(self.setting, block)
        rules = self.setting.plan.personal.rules(self.setting.plan.local)
        if rules is not None:
            found = [
                self._with_own(
                    one, trained_beside(self.setting, _base(member), one.device, own_of(member.states), rules)
                )
                for one, member in zip(found, block.members, strict=True)
            ]
        if not block.keeps_updates:
            sums = sums or self._summed(block, found)
            found = [msgspec.structs.replace(one, payload=b"") for one in found]
        if block.wants_losses:
            found = [
                msgspec.structs.replace(one, loss=self._loss(_base(member), one.device))
                for one, member in zip(found, block.members, strict=True)
            ]
        return TrainedBlock(block.number, found, {name: numbers.tobytes() for name, numbers in sums.items()})

    def _with_own(self, found: DeviceResult, own: Own) -> DeviceResult:
        return msgspec.structs.replace(found, states={**found.states, OWN: encode_own(own)})

    def _alone(self, member: Member) -> DeviceResult:
        """Train one device with the agent's code."""
        setting, base = self.setting, _base(member)
        dataset = setting.dataset(member.device)
        participant, own = Participant(setting.device_plan(base), [], setting.states(member)), own_of(member.states)
        try:
            part = participant.take_part(
                setting.graphs,
                base.parameters,
                Rows(dataset, setting.graphs.spec, range(1, len(dataset.labels) + 1)),
                seen=setting.seen(member.device),
                personal=None if own is None else own.parameters,
                teacher=None,
                seed=setting.seed_of(member.device, member.round),
                server=base.server,
                round_number=member.round,
                steps_allowed=member.steps,
            )
        except Diverged:
            return DeviceResult(member.device, 0)
        except WireError as error:
            return unusable(member.device, error)
        found = setting.found(member.device, part.payload, part.samples, part.states)
        if not setting.plan.local.trains_personal_model():
            return found
        return self._with_own(found, Own(part.trained, base.number))

    def _summed(self, block: Block, found: Sequence[DeviceResult]) -> Mapping[str, Int64]:
        weights = {member.device: member.weight for member in block.members}
        counted = [
            CountedUpdate(partial(self._opened, one), weights[one.device])
            for one in found
            if one.samples and weights[one.device]
        ]
        setting = self.setting
        return partial_aggregate(setting.graphs.spec.parameters, counted, parts=setting.plan.local.parts)

    @contextmanager
    def _opened(self, found: DeviceResult) -> Iterator[UpdateFile]:
        yield self.setting.contents.open(InMemory(found.payload), self.setting.sent_classes(found.device))

    def _loss(self, base: Base, device: int) -> float:
        """Mean cross-entropy of the version over the device's samples, in nats."""
        dataset = self.setting.dataset(device)
        logits = predict_logits(self.setting.graphs.predict, base.parameters, dataset)
        return float(-log_softmax(logits)[np.arange(len(dataset.labels)), dataset.classes].mean())


def _base(member: Member) -> Base:
    return read_version(member.version)
