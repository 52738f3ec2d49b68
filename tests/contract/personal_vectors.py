"""How a device trains a model of its own, and which model answers: examples for clients in other languages."""

import json
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from coterie_agent.peers.personal_training import seed_of
from coterie_learning.client.personal import choose, is_due, still_answers
from coterie_learning.device_plan import parse_device_plan
from coterie_learning.local import Stopping
from coterie_learning.metrics import SampleFigures
from coterie_learning.stopping import Watched, is_over, judge_epoch

_LOCAL: Mapping[str, object] = {
    "kind": "prox",
    "mu": 0.5,
    "learning_rate": 0.25,
    "momentum": 0.5,
    "weight_decay": 0.001,
}
_ADAPTED: Mapping[str, object] = {"kind": "per_fedavg", "alpha": 0.75}
_PERSONAL: Sequence[Mapping[str, object]] = (
    {"kind": "none"},
    {"kind": "fine_tuned"},
    {"kind": "fine_tuned", "epochs": 3, "steps": 7, "learning_rate": 0.5, "patience": 2, "again_share": 0.5},
    {"kind": "ditto"},
    {"kind": "ditto", "mu": 0.25, "epochs": 3, "learning_rate": 0.5, "patience": 2, "again_share": 0.5},
)
_DUE: Sequence[tuple[Sequence[int], int | None, float]] = (
    (range(1, 6), None, 0.2),
    (range(1, 41), None, 0.2),
    (range(1, 41), 40, 0.2),
    (range(1, 41), 33, 0.2),
    (range(1, 41), 32, 0.2),
    (range(100, 140), 119, 0.5),
    (range(100, 140), 120, 0.5),
)
"""Samples, the newest at the time of the latest training, and the share that must be new."""
_EPOCHS: Sequence[tuple[int, Sequence[float]]] = (
    (2, (1.0, 0.5, 0.5, 0.25, 0.5, 0.5)),
    (1, (1.0, 2.0)),
    (2, (math.nan, 1.0, math.inf, 0.5)),
)
"""Patience, and the loss that each epoch has."""
_RIGHT = (
    ((1, 0, 0, 1), (1, 1, 0, 1), None),
    ((1, 1, 0, 1), (1, 0, 0, 1), None),
    ((1, 0, 1, 0), (0, 1, 1, 0), None),
    ((1, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 1)),
    ((0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 1, 1)),
    ((0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0)),
)
"""What the version, the trained model and the personal model of before have right."""
_LOSSES = ((0.9, 0.8, 0.7, 0.6), (0.8, 0.8, 0.7, 0.5), (0.1, 0.2, 0.1, 0.2))


def personal_vectors() -> bytes:
    """As JSON; a loss that is not finite is null."""
    document = {
        "rules": [
            *(_rules(personal) for personal in _PERSONAL),
            *(_rules(personal, local=_ADAPTED) for personal in _PERSONAL[1:3]),
        ],
        "due": [
            {
                "ids": list(ids),
                "trained_up_to": up_to,
                "again_share": share,
                "due": is_due(ids, trained_up_to=up_to, again_share=share),
            }
            for ids, up_to, share in _DUE
        ],
        "seeds": [{"version": name, "newest": 17, "seed": seed_of(name, 17)} for name in ("v-7", "zwölf")],
        "stopping": [_stopping(patience, losses) for patience, losses in _EPOCHS],
        "choices": [
            _choice(right, has_right=has_right, unless_worse=unless_worse)
            for right in _RIGHT
            for has_right in (True, False)
            for unless_worse in (False, True)
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _rules(personal: Mapping[str, object], *, local: Mapping[str, object] = _LOCAL) -> Mapping[str, object]:
    rest = {"codec": {"kind": "float32"}, "privacy": {"kind": "none"}, "help": {"kind": "none"}, "requirements": {}}
    plan = {**rest, "local": local, "personal": personal}
    parsed = parse_device_plan(json.dumps(plan).encode())
    rules = parsed.personal.rules(parsed.local)
    if rules is None:
        return {"plan": plan, "rules": None}
    scalars = msgspec.to_builtins(rules.scalars)
    finite = {name: None if math.isinf(number) else number for name, number in scalars.items()}
    return {
        "plan": plan,
        "rules": {
            "epochs": rules.epochs,
            "steps": rules.steps,
            "patience": rules.patience,
            "again_share": rules.again_share,
            "starts_from": rules.starts_from,
            "scalars": finite,
        },
    }


def _stopping(patience: int, losses: Sequence[float]) -> Mapping[str, object]:
    watched, stopping, best = Watched(), Stopping(patience, 0.2), []
    over = []
    for loss in losses:
        found = judge_epoch(watched, loss, stopping)
        watched = found.watched
        best.append(found.is_best)
        over.append(is_over(watched, stopping))
    told = [loss if math.isfinite(loss) else None for loss in losses]
    return {"patience": patience, "losses": told, "best": best, "over": over}


def _choice(
    right: tuple[Sequence[int], Sequence[int], Sequence[int] | None], *, has_right: bool, unless_worse: bool
) -> Mapping[str, object]:
    """Where nothing is right or wrong, the losses decide."""
    figures = [
        None if hits is None else SampleFigures(np.array(losses), np.array(hits, np.float64) if has_right else None)
        for hits, losses in zip(right, _LOSSES, strict=True)
    ]
    version, trained, before = figures
    assert version is not None
    assert trained is not None
    chosen = choose(version, trained, before, unless_worse=unless_worse)
    told = [
        None
        if one is None
        else {"losses": one.losses.tolist(), "right": None if one.right is None else one.right.tolist()}
        for one in figures
    ]
    stays = None if before is None else still_answers(before, version)
    return {"figures": told, "unless_worse": unless_worse, "answers": chosen.answers, "stays": stays}
