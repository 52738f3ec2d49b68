"""What the disks of real agents hold of secure sums: how far each is, and its vector as it was before any mask.

An agent forgets its part with the assignment; a trigger in its database keeps a copy, whenever the agent is killed.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import Any, Literal

from coterie_agent.home import Home
from coterie_learning.cohort import weights
from coterie_learning.contribution import Contents
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory
from coterie_learning.plan import Plan
from coterie_learning.secure_sum import masks
from coterie_learning.secure_sum.members import decode_members
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.recovery import Mask, unmasked
from coterie_learning.secure_sum.vector import Vector, added, open_vector
from coterie_learning.update_files import Contents as UpdateContents
from coterie_wire.structs import from_json
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors
from tests.system.model import SPEC
from tests.system.real_agent import RealAgent

Step = Literal["join", "share", "mask", "reveal"]
STEPS: Sequence[Step] = ("join", "share", "mask", "reveal")
# Any: the tests read a few fields of what the platform answers.
Json = dict[str, Any]
_KEEP = """
CREATE TABLE kept_by_test (assignment TEXT PRIMARY KEY, state BLOB NOT NULL, vector BLOB NOT NULL);
CREATE TRIGGER vector_kept_by_test AFTER INSERT ON masked_vector BEGIN
    INSERT INTO kept_by_test SELECT assignment, state, NEW.content FROM secure_sum;
END;
"""


class Disk:
    """The database of an agent that has joined and does not run yet."""

    def __init__(self, agent: RealAgent) -> None:
        self._path = Home(agent.home).database
        with closing(sqlite3.connect(self._path)) as database:
            database.executescript(_KEEP)

    def step(self) -> Step | None:
        """The last step of a sum that the agent has prepared; None: it is in none."""
        row = self._row("SELECT state FROM secure_sum")
        if row is None:
            return None
        state = from_json(row[0], PartyState)
        if state.answered:
            return "reveal"
        if state.received:
            return "mask"
        return "share" if state.members else "join"

    def plain_vector(self, assignment: str, plan: Plan, number: int) -> tuple[Vector, int]:
        """What the agent added to the sum of round `number`, and of how many members that was."""
        row = self._row("SELECT state, vector FROM kept_by_test WHERE assignment = ?", assignment)
        assert row is not None, "who is in a sum has masked a vector for it"
        state = from_json(row[0], PartyState)
        found = decode_members(state.session, state.members)
        place, digest = found.place_of(state.device), found.digest
        layout = contents_of(plan, len(found.members), number).layout
        lying = [Mask(state.seed, is_added=True)]
        for other in sorted(box.sender for box in state.received):
            seed = masks.pair_seed(state.mask_key, found.members[other].mask, digest)
            lying.append(Mask(seed, is_added=other > place))
        return unmasked([open_vector(InMemory(row[1]), layout, digest)], layout, lying), len(found.members)

    def _row(self, query: str, *given: str) -> Sequence[Any] | None:
        with closing(sqlite3.connect(self._path, timeout=60)) as database:
            row: Sequence[Any] | None = database.execute(query, given).fetchone()
        return row


def contents_of(plan: Plan, members: int, number: int) -> Contents:
    """Of the vectors of round `number`."""
    masking = plan.privacy.masking()
    assert masking is not None
    return Contents(SPEC, plan.local, masking, members=members, seed=number)


def made_of_plain_sum(plan: Plan, round_: Json, disks: Mapping[str, Disk], base: Tensors) -> Tensors:
    """The parameters that follow from the vectors of the round's devices, which nobody but these had, and its base."""
    summed = [part for part in round_["assignments"] if part["state"] == "delivered"]
    assert len(summed) == round_["updates"] == round_["metrics"]["updates"]
    vectors = [disks[part["device"]].plain_vector(part["id"], plan, round_["number"]) for part in summed]
    (members,) = {members for _, members in vectors}
    total = added([vector for vector, _ in vectors])
    contents = contents_of(plan, members, round_["number"])
    found = contents.summed(total.numbers, total.tail, len(vectors), {}, plan.codec)
    update = UpdateContents(SPEC, plan.codec, plan.local).open(InMemory(found.payload), ())
    (weight,) = weights(plan.merge.counted([found.samples]))
    counted = CountedUpdate(partial(nullcontext, update), weight, devices=found.devices)
    scalars = Aggregation(scalars=plan.local.scalars)
    return fold_in_memory(plan.merge, SPEC.parameters, [counted], base, None, scalars).parameters
