"""The constant inputs of one simulation: the plan, the model, and the samples of each device."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec

from coterie.evaluation.datasets import Dataset
from coterie.simulation.fleet.block import Base, DeviceResult, Member
from coterie.simulation.fleet.population import Population
from coterie.simulation.on_device import Graphs
from coterie_learning.client.order import SampleSplit
from coterie_learning.client.round import parts_of
from coterie_learning.client.update import CODEC, LOCAL
from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import States, decode_state, encode_state
from coterie_learning.local import Local
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.update_files import Contents
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory


@dataclass(frozen=True, eq=False)
class Setting:
    """All inputs of training besides a block."""

    plan: Plan
    graphs: Graphs
    data: Dataset
    """The samples of all devices."""
    population: Population
    seed: int

    @cached_property
    def contents(self) -> Contents:
        """The format of updates."""
        return Contents(self.graphs.spec, self.plan.codec, self.plan.local)

    def device_plan(self, base: Base) -> DevicePlan:
        """The plan of devices that train from `base`."""
        plan = self.plan.device
        if base.bound is None:
            return plan
        return msgspec.structs.replace(plan, privacy=plan.privacy.bounded_by(base.bound))

    def seed_of(self, device: int, number: int) -> int:
        """The seed of the training of `device` in round `number`."""
        return derive_seed(self.seed, "training", device, number)

    def dataset(self, device: int) -> Dataset:
        """The samples of `device`, which are numbered from 1 in this order."""
        return self.data.take(self.population.rows(device))

    def seen(self, device: int) -> Sequence[int]:
        """The classes of its samples, ascending."""
        return sorted(set(self.dataset(device).classes.tolist()))

    def sent_classes(self, device: int) -> Sequence[int]:
        """Classes whose rows its update contains, where the plan customises the output layer."""
        return self.seen(device) if self.plan.local.scope().head == "seen" else ()

    def states(self, member: Member) -> States:
        """Its states for its part in a round."""
        return {slot: decode_state(blob) for slot, blob in member.states.items() if slot in (LOCAL, CODEC)}

    def found(self, device: int, payload: bytes, samples: int, states: States) -> DeviceResult:
        """The result for an update; its numbers are checked as on the platform."""
        try:
            norm = self.contents.open(InMemory(payload), self.sent_classes(device)).extent().norm
        except WireError as error:
            return unusable(device, error)
        # With a lossless codec, the stored residual would be zero.
        nothing = {CODEC} if self.plan.codec.exact else ()
        kept = {
            slot: encode_state(state) for slot, state in states.items() if slot not in nothing and not state.is_empty
        }
        return DeviceResult(device, samples, norm, len(payload), payload, kept)


def unusable(device: int, error: WireError) -> DeviceResult:
    """The result of a device with unusable numbers. Raises any other `error`, which is the kind's own fault."""
    if error.code not in ("update.not_finite", "update.out_of_range"):
        raise error
    return DeviceResult(device, 0)


def train_ids(samples: int, local: Local) -> Sequence[int]:
    """The numbers of the samples that a device with so many trains on."""
    return _parts(samples, local).train


def held_out_ids(samples: int, local: Local) -> Sequence[int]:
    """The numbers of the samples that a device with so many evaluates versions on."""
    return _parts(samples, local).held_out


@lru_cache(maxsize=4096)
def _parts(samples: int, local: Local) -> SampleSplit:
    return parts_of(range(1, samples + 1), local)
