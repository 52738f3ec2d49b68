"""Two parties: what either reaches alone, both together, and all in one place; and what gradients tell of labels."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from coterie_learning.random import epoch_order
from coterie_learning.vertical.letters import Backward, Divided, Forward, Letter
from coterie_learning.vertical.party import LabelsParty
from coterie_learning.vertical.terms import VerticalTerms
from coterie_recipes.two_parties.generator import CLASSES, draw_population
from coterie_recipes.two_parties.models import BATCH_SIZE, WIDTH, Lower, Upper
from tests.benchmarks.report import Figure
from tests.two_parties import hold_talks, parties

SEEDS = 3
EPOCHS = 20
RATE = 0.05
WHOLE = "1,500 people known to both"
BANK = "the bank alone, had it the labels"
INSURER = "the insurer alone"
BOTH = "both tables in one place"


class Found(NamedTuple):
    """Of one population."""

    accuracy: float
    one_epoch: float
    """Labels guessed from the gradients of the epoch that tells most."""
    all_epochs: float
    """Labels guessed from the mean of a person's gradients over all epochs."""
    sent_bytes: int
    letters: int


def measure() -> list[Figure]:
    alone = [in_one_place(seed) for seed in range(SEEDS)]
    together = {noise: [run(seed, noise) for seed in range(SEEDS)] for noise in (0.0, VerticalTerms().noise)}
    figures = [_figure(WHOLE, name, [one[name] for one in alone]) for name in alone[0]]
    for noise, found in together.items():
        case = f"{WHOLE}, noise {noise:g}"
        figures.append(_figure(case, "accuracy together", [one.accuracy for one in found]))
        figures.append(_figure(case, "labels guessed from one epoch", [one.one_epoch for one in found]))
        figures.append(_figure(case, "labels guessed from epochs' means", [one.all_epochs for one in found]))
    figures.append(Figure(WHOLE, "passed the platform, sealed", together[0.0][0].sent_bytes / 1e6, "MB"))
    figures.append(Figure(WHOLE, "letters", float(together[0.0][0].letters), ""))
    protected = [one.accuracy for one in together[VerticalTerms().noise]]
    better = [max(one[BANK], one[INSURER]) for one in alone]
    over = [mine - theirs for mine, theirs in zip(protected, better, strict=True)]
    under = [one[BOTH] - mine for one, mine in zip(alone, protected, strict=True)]
    cost = [one.accuracy - mine for one, mine in zip(together[0.0], protected, strict=True)]
    figures.append(_figure(WHOLE, "over the better party, protected", over, promise="target >= 0.05"))
    figures.append(_figure(WHOLE, "under all in one place, protected", under))
    figures.append(_figure(WHOLE, "what protection costs", cost, promise="target <= 0.02"))
    for common in (100, 300):
        few = [run(seed, VerticalTerms().noise, common=common, attack=False).accuracy for seed in range(SEEDS)]
        own = [in_one_place(seed, common=common)[INSURER] for seed in range(SEEDS)]
        case = f"{common} people known to both"
        figures.append(_figure(case, "accuracy together", few, promise=f"the insurer alone {mean(own):.3f}"))
    return figures


def _figure(case: str, metric: str, values: Sequence[float], *, promise: str = "") -> Figure:
    each = ", ".join(f"{value:.3f}" for value in values)
    return Figure(case, metric, mean(values), "", "; ".join(filter(None, [promise, f"seeds {each}"])))


def run(seed: int, noise: float, *, common: int = 1500, attack: bool = True) -> Found:
    """Train by letters, through compiled halves."""
    population = draw_population(seed, common=common)
    terms = VerticalTerms(epochs=EPOCHS, learning_rate=RATE, noise=noise, least_rows=20, seed=seed)
    gradients: dict[int, np.ndarray] = {}
    sizes = [0, 0]

    def seen(_sender: int, letter: Letter) -> None:
        sizes[1] += 1
        match letter:
            case Backward():
                gradients[letter.number] = np.frombuffer(letter.gradient, "<f4").reshape(-1, WIDTH)
                sizes[0] += len(letter.gradient)
            case Forward():
                sizes[0] += len(letter.values)
            case Divided():
                pass
            case _:
                sizes[0] += len(getattr(letter, "points", b""))

    with tempfile.TemporaryDirectory() as folder:
        bank, insurer = parties(population, terms, Path(folder), seed=seed)
        hold_talks(bank, insurer, seen=seen)
    accuracy = insurer.standing.epochs[-1].accuracy
    guesses = guessed(insurer, gradients, terms) if attack else (0.0, 0.0)
    return Found(accuracy, *guesses, sizes[0], sizes[1])


def guessed(insurer: LabelsParty, gradients: dict[int, np.ndarray], terms: VerticalTerms) -> tuple[float, float]:
    """What the bank makes of all gradients that it was sent, by k-means; each cluster stands for the best class."""
    rows = np.frombuffer(insurer.standing.rows, np.int64)
    train = rows[np.frombuffer(insurer.standing.train, np.int64)]
    labels = insurer.half.labels()[train]
    batches = -(-len(train) // BATCH_SIZE)
    by_epoch = np.zeros((terms.epochs, len(train), WIDTH), np.float32)
    for step, gradient in gradients.items():
        epoch, batch = divmod(step, batches)
        order = epoch_order(len(train), terms.seed, epoch)
        by_epoch[epoch, order[batch * BATCH_SIZE : (batch + 1) * BATCH_SIZE]] = gradient
    looked_at = sorted({0, 1, 2, 4, 9, 19, terms.epochs - 1})
    one = max(_guess(by_epoch[epoch], labels) for epoch in looked_at if epoch < terms.epochs)
    means = [by_epoch[:many].mean(axis=0) for many in (3, 5, 10, 20, terms.epochs)]
    return one, max(_guess(mean, labels) for mean in means)


def _guess(points: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.cluster import KMeans

    found = KMeans(len(CLASSES), n_init=5, random_state=0).fit_predict(points)
    counts = np.zeros((len(CLASSES), len(CLASSES)))
    np.add.at(counts, (found, labels), 1)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(labels))


def in_one_place(seed: int, *, common: int = 1500) -> dict[str, float]:
    """PyTorch with the same network, steps and people held out; a party alone may train on its own people, too."""
    population = draw_population(seed, common=common)
    bank, insurer = population.bank, population.insurer
    at_bank = {name: row for row, name in enumerate(bank.identifiers)}
    both = np.array([row for row, name in enumerate(insurer.identifiers) if name in at_bank])
    beside = np.array([at_bank[insurer.identifiers[row]] for row in both])
    chosen = np.random.default_rng(seed).permutation(len(both))
    held, train = chosen[: len(both) // 5], chosen[len(both) // 5 :]
    x = _standard(bank.columns)[beside]
    own = _standard(insurer.columns)
    needs = torch.tensor(population.needs)
    apart = np.setdiff1d(np.arange(len(own)), both)
    with_apart = np.r_[both[train], apart]

    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lower, self.upper = Lower(), Upper()

        def forward(self, bank: Tensor, insurer: Tensor) -> Tensor:
            found: Tensor = self.upper(insurer, self.lower(bank))
            return found

    def alone(columns: int) -> nn.Module:
        return nn.Sequential(Lower(columns), nn.ReLU(), nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, len(CLASSES)))

    torch.manual_seed(seed)
    held_needs = needs[both[held]]
    return {
        BANK: _fit(alone(x.shape[1]), [x[train]], needs[both[train]], [x[held]], held_needs, seed),
        INSURER: _fit(alone(own.shape[1]), [own[with_apart]], needs[with_apart], [own[both[held]]], held_needs, seed),
        BOTH: _fit(
            Whole(), [x[train], own[both[train]]], needs[both[train]], [x[held], own[both[held]]], held_needs, seed
        ),
    }


def _fit(
    module: nn.Module, train: Sequence[Tensor], needs: Tensor, held: Sequence[Tensor], expected: Tensor, seed: int
) -> float:
    steps = torch.optim.SGD(module.parameters(), lr=RATE, momentum=0.9)
    for epoch in range(EPOCHS):
        for group in steps.param_groups:
            group["lr"] = RATE * (1 - epoch / EPOCHS)
        order = epoch_order(len(needs), seed, epoch)
        for first in range(0, len(order), BATCH_SIZE):
            batch = order[first : first + BATCH_SIZE]
            loss = nn.functional.cross_entropy(module(*(one[batch] for one in train)), needs[batch])
            steps.zero_grad()
            loss.backward()
            steps.step()
    with torch.no_grad():
        return float((module(*held).argmax(dim=1) == expected).float().mean())


def _standard(columns: np.ndarray) -> Tensor:
    return torch.tensor(((columns - columns.mean(axis=0)) / columns.std(axis=0)).astype(np.float32))
