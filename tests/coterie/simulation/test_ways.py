"""The four ways, on a scenario that takes moments: the same model where they are the same, and where each loses."""

from typing import Any

import numpy as np
import pytest

from coterie.evaluation.datasets import Dataset
from coterie.simulation.baselines.centralised import Centralised
from coterie.simulation.baselines.distributed import Distributed
from coterie.simulation.bodies import compile_body
from coterie.simulation.costs import RADIOS, UP, Costs, cost_of
from coterie.simulation.distributed_baseline import DistributedBaseline
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import Task
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.ledger import Ledger, Used
from coterie.simulation.on_device import Graphs
from coterie.simulation.progress import SimulationProgress, unreported
from coterie.simulation.scenario import Speed, parse_scenario
from coterie.simulation.ways import USUAL, ComparisonOptions, Way, WaysOutcome, compare_ways, way_rows
from coterie_learning.device_plan import LOCAL
from coterie_learning.plan import parse_plan
from coterie_wire.bundle import TensorSpec
from tests.coterie.simulation.small import ROUNDS, SCENARIO, run, scenario

ROUNDS_OFTEN = {"pace": ROUNDS, "local": {"kind": "sgd", "learning_rate": 0.1}, "requirements": {"charging": False}}


def ways(costs: Costs = USUAL, **changes: Any) -> WaysOutcome:
    chosen = scenario(**changes)
    return compare_ways(
        ComparisonOptions(parse_plan(ROUNDS_OFTEN), chosen.devices, costs=costs), chosen, report=unreported
    )


def by_name(outcome: WaysOutcome) -> dict[str, Way]:
    return {way.name: way for way in outcome.ways}


def learner(batch_size: int) -> NeuralLearner:
    task = Task((TensorSpec("x", "float32", (1, 8, 8)),), 4)
    compiled = compile_body(task, body="mlp", hidden=8, batch_size=batch_size, seed=0)
    graphs = Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict)
    local = LOCAL.parse({"kind": "sgd", "learning_rate": 0.1})
    return NeuralLearner(graphs, local, compiled.parameters, compiled.parameters, compiled.parameters)


def digits(count: int) -> Dataset:
    rng = np.random.default_rng(0)
    return Dataset({"x": rng.normal(size=(count, 1, 8, 8)).astype(np.float32)}, rng.integers(0, 4, count))


@pytest.mark.parametrize("target", [0.0, 3.0])
def test_a_target_that_is_no_accuracy_is_refused(target: float) -> None:
    asked = ComparisonOptions(parse_plan(ROUNDS_OFTEN), scenario().devices, target=target)
    with pytest.raises(DoesNotFit, match="at most 1"):
        compare_ways(asked, scenario(), report=unreported)


def test_a_plan_that_does_not_fit_is_refused_before_the_baselines_run() -> None:
    told: list[SimulationProgress] = []
    plan = parse_plan({**ROUNDS_OFTEN, "merge": {"kind": "trusted_root"}})
    asked = ComparisonOptions(plan, scenario().devices)
    with pytest.raises(DoesNotFit, match="merge trusted_root"):
        compare_ways(asked, scenario(), report=told.append)
    assert told[-1].share < 0.5, "the collaborative way alone has run"


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_servers_together_are_one_server(servers: int) -> None:
    """Gradients of shares, averaged, are the gradient of the batch: the same model to 1e-5."""
    data, ledger = digits(20), Ledger()
    one = learner(20).learn(data, seed=0)
    together = DistributedBaseline(Distributed(servers=servers), ledger)(learner(20 // servers), data, 0)
    assert isinstance(together, NeuralLearner)
    for name, tensor in one.parameters.items():
        np.testing.assert_allclose(together.parameters[name], tensor, rtol=0, atol=1e-5)
    exchanged = 2 * (servers - 1) * one.size_bytes
    assert ledger.used().bytes_by_kind == ({} if servers == 1 else {"gradients": exchanged})


def test_a_longer_period_exchanges_less() -> None:
    sent = []
    for period in (1, 4):
        ledger = Ledger()
        DistributedBaseline(Distributed(servers=2, period=period), ledger)(learner(5), digits(40), 0)
        sent.append(ledger.used().bytes_by_kind["gradients"])
    assert sent[0] == 4 * sent[1]
    assert Distributed(exchange="parameter_server", servers=3).models_sent() == 6


@pytest.mark.long
def test_the_same_arguments_give_the_same_bytes() -> None:
    assert ways().json() == ways().json()


@pytest.mark.long
def test_offloading_exposes_all_answers_nothing_offline_and_wins_energy_with_small_samples() -> None:
    """Where it loses: samples that left. Where it wins: few small samples, against rounds with a model each."""
    found = by_name(ways())
    samples = 4 * 8 * 10
    assert {name for name, way in found.items() if way.exposed_samples} == {"offloading", "distributed"}
    assert found["offloading"].exposed_samples == samples
    assert [name for name, way in found.items() if not way.answers_offline] == ["offloading"]
    assert found["offloading"].cost.device_joules < found["federated"].cost.device_joules
    assert found["offloading"].cost.server_joules > 0


@pytest.mark.long
def test_offloading_sends_most_once_samples_are_many() -> None:
    stream = {**SCENARIO["stream"], "batch_size": 400, "batches": 4, "arrives_at": 2}  # type: ignore[dict-item]
    found = by_name(ways(stream=stream))
    up = {name: way.cost.up_bytes for name, way in found.items()}
    assert up["offloading"] == up["distributed"] > 3 * up["federated"] > 3 * up["collaborative"]


def test_distributed_training_loses_where_one_server_is_enough() -> None:
    found = by_name(ways())
    assert found["distributed"].cost.server_bytes > 0 == found["offloading"].cost.server_bytes
    assert found["distributed"].cost.down_bytes > found["offloading"].cost.down_bytes


@pytest.mark.long
def test_rounds_lose_where_devices_have_other_classes_and_help_where_all_have_the_same() -> None:
    speed, stream = {"sample_s": 0.002}, {"kind": "digits", "batches": 30, "batch_size": 10, "batch_s": 60}
    unlike = {**stream, "profiles": [{"classes": [0]}, {"classes": [1]}]}
    alike = {**stream, "profiles": [{"classes": [0, 1, 2, 3, 4, 5, 6, 7]}]}
    learns = {"kind": "neural", "hidden": 16, "batch_size": 10}
    apart, same = (by_name(ways(stream=one, speed=speed, learner=learns)) for one in (unlike, alike))
    assert apart["federated"].accuracy.mean < apart["collaborative"].accuracy.mean
    assert same["collaborative"].accuracy.mean < same["federated"].accuracy.mean
    assert same["collaborative"].reaches_target_s is None or (
        same["collaborative"].reaches_target_s >= (same["federated"].reaches_target_s or 0)
    )


def test_without_answers_from_the_cloud_models_are_sent_and_accuracy_is_the_same() -> None:
    sent, asked = (run(Centralised(learning_rate=0.1, answers=where)) for where in ("device", "cloud"))
    assert sent.accuracy == asked.accuracy
    assert set(sent.bytes_by_kind) == {"raw", "versions"}
    assert set(asked.bytes_by_kind) == {"raw", "answers"}
    assert asked.messages_by_kind["answers"] == asked.messages_by_kind["raw"] == 4 * 8


def test_a_plan_without_rounds_is_no_federated_way() -> None:
    chosen = parse_scenario(SCENARIO, path="small.toml")
    with pytest.raises(DoesNotFit, match="holds rounds"):
        compare_ways(ComparisonOptions(parse_plan({"pace": {"kind": "alone"}}), 2), chosen, report=unreported)


def test_the_energy_of_a_megabyte_is_the_published_one() -> None:
    """Huang et al. 2012, Table 4: 2.4 J over Wi-Fi at 10 Mbit/s; 5.6 J over LTE at 5 Mbit/s, and 12 J for its tail."""
    used = Used({"updates": 1_000_000}, {"updates": 1})
    bare = {"framing": 0.0, "message_bytes": 0.0}
    wifi = cost_of(used, Speed(uplink_bytes_s=1_250_000), Costs(network="wifi", **bare))
    lte = cost_of(used, Speed(uplink_bytes_s=625_000), Costs(network="lte", **bare))
    assert wifi.device_joules == pytest.approx(2.37, abs=0.01)
    tail = RADIOS["lte"].tail_s * RADIOS["lte"].tail_mw / 1000
    assert tail == pytest.approx(12.3, abs=0.05)
    assert lte.device_joules - tail == pytest.approx(5.6, abs=0.05)


def test_many_small_messages_cost_more_than_one_large_on_lte_and_not_on_wifi() -> None:
    def joules(messages: int, size: int, costs: Costs) -> float:
        return cost_of(Used({"updates": size}, {"updates": messages}), Speed(), costs).device_joules

    assert joules(50, 100_000, Costs(network="lte")) > joules(1, 1_000_000, Costs(network="lte"))
    assert joules(50, 100_000, Costs()) < joules(1, 1_000_000, Costs())


def test_costs_add_up_to_what_was_counted() -> None:
    outcome = run(parse_plan(ROUNDS_OFTEN))
    used = Used(outcome.bytes_by_kind, outcome.messages_by_kind, outcome.trained_s)
    cost = cost_of(used, Speed(), Costs(framing=0.0, message_bytes=0.0))
    assert cost.up_bytes + cost.down_bytes + cost.server_bytes == sum(outcome.bytes_by_kind.values())
    assert cost.messages == sum(outcome.messages_by_kind.values())
    assert outcome.trained_s > 0
    assert set(outcome.bytes_by_kind) <= UP.keys()


def test_a_row_a_way() -> None:
    rows = way_rows(ways())
    assert [row["way"] for row in rows] == ["offloading", "distributed", "federated", "collaborative"]
