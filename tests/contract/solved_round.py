"""Rounds of the agent in which it only sums, for other clients to repeat: ``python -m tests.contract.solved_round``.

The graphs are written, too, since another PyTorch may export others: writing them takes it, repeating them does not.
Runtimes differ in the last bits of a sum, so that what another client gets is the same within `TOLERANCE`.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from coterie_agent.store.samples import StoredRow
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.device_plan import parse_device_plan
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Float32, Tensors, decode_tensors, encode_tensors
from tests.contract.samples import SEED
from tests.coterie_agent.stepping import take_part

WRITTEN = Path(__file__).parent / "solved_round.json"
TOLERANCE = 1e-6
"""Largest difference of a cell, which is a mean over the samples of numbers below one."""
SAMPLES, GROWN_ROUNDS = 50, 4
"""Of the trees the first round moves edges, and the next grow levels: the second tree is under way then."""
PLAN: Mapping[str, object] = {
    "local": {"kind": "second_order"},
    "codec": {"kind": "float32"},
    "privacy": {"kind": "none"},
    "requirements": {},
    "help": {"kind": "none"},
}


class Rows:
    """Samples numbered from 1, as the store numbers them."""

    def __init__(self, x: Float32, y: Sequence[int]) -> None:
        self._x, self._y = x, y

    def load(self, ids: Sequence[int]) -> Sequence[StoredRow]:
        return [StoredRow(number, self._x[number - 1].tobytes(), self._y[number - 1], b"") for number in ids]


# Any: the written JSON, of which a few fields are read.
def update_of(written: Mapping[str, Any]) -> Mapping[str, object]:
    """What the agent sends of the round that is written."""
    spec = msgspec.convert(written["model"], ModelSpec)
    received = decode_tensors(b64decode(written["received"]), expected=spec.parameters)
    client = ClientRound(
        Given(
            plan=parse_device_plan(json.dumps(PLAN).encode()),
            model=spec,
            received={name: np.asarray(tensor, np.float32) for name, tensor in received.items()},
            ids=range(1, len(written["y"]) + 1),
            seen=(0, 1),
            seed=SEED,
            secret=0,
            states={},
        ),
        open_steps(train_graph(b64decode(written["train_step"]), spec, threads=1), frozen_tensors={}),
    )
    result = take_part(client, Rows(np.array(written["x"], np.float32), written["y"]))
    return {"update": _text(result.update.payload), "samples": result.samples, "steps": client.training.steps_done}


def solved_rounds() -> Mapping[str, object]:
    """The inputs of a round for each model, and what the agent makes of them."""
    # Only now: they take PyTorch.
    from tests.coterie.recipes.solving import drawn, learner, linear, plan_for, trees, versions

    data, newton = drawn(3, SAMPLES), plan_for({"kind": "newton"})
    growing = plan_for({"kind": "boosted_trees", "edge_rounds": 1})
    written: list[Mapping[str, object]] = []
    for name, model, plan, rounds in (
        ("boosted trees", trees(), growing, GROWN_ROUNDS),
        ("logistic regression", linear(2), newton, 1),
    ):
        first = learner(model, plan)
        received: Tensors = versions(first, plan, [data], rounds=rounds)[-1]
        one: dict[str, object] = {
            "name": name,
            "model": msgspec.to_builtins(first.graphs.spec),
            "train_step": _text(first.graphs.train_step),
            "received": _text(encode_tensors(dict(received))),
            "x": np.asarray(data.inputs["x"]).tolist(),
            "y": data.labels.tolist(),
        }
        written.append(one | update_of(one))
    return {"plan": PLAN, "seed": SEED, "tolerance": TOLERANCE, "rounds": written}


def _text(content: bytes) -> str:
    return b64encode(content).decode()


if __name__ == "__main__":
    WRITTEN.write_text(json.dumps(solved_rounds(), indent=1) + "\n", encoding="utf-8")
