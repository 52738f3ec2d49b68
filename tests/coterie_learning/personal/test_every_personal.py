"""Laws of every kind that trains a personal model beside the version, and the degenerate cases of each."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import make_batch
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.personal import GivenPersonal, parts_of, personal_training
from coterie_learning.client.training import Judge
from coterie_learning.device_plan import PERSONAL
from coterie_learning.local.per_fedavg import PerFedAvg
from coterie_learning.local.prox import Prox
from coterie_learning.local.sgd import Sgd
from coterie_learning.personal import Personal, PersonalRules
from coterie_learning.personal.ditto import Ditto
from coterie_learning.personal.fine_tuned import FineTuned
from coterie_learning.plan import parse_plan
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors, encode_tensors
from tests.coterie_agent.bundles import SPEC, parameters, samples, train_step_graph

COUNT = 40
IDS = range(1, COUNT + 1)
STEPS = open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={})
FEATURES, LABELS = samples(COUNT)
LOCAL = Sgd(epochs=1, learning_rate=0.3, momentum=0.5)
TRAINING = [name for name, kind in PERSONAL.kinds.items() if kind().rules(LOCAL) is not None]
every_kind = pytest.mark.parametrize("kind", TRAINING)


def rules_of(kind: Personal) -> PersonalRules:
    rules = kind.rules(LOCAL)
    assert rules is not None
    return rules


def rows(ids: Sequence[int]) -> list[StoredRow]:
    return [StoredRow(id_, FEATURES[id_ - 1].tobytes(), int(LABELS[id_ - 1])) for id_ in ids]


def loss(tensors: Tensors, ids: Sequence[int]) -> float:
    logits = FEATURES[np.asarray(ids) - 1] @ tensors["weight"].T + tensors["bias"]
    right = np.take_along_axis(logits, LABELS[np.asarray(ids) - 1][:, None], axis=1)[:, 0]
    return float((np.logaddexp.reduce(logits, axis=1) - right).mean())


def train(kind: Personal, *, personal: Tensors | None = None, restarts: bool = False) -> Tensors:
    """To its end; it `restarts` from a checkpoint before everything that it wants."""
    what = GivenPersonal(rules=rules_of(kind), model=SPEC, received=parameters(0), personal=personal, ids=IDS, seed=7)
    training = personal_training(what, STEPS)
    while (wanted := training.next_task()) is not None:
        if isinstance(wanted, Judge):
            training.record_loss(wanted, loss(wanted.parameters, wanted.ids))
        else:
            training.learn(make_batch(rows(wanted.ids), SPEC, size=SPEC.batch_size))
        if restarts:
            training = personal_training(what, STEPS, checkpoint=training.checkpoint())
    return training.trained()


@every_kind
@pytest.mark.parametrize("personal", [None, parameters(3)], ids=["first", "again"])
def test_restarts_change_no_bit(kind: str, personal: Tensors | None) -> None:
    chosen = PERSONAL.parse({"kind": kind, "epochs": 3})
    undisturbed = train(chosen, personal=personal)
    assert encode_tensors(dict(train(chosen, personal=personal, restarts=True))) == encode_tensors(dict(undisturbed))


@every_kind
def test_it_does_better_on_samples_held_out(kind: str) -> None:
    held_out = parts_of(IDS).held_out
    assert loss(train(PERSONAL.parse({"kind": kind})), held_out) < loss(parameters(0), held_out)


@every_kind
def test_what_makes_it_worse_is_not_kept(kind: str) -> None:
    """A step size at which it swings: the best is what it began with, or better."""
    chosen = PERSONAL.parse({"kind": kind, "epochs": 2, "learning_rate": 100.0})
    held_out = parts_of(IDS).held_out
    assert loss(train(chosen), held_out) <= loss(parameters(0), held_out)


@every_kind
def test_the_step_size_is_that_of_the_rounds_unless_the_plan_says_another(kind: str) -> None:
    prox = Prox(learning_rate=0.2, mu=0.7)
    assert rules_of(PERSONAL.parse({"kind": kind})).scalars.learning_rate == LOCAL.learning_rate
    of_prox = PERSONAL.parse({"kind": kind, "learning_rate": 0.01}).rules(prox)
    assert of_prox is not None and of_prox.scalars.learning_rate == 0.01
    assert of_prox.scalars.proximal_weight != prox.mu, "what holds a cohort together does not hold a person back"


@every_kind
@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"local": {"kind": "distill", "lambda_d": 1.0}}, "rounds themselves"),
        ({"help": {"kind": "cartel"}}, "batch by batch"),
        ({"pace": {"kind": "alone"}}, "model of its own"),
    ],
    ids=["local", "help", "pace"],
)
def test_two_ways_to_a_personal_model_are_refused(kind: str, other: dict[str, object], named: str) -> None:
    parse_plan({"personal": {"kind": kind}})
    with pytest.raises(WireError, match=named) as caught:
        parse_plan({"personal": {"kind": kind}, **other})
    assert caught.value.code == "plan.invalid"


@every_kind
def test_a_graph_that_lacks_a_scalar_is_refused(kind: str) -> None:
    bare = msgspec.structs.replace(SPEC, scalars=("learning_rate",))
    plan = parse_plan({"local": {"kind": "sgd", "momentum": 0.5}, "personal": {"kind": kind}})
    reason = plan.personal.misfit(plan, bare, None)
    assert reason is not None and reason.code == "plan.does_not_fit"


def test_fine_tuning_begins_with_the_version_and_ditto_goes_on() -> None:
    elsewhere = parameters(3)
    assert encode_tensors(dict(train(FineTuned(), personal=elsewhere))) == encode_tensors(dict(train(FineTuned())))
    assert encode_tensors(dict(train(Ditto(), personal=elsewhere))) != encode_tensors(dict(train(Ditto())))


def test_a_step_of_ditto_by_hand() -> None:
    """With learning rate times mu at 1, a step from anywhere ends at the version, but for the gradient of the data."""
    held = Ditto(mu=1000.0, learning_rate=1e-3, epochs=1, patience=1)
    elsewhere = {name: tensor + 5 for name, tensor in parameters(0).items()}
    found = train(held, personal=elsewhere)
    momentum_off = max(float(np.abs(found[name] - parameters(0)[name]).max()) for name in found)
    assert momentum_off < 5.1 and not math.isnan(momentum_off)


def test_ditto_that_is_held_by_nothing_is_training_alone_and_one_that_is_held_fast_is_the_version() -> None:
    def distance(mu: float) -> float:
        found = train(Ditto(mu=mu, epochs=20, patience=20, learning_rate=0.05))
        return float(sum(np.square(found[name] - parameters(0)[name]).sum() for name in found))

    free, held, fast = distance(0.0), distance(1.0), distance(15.0)
    assert free > 3 * held > 9 * fast


def test_ditto_without_a_pull_from_the_version_is_fine_tuning() -> None:
    """At mu = 0, where there is no personal model yet."""
    alike = {"epochs": 3, "patience": 3}
    assert encode_tensors(dict(train(Ditto(mu=0.0, **alike)))) == encode_tensors(dict(train(FineTuned(**alike))))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_so_many_steps_at_the_rounds_step_size_for_adaptation(count: int) -> None:
    """Per-FedAvg's adaptation: of its α, not of the rounds' steps; it is kept because it does better."""
    local = PerFedAvg(alpha=0.4)
    rules = FineTuned(epochs=3, steps=count).rules(local)
    assert (rules.steps, rules.scalars.learning_rate, rules.scalars.momentum) == (count, 0.4, 0)
    what = GivenPersonal(rules=rules, model=SPEC, received=parameters(0), personal=None, ids=IDS, seed=7)
    training, taken = personal_training(what, STEPS), 0
    while (wanted := training.next_task()) is not None:
        if isinstance(wanted, Judge):
            training.record_loss(wanted, loss(wanted.parameters, wanted.ids))
        else:
            taken += 1
            training.learn(make_batch(rows(wanted.ids), SPEC, size=SPEC.batch_size))
    assert taken == count
    assert encode_tensors(dict(training.trained())) == encode_tensors(dict(training.optimisation.parameters()))
    assert loss(training.trained(), parts_of(IDS).held_out) < loss(parameters(0), parts_of(IDS).held_out)
