"""A virtual device's part in rounds: the state that an agent stores, and the round that uses it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from coterie.simulation.device import KeptPortion
from coterie.simulation.on_device import Graphs, Rows, Taught, run_training
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.client.update import make_update
from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import States
from coterie_learning.heads import place, update_specs
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.updates import decode_draw, split_update
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors


class Participation(NamedTuple):
    """The result of a device's part in a round."""

    payload: bytes
    trained: Tensors
    """The tensors of a version after training, for devices that continue from them."""
    samples: int
    classes: tuple[int, ...]
    """Those whose rows the update holds, where the plan customises the output layer."""
    states: States = MappingProxyType({})
    """The device states once the update is accepted."""


class ReadUpdate(NamedTuple):
    """An update as the platform reads it."""

    difference: Tensors
    """Of the parameters, with zeros wherever nothing was trained."""
    statistics: Tensors
    """Running statistics as the device gathered them."""


def read_update(plan: Plan, model: ModelSpec, payload: bytes, classes: Sequence[int]) -> ReadUpdate:
    """What `payload` says, which has the rows of `classes` where the plan customises the output layer."""
    scope = plan.local.scope()
    files = split_update(payload, model, parts=plan.local.files())
    update = plan.codec.decode(files.encoded, expected=update_specs(model, scope, classes))
    draw = decode_draw(files.others[-1]) if scope.share < 1 else 0
    return ReadUpdate(place(update, model, scope, classes, draw), files.statistics)


@dataclass
class Participant:
    """One device in one federation."""

    plan: DevicePlan
    portions: list[KeptPortion]
    """Portions stored since its last accepted update, oldest first; other code adds to it."""
    states: States = field(default_factory=dict)
    _begun_with: int = 0
    _spooled: States = field(default_factory=dict)

    def accept(self) -> None:
        """Start an assignment: portions stored from now on belong to the next."""
        self._begun_with = len(self.portions)

    def take_part(
        self,
        graphs: Graphs,
        received: Tensors,
        rows: Rows,
        *,
        seen: Sequence[int],
        personal: Tensors | None,
        teacher: Taught | None,
        seed: int,
        server: Mapping[str, Tensors] | None = None,
        round_number: int = 0,
        steps_allowed: int | None = None,
    ) -> Participation:
        """Train on `rows` and encode the update.

        Raises Diverged, WireError ``plan.*`` or ``update.not_finite``.
        """
        given = replace(
            self._given(graphs, received, rows, seen=seen, seed=seed, round_number=round_number),
            personal=personal,
            portions=self.portions[: self._begun_with],
            server=server or {},
        )
        client = ClientRound(given, graphs.open_steps)
        trained = run_training(client.training, graphs, rows, teacher=teacher, steps_allowed=steps_allowed)
        result = client.finish(trained)
        self._spooled = result.update.states
        return Participation(
            result.update.payload, trained, result.samples, client.training.classes, result.update.states
        )

    def train_part(
        self, graphs: Graphs, begun: Tensors, rows: Rows, *, seen: Sequence[int], seed: int, round_number: int
    ) -> tuple[Tensors, int]:
        """Train before a meeting, from `begun`; returns the parameters and the number of steps.

        Raises Diverged, or WireError ``plan.*``.
        """
        given = self._given(graphs, begun, rows, seen=seen, seed=seed, round_number=round_number)
        client = ClientRound(given, graphs.open_steps)
        return run_training(client.training, graphs, rows), client.training.steps_done

    def _given(
        self, graphs: Graphs, received: Tensors, rows: Rows, *, seen: Sequence[int], seed: int, round_number: int
    ) -> Given:
        return Given(
            plan=self.plan,
            model=graphs.spec,
            received=received,
            ids=rows.ids,
            seen=seen,
            seed=seed,
            secret=derive_seed(seed, "secret"),
            states=self.states,
            round=round_number,
        )

    def come_home(
        self, model: ModelSpec, received: Tensors, trained: Tensors, *, steps: int, samples: int, seed: int
    ) -> Participation:
        """The update after the last meeting. Raises WireError ``update.not_finite``."""
        update = make_update(
            received,
            trained,
            plan=self.plan,
            model=model,
            states=self.states,
            steps=steps,
            seed=seed,
            secret=derive_seed(seed, "secret"),
        )
        self._spooled = update.states
        return Participation(update.payload, trained, samples, ())

    def accepted(self) -> None:
        """The update was accepted: its states replace the previous ones, its portions have reached the federation."""
        self.states = self._spooled
        del self.portions[: self._begun_with]
