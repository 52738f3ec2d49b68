"""A round of the agent on its own runtime, for other clients to repeat: ``python -m tests.contract.client_round``.

Runtimes differ in the last bits of a train step, so that what another client gets is the same within `TOLERANCE`.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import make_batch
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.personal import GivenPersonal, choose, personal_training
from coterie_learning.client.round import ClientRound, Given
from coterie_learning.client.training import Learn
from coterie_learning.device_plan import parse_device_plan
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import SPEC, parameters, predict_graph, samples, train_step_graph
from tests.coterie_agent.stepping import take_part

WRITTEN = Path(__file__).parent / "client_round.json"
TOLERANCE = 1e-5
"""Largest difference of a parameter or a loss."""
SAMPLES, SEED = 42, 2**44 + 5
_REST = {"privacy": {"kind": "none"}, "requirements": {}, "help": {"kind": "none"}, "codec": {"kind": "float32"}}
PLANS: Mapping[str, Mapping[str, object]] = {
    "sgd": {**_REST, "local": {"kind": "sgd", "epochs": 3, "learning_rate": 0.2, "momentum": 0.5}},
    "prox": {**_REST, "local": {"kind": "prox", "epochs": 2, "learning_rate": 0.5, "mu": 1.0}},
}


PERSONAL: Mapping[str, object] = {
    **_REST,
    "local": {"kind": "sgd", "learning_rate": 0.2, "momentum": 0.5},
    "personal": {"kind": "fine_tuned", "epochs": 12, "learning_rate": 1.0, "patience": 2},
}


class Rows:
    """Samples numbered from 1, as the store numbers them."""

    def __init__(self) -> None:
        self.x, self.y = samples(SAMPLES, seed=3)

    def load(self, ids: Sequence[int]) -> Sequence[StoredRow]:
        return [StoredRow(number, self.x[number - 1].tobytes(), int(self.y[number - 1]), b"") for number in ids]


def client_round() -> Mapping[str, object]:
    """The inputs of the rounds, and what the agent makes of them."""
    rows, received, ids = Rows(), parameters(seed=1), tuple(range(1, SAMPLES + 1))
    predictor = Predictor(predict_graph(), SPEC, received, {}, threads=1)
    before = predictor.measure(rows, loss_of=ids, accuracy_of=ids, stop=lambda: False)
    assert before is not None
    return {
        "model": msgspec.to_builtins(SPEC),
        "train_step": _text(train_step_graph()),
        "predict": _text(predict_graph()),
        "received": _text(encode_tensors(received)),
        "x": [row.reshape(-1).tolist() for row in rows.x],
        "y": rows.y.tolist(),
        "seed": SEED,
        "loss_before": before.loss,
        "accuracy_before": before.accuracy,
        "tolerance": TOLERANCE,
        "rounds": [{"name": name, "plan": plan, **_round(plan, rows)} for name, plan in PLANS.items()],
        "personal": {"plan": PERSONAL, **_personal(rows)},
    }


def _round(plan: Mapping[str, object], rows: Rows) -> Mapping[str, object]:
    client = ClientRound(
        Given(
            plan=parse_device_plan(json.dumps(plan).encode()),
            model=SPEC,
            received=parameters(seed=1),
            ids=range(1, SAMPLES + 1),
            seen=(0, 1, 2),
            seed=SEED,
            secret=0,
            states={},
        ),
        open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={}),
    )
    result = take_part(client, rows)
    return {
        "update": _text(result.update.payload),
        "samples": result.samples,
        "steps": client.training.steps_done,
        "largest_change": max(
            float(np.abs(client.training.trained()[name] - tensor).max()) for name, tensor in parameters(seed=1).items()
        ),
    }


def _personal(rows: Rows) -> Mapping[str, object]:
    """The training of a personal model, and which model answers by the samples held out."""
    plan = parse_device_plan(json.dumps(PERSONAL).encode())
    rules = plan.personal.rules(plan.local)
    assert rules is not None
    received = parameters(seed=1)
    given = GivenPersonal(
        rules=rules, model=SPEC, received=received, personal=None, ids=range(1, SAMPLES + 1), seed=SEED
    )
    training = personal_training(given, open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={}))
    predictor = Predictor(predict_graph(), SPEC, received, {}, threads=1)
    losses = []
    while (wanted := training.wanted()) is not None:
        if isinstance(wanted, Learn):
            training.learn(make_batch(rows.load(wanted.ids), SPEC, size=SPEC.batch_size))
            continue
        predictor.set_parameters(wanted.parameters)
        found = predictor.measure(rows, loss_of=wanted.ids, accuracy_of=(), stop=lambda: False)
        assert found is not None
        losses.append(found.loss)
        training.judged(wanted, found.loss)
    held_out, trained = training.parts.held_out, training.trained()
    figures = []
    for version in (received, trained):
        predictor.set_parameters(version)
        each = predictor.each(rows, held_out, stop=lambda: False)
        assert each is not None
        figures.append(each)
    return {
        "losses": losses,
        "steps": training.steps_done,
        "trained": _text(encode_tensors(dict(trained))),
        "held_out": list(held_out),
        "answers": choose(*figures, None).answers,
    }


def _text(content: bytes) -> str:
    return b64encode(content).decode()


if __name__ == "__main__":
    WRITTEN.write_text(json.dumps(client_round(), indent=1) + "\n", encoding="utf-8")
