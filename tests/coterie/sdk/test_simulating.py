import io
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import nn

from coterie.sdk.errors import InvalidPlan, Rejected
from coterie.sdk.plans import plan
from coterie.sdk.platform import Platform
from coterie.sdk.rest import Rest
from coterie.sdk.simulating import propose_plans, simulate, simulate_fleet, sweep

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
    found = simulate(*given, progress=False)
    outcome = found.outcome
    assert len(outcome.devices) == 3
    assert {round_.outcome for round_ in outcome.rounds} >= {"merged"}
    assert [row["accuracy"] for row in found.batches.rows] == list(outcome.accuracy_by_tick)
    assert found.batches.rows[0]["simulated_s"] == outcome.tick_s
    assert is_drawn(found.plot())
    assert simulate(*given, progress=False) == found, "the same arguments, the same outcome"


def test_a_preset_runs_by_its_name() -> None:
    outcome = simulate("isolated", module(), EXAMPLE, samples(2, 32), devices=1, progress=False).outcome
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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": np.zeros(192)}, "data.npz cannot be used: it has no array y of whole numbers.*: it is float64"),
        ({"y": np.full(192, 3)}, "go from 3 to 3, those of the model from 0 to 2"),
        ({"user": np.array(["ann"] * 192)}, "user holds texts"),
        ({"x": [[1.0], [2.0, 3.0]] * 96}, "x is a list of lists that differ in length"),
        ({"when": np.array([None] * 192)}, "when holds values of type object"),
    ],
    ids=["targets", "classes", "texts", "ragged", "objects"],
)
def test_samples_that_cannot_be_used_are_told_by_their_name(given: dict[str, object], words: str) -> None:
    with pytest.raises(Rejected, match=words) as caught:
        simulate("isolated", module(), EXAMPLE, {**samples(), **given}, progress=False)
    assert "/" not in caught.value.sentence, "no file that the user does not know"


def test_no_device_is_not_all_of_them() -> None:
    with pytest.raises(Rejected, match="samples of 3 users, 0 devices are asked for"):
        simulate("isolated", module(), EXAMPLE, samples(), devices=0, progress=False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"devices": 0}, "devices is 0, and 1 at least"),
        ({"days": 0.0}, "days is 0, and 0.01 at least"),
        ({"evaluate_every": 0}, "evaluate_every is 0"),
        ({"held_out_share": 1.0}, "held_out_share is 1, and a share between 0 and 1"),
        ({"executor": "fast"}, "no executor 'fast'; there is auto, exact, batched"),
        ({"on": "there"}, "'there' performs no runs"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_numbers_and_names_that_no_fleet_has_are_told(given: dict[str, Any], words: str) -> None:
    with pytest.raises(Rejected, match=words):
        simulate_fleet(
            "fedavg", module(), EXAMPLE, samples(), **{"split": "iid", "devices": 3, "progress": False, **given}
        )


@pytest.mark.parametrize(
    ("tries", "given", "words"),
    [
        ({"local.epochs": 1}, {}, "1 is to be tried, which is no list of values"),
        ({"codec.kind": "int8"}, {}, "'int8' is to be tried"),
        ({"local.epochs": []}, {}, "no value to try of local.epochs"),
        ({"local.epochs": [1]}, {"seeds": 0}, "0 seeds"),
    ],
    ids=["number", "text", "none", "seeds"],
)
def test_what_no_sweep_tries_is_told(tries: dict[str, Any], given: dict[str, Any], words: str) -> None:
    with pytest.raises(Rejected, match=words):
        sweep("fedavg", module(), EXAMPLE, samples(), tries, split="iid", devices=3, progress=False, **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"network": "5g"}, "no network '5g'; there is wifi, lte, 3g"),
        ({"bytes_per_device": -3}, "bytes_per_device is -3, and has to be above 0"),
        ({"seeds": 0}, "0 seeds"),
    ],
    ids=["network", "bytes", "seeds"],
)
def test_goals_that_no_plan_reaches_are_told(given: dict[str, Any], words: str) -> None:
    few = {"split": "iid", "devices": 3, "accuracy": 0.5, "within_s": 60, "tries": {"local.epochs": [1]}}
    with pytest.raises(Rejected, match=words):
        propose_plans("fedavg", module(), EXAMPLE, samples(), progress=False, **few, **given)


def test_a_fleet_holds_rounds_and_gives_a_table() -> None:
    few = plan("fedavg", pace={"target_updates": 4, "min_updates": 2, "pause_s": 1.0})
    data = {name: values for name, values in samples().items() if name != "user"}
    given = (few, module(), EXAMPLE, data)
    found = simulate_fleet(*given, split="dirichlet:1", devices=9, rounds=3, progress=False)
    assert found.rounds.column("number") == [1, 2, 3]
    assert found.rounds.column("accuracy")[-1] == found.outcome.rounds[-1].accuracy
    (figures,) = found.figures
    assert figures["device_accuracy_worst_decile"] == found.outcome.device_accuracy.worst_decile
    assert figures["joules_per_device"] == found.outcome.joules_per_device
    again = simulate_fleet(*given, split="dirichlet:1", devices=9, rounds=3, progress=False)
    assert again.outcome.json() == found.outcome.json()
    with pytest.raises(Rejected, match="no split 'users'"):
        simulate_fleet(*given, split="users", progress=False)


def test_a_fleet_too_small_for_a_round_says_so_in_its_table() -> None:
    many = plan("fedavg", pace={"target_updates": 40, "min_updates": 30})
    found = simulate_fleet(
        many, module(), EXAMPLE, without_users(), split="iid", devices=9, rounds=3, days=1, progress=False
    )
    assert str(found.rounds) == ("no round could open: it needs 30 devices with samples that are ready at once, of 9")


class Table(nn.Module):
    """Numbers beside categories, as rows of a table have them, with batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3, 2)
        self.norm = nn.BatchNorm1d(6)
        self.head = nn.Linear(6, 3)

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.norm(torch.cat([numbers, self.embedding(categories[:, 0])], 1)))
        return logits


def test_inputs_of_several_dtypes_and_batch_normalisation_are_simulated_by_split() -> None:
    numbers = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    categories = np.arange(200)[:, None] % 3
    found = simulate_fleet(
        FEW,
        Table(),
        (torch.zeros(2, 4), torch.zeros(2, 1, dtype=torch.int64)),
        {"numbers": numbers, "categories": categories, "y": categories[:, 0]},
        split="iid",
        devices=9,
        rounds=8,
        batch_size=4,
        held_out_share=0.5,
        evaluate_every=3,
        progress=False,
    )
    assert found.outcome.accuracy > 0.9
    assert found.outcome.held_out == 100
    assert [accuracy is not None for accuracy in found.rounds.column("accuracy")] == [
        number % 3 == 0 or number == 8 for number in range(1, 9)
    ]


FEW = plan("fedavg", pace={"target_updates": 4, "min_updates": 2, "pause_s": 1.0})
RATES = {"local.learning_rate": [0.0001, 0.3]}


def without_users() -> dict[str, object]:
    return {name: values for name, values in samples().items() if name != "user"}


def is_drawn(figure: Figure) -> bool:
    """Whether something is, whatever it shows."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=20)
    return out.getvalue().startswith(b"\x89PNG") and all(axes.has_data() for axes in figure.axes)


def test_a_fleets_rounds_are_drawn() -> None:
    found = simulate_fleet(FEW, module(), EXAMPLE, without_users(), split="iid", devices=9, rounds=2, progress=False)
    assert is_drawn(found.plot())


@pytest.mark.long
def test_a_sweep_gives_a_table_and_a_plot() -> None:
    given = (FEW, module(), EXAMPLE, without_users(), {"local.learning_rate": np.array([0.0001, 0.3])})
    found = sweep(*given, split="iid", devices=9, rounds=4, seeds=1, progress=False)
    assert found.tried.column("local.learning_rate") == [0.3, 0.0001]
    assert found.tried.column("joules_per_device") == [one.joules_per_device for one in found.outcome.tried]
    assert found.outcome.winner == {"local.learning_rate": 0.3}
    assert is_drawn(found.plot())
    with pytest.raises(Rejected, match="nothing at locl"):
        sweep(*given[:-1], {"locl.rate": [1]}, split="iid", devices=9, progress=False)


@pytest.mark.long
def test_plans_are_proposed_with_their_reasons_and_drawn() -> None:
    found = propose_plans(
        FEW,
        module(),
        EXAMPLE,
        without_users(),
        accuracy=0.6,
        within_s=3600,
        bytes_per_device=1e9,
        tries=RATES,
        split="iid",
        devices=9,
        rounds=12,
        seeds=1,
        progress=False,
    )
    rows = found.proposals.rows
    assert [row["reason"] for row in rows] == [one.reason for one in found.outcome.proposals]
    assert {row["local.learning_rate"] for row in rows} == {None, 0.0001, 0.3}, "the plan as it is has no other value"
    assert {row["privacy"] for row in rows} == {"none"}
    assert any(row["reaches_goal"] for row in rows) and is_drawn(found.plot())


def test_a_platforms_workers_may_perform_a_simulation() -> None:
    """As it is asked; `tests/system` has the workers."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(403, json={"code": "acting.scope_needed", "detail": "the token may not"})

    there = Platform(Rest("http://there", "secret", transport=httpx.MockTransport(answer)))
    with pytest.raises(Rejected, match="the token may not"):
        simulate_fleet(FEW, module(), EXAMPLE, without_users(), split="iid", devices=9, on=there, progress=False)
    assert asked == ["/api/simulated-fleets/"]
    there.close()


def test_devices_help_each_other_while_samples_come() -> None:
    helped = plan("cartel", help={"detector": {"kind": "window"}})
    given = (helped, module(), EXAMPLE, samples(4, 512))
    found = simulate_fleet(*given, split="iid", devices=8, drift="introduced:0.9", batch_size=8, days=2, progress=False)
    assert found.outcome.drift == {"kind": "introduced", "share": 0.9} and found.outcome.recoveries
    assert found.outcome.help and "metadata" in found.outcome.bytes_by_kind
    assert str(found.rounds) == "no round: pace alone holds none"
    with pytest.raises(Rejected, match="--drift steady"):
        simulate_fleet(*given, split="iid", devices=8, progress=False)
    with pytest.raises(Rejected, match="no data drift 'sudden'"):
        simulate_fleet(*given, split="iid", devices=8, drift="sudden", progress=False)


def test_sweeps_and_proposals_take_samples_that_come_over_time() -> None:
    alone = plan("isolated")
    given = (alone, module(), EXAMPLE, samples(4, 256))
    coming = {"split": "iid", "devices": 4, "drift": "steady", "batch_size": 8, "progress": False}
    swept = sweep(*given, {"local.learning_rate": [0.0001, 0.3]}, seeds=1, days=1, **coming)
    assert swept.outcome.winner == {"local.learning_rate": 0.3}
    found = propose_plans(
        *given, accuracy=0.5, within_s=86_400, tries={"local.learning_rate": [0.3]}, seeds=1, rounds=1, **coming
    )
    best = found.proposals.rows[0]
    assert best["reaches_goal"] and best["local.learning_rate"] == 0.3
    with pytest.raises(Rejected, match="no data drift 'sudden'"):
        sweep(*given, {"local.learning_rate": [0.3]}, seeds=1, **{**coming, "drift": "sudden"})


def test_a_cloud_model_of_ones_own_teaches_and_learns() -> None:
    torch.manual_seed(1)
    cloud = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
    beside = {name: array for name, array in samples(1, 48).items() if name != "user"}
    few = plan("colla", pace={"target_updates": 6, "min_updates": 6, "pause_s": 432_000.0}, local={"period_days": 5})
    given = {"split": "iid", "devices": 8, "each": 96, "drift": "steady", "days": 15, "progress": False}
    found = simulate_fleet(few, module(), EXAMPLE, samples(), cloud=cloud, cloud_data=beside, **given)
    assert {one.outcome for one in found.outcome.rounds} == {"merged"} and found.outcome.splits
    assert found.outcome.bytes_by_kind["teachers"] > 0
    with pytest.raises(Rejected, match="no cloud model"):
        simulate_fleet(few, module(), EXAMPLE, samples(), **given)
    with pytest.raises(Rejected, match="go together"):
        simulate_fleet(few, module(), EXAMPLE, samples(), cloud=cloud, **given)
