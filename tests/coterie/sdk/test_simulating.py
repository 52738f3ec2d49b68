import numpy as np
import pytest
import torch
from torch import nn

from coterie.sdk.errors import InvalidPlan, Rejected
from coterie.sdk.plans import plan
from coterie.sdk.simulating import simulate, simulate_fleet

EXAMPLE = torch.zeros(2, 4)


def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def samples(users: int = 3, each: int = 64) -> dict[str, object]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(users * each, 4)).astype(np.float32)
    return {"x": x, "y": np.digitize(x[:, 0], [-0.5, 0.5]), "user": np.repeat(np.arange(users), each)}


def test_a_plan_runs_on_ones_own_module_and_samples() -> None:
    few = plan("fedavg", pace={"target_updates": 2, "min_updates": 2, "pause_s": 1.0, "over_selection": 1.0})
    given = (few, module(), EXAMPLE, samples())
    outcome = simulate(*given, progress=False)
    assert len(outcome.devices) == 3
    assert {round_.outcome for round_ in outcome.rounds} >= {"merged"}
    assert simulate(*given, progress=False) == outcome, "the same arguments, the same outcome"


def test_a_preset_runs_by_its_name() -> None:
    outcome = simulate("isolated", module(), EXAMPLE, samples(2, 32), devices=1, progress=False)
    assert (len(outcome.devices), outcome.rounds) == (1, ())


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(Rejected) as caught:
        simulate("isolated", module(), EXAMPLE, {**samples(), "x": np.zeros((192, 5), np.float32)}, progress=False)
    assert caught.value.code.startswith("simulation.")
    with pytest.raises(Rejected, match="user"):
        simulate(
            "isolated",
            module(),
            EXAMPLE,
            {"x": np.zeros((4, 4), np.float32), "y": np.zeros(4, np.int64)},
            progress=False,
        )
    with pytest.raises(InvalidPlan, match="isolated"):
        simulate("isolatd", module(), EXAMPLE, samples(), progress=False)


def test_a_fleet_holds_rounds_and_gives_a_table() -> None:
    few = plan("fedavg", pace={"target_updates": 4, "min_updates": 2, "pause_s": 1.0})
    data = {name: values for name, values in samples().items() if name != "user"}
    given = (few, module(), EXAMPLE, data)
    found = simulate_fleet(*given, split="dirichlet:1", devices=9, rounds=3, progress=False)
    assert found.rounds.column("number") == [1, 2, 3]
    assert found.rounds.column("accuracy")[-1] == found.outcome.rounds[-1].accuracy
    again = simulate_fleet(*given, split="dirichlet:1", devices=9, rounds=3, progress=False)
    assert again.outcome.json() == found.outcome.json()
    with pytest.raises(Rejected, match="no split 'users'"):
        simulate_fleet(*given, split="users", progress=False)
