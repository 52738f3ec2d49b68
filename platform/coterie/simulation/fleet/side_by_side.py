"""Batched training of many devices: one train step with a device axis, with the same batches as one by one.

Only for plans in which a round is descent from the received version and an update is the difference from it; under
other plans devices train one by one. Results differ only by rounding: see `TOLERANCE`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
import onnxruntime

from coterie.evaluation.scoring import open_session
from coterie.simulation.fleet.block import Base, Block, DeviceResult, read_version
from coterie.simulation.fleet.device_axis import Unsupported, for_many_devices
from coterie.simulation.fleet.draws import epoch_orders
from coterie.simulation.fleet.in_place import InPlace
from coterie.simulation.fleet.setting import Setting, train_ids, unusable
from coterie.simulation.fleet.splits import Int64
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.client.update import make_update
from coterie_learning.device_state import NO_STATE
from coterie_learning.exact_sum import LARGEST, TOGETHER, WeightedNumbers, add_numbers
from coterie_learning.local import DELTA, Broadcast, Local
from coterie_learning.partial_sums import key_of
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.update_sizes import update_bytes
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import PARAMETER_ROLES, TARGET
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array, Float32, Tensors

TOLERANCE = 1e-4
"""Largest deviation from one-by-one training, as a share of the largest change of a parameter in a round."""
CACHED_BYTES = 512 << 10
"""Most parameters of a block, so that they fit into a core's cache."""
FEWEST, MOST = 8, 64
"""Devices of a block. Models for which not even the fewest fit are trained one by one, which is as fast."""


class OneByOne(Exception):
    """Why a plan's devices cannot train in one batch, as a sentence."""


class _Trained(NamedTuple):
    parameters: Mapping[str, Float32]
    """By name, [devices, ...]."""
    steps: Sequence[int]
    """Steps of each."""
    samples: Sequence[int]
    """Samples of each; 0: it diverged."""


@dataclass(frozen=True, eq=False)
class SideBySide:
    """The train step of one model under one plan."""

    session: onnxruntime.InferenceSession
    inputs: frozenset[str]
    carried: Mapping[str, str]
    """Outputs that become inputs of the next step: names of outputs by those of inputs."""
    devices: int
    """Most devices of a block."""
    mixes: bool
    """Whether devices of a block may have received different versions, as under asynchronous rounds."""

    @classmethod
    def of(cls, plan: Plan, spec: ModelSpec, train_step: bytes, *, most_steps: int) -> Self:
        """`most_steps` is the largest number of steps of any device. Raises OneByOne."""
        devices = _devices_of_block(spec)
        _check(plan, spec)
        weighed = [plan.local.step_scalars(step).scalars(spec.scalars, step=step) for step in range(most_steps)]
        zeros = {name for name in spec.scalars if all(one[name] == 0 for one in weighed)}
        parameters = [f"param.{tensor.name}" for tensor in spec.parameters]
        state = [tensor.name for tensor in spec.optimiser_state]
        if "momentum" in zeros:  # the optimiser state then has no effect
            state = [name for name in state if not name.startswith("velocity.")]
        differ = {tensor.name for tensor in spec.inputs} | {TARGET, "sample_weight", *parameters, *state}
        mixes = plan.pace.staleness_allowed() is not None
        if mixes:  # devices of a block may have received different versions
            differ |= {f"{role}.{tensor.name}" for role in PARAMETER_ROLES for tensor in spec.parameters}
        carried = {name: f"next.{name}" for name in (*parameters, *state)}
        try:
            made = for_many_devices(train_step, differ=differ, outputs=["loss", *carried.values()], zeros=zeros)
        except Unsupported as error:
            raise OneByOne(f"its train step has no form for many devices: {error}") from error
        return cls(open_session(made.graph), made.inputs, carried, devices, mixes)

    def train(self, setting: Setting, block: Block) -> tuple[Sequence[DeviceResult], Mapping[str, Int64]]:
        """The devices' results, and the sum of their updates where these are sent unencoded."""
        bases = _bases(block)
        trained, plan = self._trained(setting, bases, block), setting.plan
        if plan.codec.exact and plan.privacy.leaves_as_is and not block.keeps_updates:
            return _differences(setting, bases if self.mixes else bases[:1], block, trained)
        return [_encoded(setting, bases[place], block, trained, place) for place in range(len(block.members))], {}

    def _trained(self, setting: Setting, bases: Sequence[Base], block: Block) -> _Trained:
        spec, local, members = setting.graphs.spec, setting.plan.local, block.members
        size, count = spec.batch_size, len(members)
        rows = setting.population.rows_of([one.device for one in members])
        own = [held.take(_places(len(held), local)) for held in rows]
        steps = [
            min(one.steps, local.steps_wanted(steps_per_epoch(len(held), size)))
            for one, held in zip(members, own, strict=True)
        ]
        batches, weights = self._order(setting, block, own, steps)
        given, losses = self._given(local, spec, bases, block), np.empty(count, np.float32)
        bound = {name: one for name, one in given.items() if name in self.inputs}
        training = InPlace(self.session, bound, self._begun(spec, bases), self.carried, losses)
        kept = {one.name: np.empty((count, *one.shape), np.float32) for one in spec.parameters}
        is_finite, done = np.ones(count, bool), np.asarray(steps)
        for step in range(max(steps)):
            for name, number in local.step_scalars(step).scalars(spec.scalars, step=step).items():
                given[name][...] = number
            self._fill(setting, given, batches[step], weights[step])
            training.run()
            is_finite &= np.isfinite(losses) | (step >= done)
            ending = np.flatnonzero(done == step + 1)
            after = {name: training.state[f"param.{name}"] for name in kept}
            if len(ending) == count:
                kept = after
                break
            for name, tensor in kept.items() if len(ending) else ():
                tensor[ending] = after[name][ending]
        samples = [
            min(len(held), number * size) if good else 0
            for held, number, good in zip(own, steps, is_finite.tolist(), strict=True)
        ]
        return _Trained(kept, steps, samples)

    def _order(
        self, setting: Setting, block: Block, own: Sequence[Int64], steps: Sequence[int]
    ) -> tuple[Int64, Float32]:
        """The rows of each step, [steps, devices, batch], and what each weighs."""
        size = setting.graphs.spec.batch_size
        shape = len(own), max(steps) * size
        batches, weights = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        seeds = [setting.seed_of(one.device, one.round) for one in block.members]
        passes = [size * steps_per_epoch(len(held), size) for held in own]
        going, number = list(range(len(own))), 0
        while going:
            orders = epoch_orders([len(own[at]) for at in going], [seeds[at] for at in going], number)
            for at, order in zip(going, orders, strict=True):
                start = number * passes[at]
                taken = own[at].take(order[: steps[at] * size - start])
                batches[at, start : start + len(taken)] = taken
                weights[at, start : start + len(taken)] = 1
            number += 1
            going = [at for at in going if number * passes[at] < steps[at] * size]
        each = len(own), -1, size
        return batches.reshape(each).swapaxes(0, 1).copy(), weights.reshape(each).swapaxes(0, 1).copy()

    def _given(self, local: Local, spec: ModelSpec, bases: Sequence[Base], block: Block) -> dict[str, Array]:
        """Constant inputs: shared values, and buffers that are filled before each step."""
        shape = len(block.members), spec.batch_size
        received = list(zip(bases, block.members, strict=True))
        begun = [
            (base, local.begin(Broadcast(base.parameters, base.server, one.round), NO_STATE))
            for base, one in (received if self.mixes else received[:1])
        ]
        return {
            **{
                f"{role}.{tensor.name}": self._of_block(
                    [roles.get(role, base.parameters)[tensor.name] for base, roles in begun]
                )
                for role in PARAMETER_ROLES
                for tensor in spec.parameters
                if f"{role}.{tensor.name}" in self.inputs
            },
            **{name: np.empty((), np.float32) for name in spec.scalars},
            **{one.name: np.empty((*shape, *one.shape), one.dtype) for one in spec.inputs},
            TARGET: np.empty(shape, np.int64),
            "sample_weight": np.empty(shape, np.float32),
        }

    def _of_block(self, each: Sequence[Float32]) -> Float32:
        """One value for each device, or a single one where all are equal."""
        return np.stack(each) if self.mixes else each[0]

    def _begun(self, spec: ModelSpec, bases: Sequence[Base]) -> dict[str, Float32]:
        """The initial values of the first step, for each device."""
        begun: dict[str, Float32] = {
            one.name: np.zeros((len(bases), *one.shape), np.float32) for one in spec.optimiser_state
        }
        begun |= {
            f"param.{one.name}": np.stack([base.parameters[one.name] for base in bases]) for one in spec.parameters
        }
        return {name: begun[name] for name in self.carried}

    def _fill(self, setting: Setting, given: Mapping[str, Array], rows: Int64, weights: Float32) -> None:
        """Padding is an arbitrary sample with weight 0."""
        for name, numbers in setting.data.inputs.items():
            given[name][...] = numbers.take(rows, axis=0)
        given[TARGET][...] = setting.data.classes.take(rows)
        given["sample_weight"][...] = weights


@lru_cache(maxsize=4096)
def _places(samples: int, local: Local) -> Int64:
    """Places of the training samples of a device with so many samples."""
    return np.asarray(train_ids(samples, local), np.int64) - 1


def _devices_of_block(spec: ModelSpec) -> int:
    size_bytes = 4 * sum(int(np.prod(tensor.shape)) for tensor in spec.parameters)
    if FEWEST * size_bytes > CACHED_BYTES:
        raise OneByOne(f"a model of {size_bytes:,} bytes is as quick by itself")
    return min(MOST, CACHED_BYTES // size_bytes)


def _check(plan: Plan, spec: ModelSpec) -> None:
    local = plan.local
    own = [
        name
        for name in ("end", "remember", "frozen_layers", "batch")
        if getattr(type(local), name) is not getattr(Local, name)
    ]
    if own or local.runs() != 1 or local.needs_loss() or local.stopping() is not None:
        raise OneByOne(f"local {local.name} does more than descend and send the difference")
    if local.trains_personal_model():
        raise OneByOne(f"under local {local.name} devices go on with models of their own")
    if not local.scope().is_whole:
        raise OneByOne(f"local {local.name} trains a part of the model")
    if spec.statistics:
        raise OneByOne("the model gathers running statistics while it trains")
    if spec.seeded:
        raise OneByOne("the model draws at random while it trains")


def _bases(block: Block) -> Sequence[Base]:
    """The version received by each device; each file is read once."""
    found = {path: read_version(path) for path in dict.fromkeys(one.version for one in block.members)}
    return [found[one.version] for one in block.members]


def _differences(
    setting: Setting, bases: Sequence[Base], block: Block, trained: _Trained
) -> tuple[Sequence[DeviceResult], Mapping[str, Int64]]:
    """Unencoded updates, summed like agents'; `bases` has one for each device, or one for all."""
    members, parameters = block.members, trained.parameters
    ends = np.cumsum([bases[0].parameters[name].size for name in parameters])
    changes = np.empty((len(members), ends[-1]), np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        for (name, tensor), columns in zip(parameters.items(), np.split(changes, ends[:-1], axis=1), strict=True):
            received = np.stack([base.parameters[name].reshape(-1) for base in bases])
            np.subtract(tensor.reshape(columns.shape), received, out=columns)
        wide = changes.astype(np.float64)
        squares, bound = np.einsum("ij,ij->i", wide, wide), np.maximum(changes.max(axis=1), -changes.min(axis=1))
    good = (np.asarray(trained.samples) > 0) & np.isfinite(squares) & (bound < LARGEST)
    updates = [
        WeightedNumbers(change, one.weight)
        for one, change, is_good in zip(members, changes, good.tolist(), strict=True)
        if is_good and one.weight
    ]
    total = np.zeros(ends[-1], np.int64)
    for begin in range(0, len(updates), TOGETHER):
        add_numbers(total, updates[begin : begin + TOGETHER])
    sums = {key_of(DELTA, name): part for name, part in zip(parameters, np.split(total, ends[:-1]), strict=True)}
    size_bytes = update_bytes(setting.plan.local, setting.plan.codec, setting.graphs.spec).usual
    found = [
        DeviceResult(one.device, samples, norm, size_bytes) if good else DeviceResult(one.device, 0)
        for one, samples, norm, good in zip(
            members, trained.samples, np.sqrt(squares).tolist(), good.tolist(), strict=True
        )
    ]
    return found, sums


def _encoded(setting: Setting, base: Base, block: Block, trained: _Trained, place: int) -> DeviceResult:
    """One device's update as the agent encodes it."""
    member = block.members[place]
    if not trained.samples[place]:
        return DeviceResult(member.device, 0)
    parameters: Tensors = {name: tensor[place] for name, tensor in trained.parameters.items()}
    seed = setting.seed_of(member.device, member.round)
    try:
        update = make_update(
            base.parameters,
            parameters,
            plan=setting.device_plan(base),
            model=setting.graphs.spec,
            states=setting.states(member),
            steps=trained.steps[place],
            seed=seed,
            secret=derive_seed(seed, "secret"),
            broadcast=Broadcast(base.parameters, base.server, member.round),
        )
    except WireError as error:
        return unusable(member.device, error)
    return setting.found(member.device, update.payload, trained.samples[place], update.states)
