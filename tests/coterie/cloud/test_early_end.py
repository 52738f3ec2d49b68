"""Early ends: what they save of jobs whose curve is flat, and what they cost, on traces with the shape of Philly's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coterie.child.job import Progress
from coterie.cloud.early_end import early_end
from coterie.cloud.epochs import BEGINNING, Aim, EpochsSoFar, run_epochs
from coterie.cloud.errors import NotLearning
from coterie.evaluation.scoring import Evaluation

GAIN = 0.001


def ends_after(losses: NDArray[np.float64], least_gain: float = GAIN) -> int:
    """How many epochs of a job are run."""
    curve = losses.tolist()
    return next((done for done in range(1, len(curve)) if early_end(curve[:done], len(curve), least_gain)), len(curve))


def traces(number: int) -> list[NDArray[np.float64]]:
    """Losses that fall exponentially or by a power, 60 % of them within 0.1 % of their lowest at 40 % of the epochs."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(number):
        epochs = int(generator.integers(20, 400))
        floor, above = generator.uniform(0.05, 1), generator.uniform(0.5, 5)
        pace = np.arange(epochs) / (epochs * np.exp(generator.normal(math.log(0.03), 0.7)))
        fall = np.exp(-pace) if generator.random() < 0.5 else (1 + pace) ** -generator.uniform(2, 4)
        found.append(floor * (1 + above * fall) * (1 + 1e-4 * generator.normal(size=epochs)))
    return found


def test_flat_jobs_lose_half_their_time_and_next_to_nothing_of_their_loss() -> None:
    saved, whole, excess = 0, 0, []
    for losses in traces(300):
        run = ends_after(losses)
        excess.append(losses[:run].min() / losses.min() - 1)
        if losses[: int(0.4 * len(losses))].min() <= 1.001 * losses.min():
            saved, whole = saved + len(losses) - run, whole + len(losses)
    assert saved / whole >= 0.5
    assert np.percentile(excess, 95) <= GAIN


def test_a_job_that_still_gains_is_left_alone() -> None:
    falling = np.linspace(2.0, 1.0, 100)
    assert ends_after(falling) == 100


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=60), st.integers(1, 60))
def test_without_a_least_gain_no_curve_ends_a_job(losses: list[float], epochs: int) -> None:
    assert early_end(losses, epochs, 0.0) is None


def test_a_curve_that_stays_above_its_beginning_has_failed() -> None:
    ending = early_end([1.0, *[1.5] * 9], 100, GAIN)
    assert ending is not None
    assert (ending.kind, ending.sentence) == (
        "failed",
        "in each of the last 5 epochs the loss was above that of the first",
    )


def test_a_flat_curve_tells_when_and_why() -> None:
    ending = early_end([2.0, *[1.0] * 9], 100, GAIN)
    assert ending is None, "the window still has the fall in it"
    ending = early_end([2.0, *[1.0] * 10], 100, GAIN)
    assert ending is not None
    assert ending.sentence.startswith("it ended after 11 of 100 epochs: at its pace the others would have gained 0.00%")


def run(losses: list[float], *, begin: EpochsSoFar = BEGINNING) -> tuple[str | None, list[EpochsSoFar]]:
    """Train for 100 epochs with these losses."""
    kept: list[EpochsSoFar] = []
    told: list[Progress] = []
    outcome = run_epochs(
        Aim(100, 100, GAIN),
        train=lambda epoch: losses[min(epoch, len(losses) - 1)],
        judge=lambda: Evaluation(accuracy=0.5, loss=0.7, class_accuracy=(), samples=9),
        save=lambda: b"state",
        report=told.append,
        begin=begin,
        keep=kept.append,
    )
    return outcome.ended, kept


def test_an_interruption_changes_nothing_of_when_it_ends() -> None:
    ended, kept = run([2.0, 1.0])
    assert ended is not None
    for standing in kept:
        again, rest = run([2.0, 1.0], begin=standing)
        assert again == ended
        assert standing.epochs + len(rest) == len(kept)


def test_a_job_that_does_not_learn_fails_with_its_reason() -> None:
    with pytest.raises(NotLearning, match=r"epoch 10, because in each of the last 5 epochs .* smaller learning rate"):
        run([1.0, 1.5])
