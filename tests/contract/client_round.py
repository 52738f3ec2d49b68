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
from coterie_learning.client.teacher_probabilities import stored_probabilities, teacher_targets
from coterie_learning.client.training import Learn
from coterie_learning.client.update import LOCAL
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.device_state import States
from coterie_learning.teacher import quantise_weights, restore_weights
from coterie_wire.tensors import Tensors, encode_tensors
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
    "per_fedavg": {**_REST, "local": {"kind": "per_fedavg"}},
    "per_fedavg, longer steps": {
        **_REST,
        "local": {"kind": "per_fedavg", "steps": 6, "alpha": 0.25, "beta": 0.1, "delta": 0.01},
    },
    "per_fedavg, first order": {**_REST, "local": {"kind": "per_fedavg", "steps": 9, "hessian": "none"}},
}
DISTILL: Mapping[str, object] = {
    **_REST,
    "local": {"kind": "distill", "lambda_d": 0.4, "learning_rate": 0.5, "epochs": 25, "patience": 2},
}
"""Of two rounds: the first with samples of classes 0 and 2 alone, the second with all, where the first ended."""
FIRST_SEEN = (0, 2)
SUCCESSIVE: Mapping[str, Mapping[str, object]] = {
    "scaffold": {**_REST, "local": {"kind": "scaffold", "steps": 14, "learning_rate": 0.3}},
    "fed_dyn": {**_REST, "local": {"kind": "fed_dyn", "epochs": 2, "learning_rate": 0.3, "alpha": 0.5}},
    "random_subset": {**_REST, "local": {"kind": "random_subset", "share": 0.5, "epochs": 2, "momentum": 0.5}},
    "fed_per": {**_REST, "local": {"kind": "shared_body", "epochs": 2, "learning_rate": 0.3, "personal": "bias"}},
    "fed_rep": {**_REST, "local": {"kind": "shared_body", "epochs": 1, "head_epochs": 2, "personal": "bias"}},
    "multitask": {**_REST, "local": {"kind": "multitask", "epochs": 2, "learning_rate": 0.3, "mu": 0.5}},
}
"""Of two rounds each, the second under another version, with what the device and the platform remember."""
SERVER = ("control", "direction_0", "direction_1", "direction_2")
PERSONAL: Mapping[str, object] = {
    **_REST,
    "local": {"kind": "sgd", "learning_rate": 0.2, "momentum": 0.5},
    "personal": {"kind": "fine_tuned", "epochs": 12, "learning_rate": 1.0, "patience": 2},
}
DITTO: Mapping[str, object] = {
    **_REST,
    "local": {"kind": "sgd", "learning_rate": 0.2, "momentum": 0.5},
    "personal": {"kind": "ditto", "mu": 0.5, "epochs": 12, "learning_rate": 1.0, "patience": 2},
}
"""Where the personal model has been trained before."""


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
        "distill": {"plan": DISTILL, **_distill(rows)},
        "later": _text(encode_tensors(parameters(seed=2))),
        "own": _text(encode_tensors(parameters(seed=6))),
        "server": {kind: _text(encode_tensors(dict(tensors))) for kind, tensors in _server().items()},
        "successive": [{"name": name, "plan": plan, **_successive(plan, rows)} for name, plan in SUCCESSIVE.items()],
        "personal": {"plan": PERSONAL, **_personal(rows, PERSONAL, None)},
        "ditto": {"plan": DITTO, **_personal(rows, DITTO, parameters(seed=6))},
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


def _server() -> Mapping[str, Tensors]:
    """What the platform remembers before the second of successive rounds."""
    return {
        kind: {name: tensor * np.float32(0.125) for name, tensor in parameters(seed=7 + number).items()}
        for number, kind in enumerate(SERVER)
    }


def _successive(plan: Mapping[str, object], rows: Rows) -> Mapping[str, object]:
    """Two rounds, the second of which begins with what the first has left on the device."""
    parsed = parse_device_plan(json.dumps(plan).encode())
    open_graph = open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={})
    made: list[Mapping[str, object]] = []
    states: States = {}
    personal: Tensors | None = None
    for number, seed in enumerate((1, 2)):
        client = ClientRound(
            Given(
                plan=parsed,
                model=SPEC,
                received=parameters(seed=seed),
                ids=range(1, SAMPLES + 1),
                seen=(0, 1, 2),
                seed=SEED + number,
                secret=0,
                states=states,
                personal=personal,
                server=_server() if number else {},
                round=number + 1,
            ),
            open_graph,
        )
        result = take_part(client, rows)
        trained = client.training.trained()
        states = result.update.states
        personal = trained if parsed.local.trains_personal_model() else None
        made.append(
            {
                "update": _text(result.update.payload),
                "samples": result.samples,
                "steps": client.training.steps_done,
                "trained": _text(encode_tensors(dict(trained))),
                "remembered": _text(encode_tensors(dict(states[LOCAL].tensors))),
            }
        )
    return {"rounds": made}


def _distill(rows: Rows) -> Mapping[str, object]:
    """What is made of the answers of a teacher whose graph is the model's own, and of its weights in a byte each."""
    weights = quantise_weights(parameters(seed=5))
    teacher = Predictor(predict_graph(), SPEC, restore_weights(weights, SPEC.parameters), {}, threads=1)
    every = range(1, SAMPLES + 1)
    answers = dict(zip(every, stored_probabilities(teacher.probabilities(rows.load(every))), strict=True))
    open_graph = open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={})
    plan = parse_device_plan(json.dumps(DISTILL).encode())
    made: list[Mapping[str, object]] = []
    personal: Tensors | None = None
    for seen in (FIRST_SEEN, (0, 1, 2)):
        ids = [number for number in every if int(rows.y[number - 1]) in seen]
        client = ClientRound(
            Given(
                plan=plan,
                model=SPEC,
                received=parameters(seed=1),
                ids=ids,
                seen=seen,
                seed=SEED,
                secret=0,
                states={},
                personal=personal,
            ),
            open_graph,
        )
        predictor = Predictor(predict_graph(), SPEC, client.begun, {}, threads=1)
        training, losses = client.training, list[float]()
        while (wanted := training.next_task()) is not None:
            if isinstance(wanted, Learn):
                batch = make_batch(rows.load(wanted.ids), SPEC, size=SPEC.batch_size)
                training.learn(batch, teacher_targets(np.stack([answers[id_] for id_ in wanted.ids]), training.classes))
                continue
            predictor.set_parameters(wanted.parameters)
            found = predictor.measure(rows, loss_of=wanted.ids, accuracy_of=(), stop=lambda: False)
            assert found is not None
            losses.append(found.loss)
            training.record_loss(wanted, found.loss)
        personal = training.trained()
        result = client.finish(personal)
        made.append(
            {
                "ids": ids,
                "seen": seen,
                "losses": losses,
                "steps": training.steps_done,
                "trained": _text(encode_tensors(dict(personal))),
                "update": _text(result.update.payload),
                "samples": result.samples,
            }
        )
    return {"weights": _text(weights), "rounds": made}


def _personal(rows: Rows, document: Mapping[str, object], own: Tensors | None) -> Mapping[str, object]:
    """The training of a personal model, and which model answers by the samples held out."""
    plan = parse_device_plan(json.dumps(document).encode())
    rules = plan.personal.rules(plan.local)
    assert rules is not None
    received = parameters(seed=1)
    given = GivenPersonal(
        rules=rules, model=SPEC, received=received, personal=own, ids=range(1, SAMPLES + 1), seed=SEED
    )
    training = personal_training(given, open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={}))
    predictor = Predictor(predict_graph(), SPEC, received, {}, threads=1)
    losses = []
    while (wanted := training.next_task()) is not None:
        if isinstance(wanted, Learn):
            training.learn(make_batch(rows.load(wanted.ids), SPEC, size=SPEC.batch_size))
            continue
        predictor.set_parameters(wanted.parameters)
        found = predictor.measure(rows, loss_of=wanted.ids, accuracy_of=(), stop=lambda: False)
        assert found is not None
        losses.append(found.loss)
        training.record_loss(wanted, found.loss)
    held_out, trained = training.parts.held_out, training.trained()
    figures = []
    for version in (received, trained):
        predictor.set_parameters(version)
        each = predictor.measure_each(rows, held_out, stop=lambda: False)
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
