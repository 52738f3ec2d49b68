"""Training gives the numbers of a few lines of NumPy, and the same bits whether or not it was interrupted."""

import numpy as np
import psutil
import pytest

from coterie_agent.errors import AgentError
from coterie_agent.store.opened import Store
from coterie_agent.training.batches import make_batch
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.trainer import Trainer, open_steps, train_graph
from coterie_learning.client.order import batch_ids, split
from coterie_learning.client.round import local_training
from coterie_learning.client.training import Learn
from coterie_learning.local import StepScalars
from coterie_learning.local.sgd import Sgd
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC, parameters, predict_graph, train_step_graph
from tests.coterie_agent.stepping import Stepping

WEIGHTS = StepScalars(learning_rate=0.3, momentum=0.5, proximal_weight=0.1)


def trainer(store: Store, weights: StepScalars = WEIGHTS) -> Stepping:
    return Stepping(
        train_step_graph(),
        SPEC,
        parameters(),
        {},
        samples=store.samples,
        train=split(store.samples.ids(store.samples.snapshot())).train,
        scalars=weights,
        seed=7,
    )


def timed(store: Store, *, learning_rate: float = 0.1) -> Trainer:
    """A trainer that has done no step yet."""
    steps = open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={})
    ids = store.samples.ids(store.samples.snapshot())
    training = local_training(
        Sgd(learning_rate=learning_rate),
        SPEC,
        steps,
        personal=parameters(),
        received=parameters(),
        ids=ids,
        seen=(),
        seed=7,
    )
    return Trainer(training, store.samples)


def learn(trainer: Trainer) -> None:
    wanted = trainer.training.next_task()
    assert isinstance(wanted, Learn)
    trainer.learn(wanted)


def in_numpy(store: Store, steps: int) -> Tensors:
    received = parameters()
    now = {name: tensor.astype(np.float64) for name, tensor in received.items()}
    velocity = {name: np.zeros_like(tensor) for name, tensor in now.items()}
    train = split(store.samples.ids(store.samples.snapshot())).train
    for step in range(steps):
        rows = store.samples.load(batch_ids(train, seed=7, step=step, batch_size=SPEC.batch_size))
        x = np.stack([np.frombuffer(row.x, dtype=np.float32) for row in rows]).astype(np.float64)
        logits = x @ now["weight"].T + now["bias"]
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        error = (p - np.eye(SPEC.classes)[[row.label for row in rows]]) / len(rows)
        for name, gradient in (("weight", error.T @ x), ("bias", error.sum(axis=0))):
            pull = WEIGHTS.proximal_weight * (now[name] - received[name])
            velocity[name] = WEIGHTS.momentum * velocity[name] + gradient + pull
            now[name] = now[name] - WEIGHTS.learning_rate * velocity[name]
    return {name: tensor.astype(np.float32) for name, tensor in now.items()}


def test_steps_are_those_of_numpy(stocked: Store) -> None:
    training = trainer(stocked)
    for _ in range(30):
        training.step()
    expected = in_numpy(stocked, 30)
    for name, tensor in training.parameters().items():
        np.testing.assert_allclose(tensor, expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stops", [(1,), (3, 4, 17)])
def test_stopped_and_resumed_training_gives_the_same_bits(stocked: Store, stops: tuple[int, ...]) -> None:
    straight = trainer(stocked)
    for _ in range(25):
        straight.step()
    resumed = trainer(stocked)
    for stop in (*stops, 25):
        while resumed.steps_done < stop:
            resumed.step()
        saved, done = resumed.save(), resumed.steps_done
        resumed = trainer(stocked)
        resumed.restore(saved, steps_done=done)
    assert resumed.save() == straight.save()


def test_the_memory_of_training_is_the_most_that_was_seen_before_a_checkpoint_and_after(stocked: Store) -> None:
    training = timed(stocked)
    assert training.memory_bytes == 0
    learn(training)
    assert 10_000_000 < training.memory_bytes < psutil.virtual_memory().total
    training.memory_bytes = more = 2 * psutil.virtual_memory().total
    learn(training)
    assert training.memory_bytes == more


def test_a_loss_that_is_not_finite_ends_training(stocked: Store) -> None:
    training = timed(stocked, learning_rate=1e38)
    with pytest.raises(AgentError, match="learning rate") as caught:
        while training.training.next_task() is not None:
            learn(training)
    assert caught.value.code == "agent.diverged"


def test_a_graph_with_other_inputs_is_refused() -> None:
    with pytest.raises(AgentError, match="anchor") as caught:
        train_graph(predict_graph(), SPEC, threads=1)
    assert caught.value.code == "model.contract"


def test_bytes_that_are_no_graph_are_refused() -> None:
    with pytest.raises(AgentError) as caught:
        train_graph(b"not a graph", SPEC, threads=1)
    assert caught.value.code == "model.broken"


def test_training_makes_the_measured_loss_smaller(stocked: Store) -> None:
    ids = stocked.samples.ids(stocked.samples.snapshot())
    predictor = Predictor(predict_graph(), SPEC, parameters(), {}, threads=1)
    before = predictor.measure(stocked.samples, loss_of=ids, accuracy_of=ids, stop=lambda: False)
    training = trainer(stocked, StepScalars(learning_rate=0.5))
    for _ in range(60):
        training.step()
    predictor.set_parameters(training.parameters())
    after = predictor.measure(stocked.samples, loss_of=ids, accuracy_of=ids, stop=lambda: False)
    assert before is not None
    assert after is not None
    assert after.loss < before.loss / 2
    assert after.accuracy > 0.9


def test_measuring_can_be_stopped(stocked: Store) -> None:
    ids = stocked.samples.ids(stocked.samples.snapshot())
    predictor = Predictor(predict_graph(), SPEC, parameters(), {}, threads=1)
    assert predictor.measure(stocked.samples, loss_of=ids, accuracy_of=ids, stop=lambda: True) is None


def test_a_batch_masks_its_padding(stocked: Store) -> None:
    rows = stocked.samples.load(stocked.samples.ids(stocked.samples.snapshot())[:2])
    assert make_batch(rows, SPEC, size=4).sample_weight.sum() == 2
