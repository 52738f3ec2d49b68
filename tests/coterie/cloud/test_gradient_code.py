"""Codes decode the exact gradient from any replies that they promise to, and tell where they cannot."""

from itertools import combinations

import msgspec
import numpy as np
import pytest

from coterie.cloud.gradient_code import GradientCode, cyclic_code, plain_code, repetition_code
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.strategy.coded import Coded
from coterie_wire.errors import WireError

CODES = [
    *(pytest.param(plain_code(n), 0, id=f"plain {n}") for n in (1, 4)),
    *(pytest.param(repetition_code(n, s), s, id=f"repetition {n} {s}") for n, s in ((4, 1), (6, 1), (6, 2), (8, 1))),
    *(
        pytest.param(cyclic_code(n, s, seed=7), s, id=f"cyclic {n} {s}")
        for n, s in ((2, 1), (4, 1), (5, 2), (7, 2), (8, 2), (10, 4), (12, 3))
    ),
]


def decoded(code: GradientCode, gradients: np.ndarray, replied: tuple[int, ...]) -> np.ndarray | None:
    factors = code.decode(replied)
    if factors is None:
        return None
    sent = {worker: sum(factor * gradients[share] for share, factor in code.shares_of(worker)) for worker in replied}
    return sum(factor * sent[worker] for worker, factor in factors.items())


@pytest.mark.parametrize(("code", "stragglers"), CODES)
def test_any_workers_but_the_stragglers_give_the_exact_gradient(code: GradientCode, stragglers: int) -> None:
    workers = len(code.matrix)
    gradients = np.random.default_rng(1).normal(size=(workers, 50))
    whole = gradients.sum(axis=0)
    for replied in combinations(range(workers), workers - stragglers):
        found = decoded(code, gradients, replied)
        assert found is not None
        assert np.linalg.norm(found - whole) <= 1e-8 * np.linalg.norm(whole)


@pytest.mark.parametrize(("code", "stragglers"), CODES)
def test_each_worker_computes_one_share_more_for_each_straggler(code: GradientCode, stragglers: int) -> None:
    assert {len(code.shares_of(worker)) for worker in range(len(code.matrix))} == {stragglers + 1}


def test_too_few_replies_tell_nothing() -> None:
    assert plain_code(3).decode([0, 2]) is None
    assert repetition_code(4, 1).decode([0, 1]) is None, "both are of the same group"
    assert cyclic_code(5, 2, seed=0).decode([0, 3]) is None


def test_repetition_is_done_as_soon_as_each_group_has_replied() -> None:
    assert repetition_code(6, 2).decode([1, 5]) == {1: 1.0, 5: 1.0}
    assert repetition_code(4, 1).decode([0, 1, 2, 3]) == {0: 1.0, 2: 1.0}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"kind": "coded", "workers": 4, "stragglers": 4}, "fewer stragglers"),
        ({"kind": "coded", "workers": 5, "stragglers": 1}, "cyclic"),
        ({"kind": "coded", "workers": 65}, "64"),
        ({"kind": "data_parallel", "hook": "bf16"}, "bf16"),
        ({"kind": "local_sgd", "wrokers": 3}, "workers"),
        ({"kind": "lokal_sgd"}, "local_sgd"),
        ("local_sgd", "knows"),
    ],
)
def test_what_makes_no_strategy_is_refused_with_advice(raw: object, says: str) -> None:
    with pytest.raises(WireError, match=says) as caught:
        parse_strategy(raw)
    assert caught.value.code == "strategy.invalid"


def test_a_code_is_drawn_from_its_seed() -> None:
    strategy = Coded(workers=5, stragglers=2, code="cyclic")
    one, same, other = (strategy.gradient_code(seed).matrix for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert msgspec.to_builtins(strategy)["kind"] == "coded"
