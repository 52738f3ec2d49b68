import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.child.job import Progress
from coterie.cloud.epochs import Aim, batches, run_epochs, split, too_few_held_back
from coterie.cloud.errors import Diverged
from coterie.evaluation.scoring import Evaluation


@given(samples=st.integers(1, 200), share=st.floats(0, 0.99), seed=st.integers(0, 10))
def test_split_deals_every_row_and_leaves_none_empty(samples: int, share: float, seed: int) -> None:
    training, validation = split(np.zeros((samples, 2), np.float32), share=share, seed=seed)
    assert len(training) and len(validation)
    if samples > 1:
        assert sorted([*training, *validation]) == list(range(samples))


@given(
    labels=st.lists(st.integers(0, 5), min_size=1, max_size=200), share=st.floats(0.01, 0.9), seed=st.integers(0, 10)
)
def test_split_holds_back_its_share_of_each_class(labels: list[int], share: float, seed: int) -> None:
    targets = np.array(labels)
    training, validation = split(targets, share=share, seed=seed)
    assert len(training) and len(validation)
    if len(labels) > 1:
        assert sorted([*training, *validation]) == list(range(len(labels)))
    for label, count in zip(*np.unique(targets, return_counts=True), strict=True):
        held = int((targets[validation] == label).sum())
        if count > 1:
            assert 1 <= held < count
            assert abs(held - count * share) <= 1


def test_few_samples_held_back_are_told() -> None:
    labels = np.repeat(np.arange(6), 12)
    rows = split(labels, share=0.1, seed=0)
    assert sorted(labels[rows.validation]) == [0, 1, 2, 3, 4, 5]
    assert "6 samples were held back" in str(too_few_held_back(labels, labels[rows.validation]))
    many = np.repeat(np.arange(6), 200)
    assert too_few_held_back(many, many[split(many, share=0.1, seed=0).validation]) is None
    alone = np.append(many, 6)
    assert "1 classes have a single sample" in str(
        too_few_held_back(alone, alone[split(alone, share=0.1, seed=0).validation])
    )


def test_batches_cover_the_rows_in_a_new_order() -> None:
    rows = np.arange(10)
    dealt = list(batches(rows, size=4, generator=np.random.default_rng(0)))
    assert [len(batch) for batch in dealt] == [4, 4, 2]
    assert sorted(np.concatenate(dealt)) == list(rows)


def run(losses: list[float], *, patience: int, seen: list[Progress] | None = None) -> tuple[bytes, int]:
    """Run epochs whose held-back losses are `losses`; the state is the number of the epoch."""
    done: list[float] = []

    def judge() -> Evaluation:
        done.append(losses[len(done)])
        return Evaluation(samples=1, accuracy=0.5, loss=done[-1], class_accuracy=())

    report = seen.append if seen is not None else lambda _: None
    best = run_epochs(
        Aim(len(losses), patience),
        train=lambda _epoch: 0.0,
        judge=judge,
        save=lambda: str(len(done)).encode(),
        report=report,
    )
    return best.state, best.epochs


def test_best_epoch_is_kept_and_reported() -> None:
    seen: list[Progress] = []
    assert run([3, 1, 2], patience=9, seen=seen) == (b"2", 3)
    assert [(line.done, line.total, line.values["validation_loss"]) for line in seen] == [
        (1, 3, 3),
        (2, 3, 1),
        (3, 3, 2),
    ]


def test_it_stops_when_nothing_gets_better() -> None:
    assert run([3, 1, 2, 2, 0], patience=2) == (b"2", 4)


def test_it_goes_on_while_the_loss_falls_whatever_the_accuracy() -> None:
    accuracies, losses = iter([0.9, 0.5, 0.5, 0.5, 0.5, 0.5]), iter([9.0, 8, 7, 6, 6, 6])
    best = run_epochs(
        Aim(9, 2),
        train=lambda _epoch: 0.0,
        judge=lambda: Evaluation(samples=1, accuracy=next(accuracies), loss=next(losses), class_accuracy=()),
        save=lambda: b"",
        report=lambda _: None,
    )
    assert best.epochs == 6
    assert best.evaluation.accuracy == 0.9


def test_divergence_is_told() -> None:
    with pytest.raises(Diverged, match="epoch 2"):
        run([1, float("nan")], patience=9)
