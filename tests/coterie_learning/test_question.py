"""What a device counts is bounded, and sums of it are what they say."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.answers import BITS, Encoding
from coterie_learning.question import (
    MOST_CELLS,
    Among,
    Classes,
    Histogram,
    OwnFacts,
    Question,
    Words,
    parse_question,
    quantile,
)
from coterie_learning.secure_sum.grid import LEAST_DEVIATION
from coterie_learning.secure_sum.vector import added
from coterie_wire.errors import WireError

FACTS = OwnFacts(
    class_counts=(3, 0, 5),
    quantities={"samples": 8.0, "train_step_s": 0.02, "temperature_c": None},
    properties={"machine": "aarch64 Linux", "reason": "conditions.on_battery"},
    is_failing=False,
    is_waiting=True,
)
KEY = bytes(32)
FEW = {"min_devices": 3, "corrupted": 0.0}

counts_of_classes = st.lists(st.integers(0, 10**9), max_size=40)


@given(counts=counts_of_classes, classes=st.integers(1, 50), most=st.integers(1, 10_000))
def test_samples_of_classes_are_bounded_and_keep_their_shares(counts: list[int], classes: int, most: int) -> None:
    found = Classes(classes=classes, most=most).counted(FACTS._replace(class_counts=counts))
    known = np.array((counts + [0] * classes)[:classes])
    assert found.shape == (classes,)
    assert found.min() >= 0
    assert found.sum() == min(known.sum(), most)
    assert np.linalg.norm(found) <= most
    if known.sum() > most:
        assert np.abs(found - known * (most / known.sum())).max() <= 1 + 1e-6
    else:
        np.testing.assert_array_equal(found, known)


@given(
    value=st.none() | st.floats(allow_infinity=True, allow_nan=True),
    edges=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50, unique=True).map(sorted),
)
def test_a_histogram_takes_one_vote_whatever_the_value(value: float | None, edges: list[float]) -> None:
    found = Histogram(of="train_step_s", edges=tuple(edges)).counted(FACTS._replace(quantities={"train_step_s": value}))
    assert found.sum() == found.max() == 1
    place = int(found.argmax())
    if value is None or value != value:
        assert place == len(edges) + 1
    else:
        assert place == sum(edge <= value for edge in edges)


def test_words_are_counted_and_others_together() -> None:
    question = Words(of="machine", words=("x86_64 Linux", "aarch64 Linux"))
    assert question.counted(FACTS).tolist() == [0, 1, 0]
    assert question.counted(FACTS._replace(properties={"machine": "riscv"})).tolist() == [0, 0, 1]
    assert question.labels == ("x86_64 Linux", "aarch64 Linux", "other")


@pytest.mark.parametrize(("among", "found"), [("all", [3, 0, 5]), ("waiting", [3, 0, 5]), ("failing", [0, 0, 0])])
def test_who_is_not_asked_about_adds_nothing(among: Among, found: list[int]) -> None:
    assert Question(Classes(classes=3), among=among).counted(FACTS).tolist() == found


def test_an_owner_is_asked_about_all_that_an_answer_tells() -> None:
    assert Question(Words(of="machine", words=("a",))).subjects == {"hardware"}
    assert Question(Words(of="machine", words=("a",)), among="failing").subjects == {"hardware", "problems"}


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"count":{"kind":"classes","classes":0}}',
        b'{"count":{"kind":"names"}}',
        b'{"count":{"kind":"histogram","of":"samples","edges":[2,1]}}',
        b'{"count":{"kind":"histogram","of":"address","edges":[1]}}',
        b'{"count":{"kind":"words","of":"machine","words":["a","a"]}}',
        b'{"count":{"kind":"classes","classes":3},"votes":2}',
        b'{"count":{"kind":"classes","classes":3},"noise_multiplier":0}',
        b'{"count":{"kind":"classes","classes":3},"min_devices":2}',
    ],
)
def test_what_is_no_question_is_refused(raw: bytes) -> None:
    with pytest.raises(WireError) as refused:
        parse_question(raw)
    assert refused.value.code == "question.invalid"


def test_a_question_travels_as_json() -> None:
    asked = Question(Histogram(of="samples", edges=(1.0, 10.0)), noise_multiplier=2.0)
    assert parse_question(msgspec.json.encode(asked)) == asked


@given(
    votes=st.lists(st.lists(st.integers(0, 60), min_size=5, max_size=5), min_size=3, max_size=30),
    most=st.integers(1, 200),
)
def test_without_noise_the_sum_is_exact(votes: list[list[int]], most: int) -> None:
    question = Question(Classes(classes=5, most=most), **FEW)
    encoding = Encoding(question, len(votes))
    counted = [question.counted(FACTS._replace(class_counts=one)) for one in votes]
    found = encoding.answer(added([encoding.vector(one, key=KEY) for one in counted]), len(votes))
    np.testing.assert_array_equal(found.counts, np.sum(counted, axis=0))
    assert (found.deviation, found.devices) == (0.0, len(votes))


@pytest.mark.parametrize(
    "count", [Classes(classes=4000, most=7), Words(of="machine", words=tuple(map(str, range(4000))))]
)
def test_noise_is_what_theory_says(count: Classes | Words) -> None:
    """4,000 cells to which nobody counts: their spread is the noise."""
    devices = 12
    question = Question(count, noise_multiplier=1.5, min_devices=10, corrupted=0.1)
    encoding = Encoding(question, devices)
    nothing = np.zeros(encoding.cells, np.int64)
    vectors = [encoding.vector(nothing, key=bytes([number]) * 32) for number in range(devices)]
    found = encoding.answer(added(vectors), devices)
    assert encoding.deviation >= LEAST_DEVIATION
    assert found.deviation >= question.noise_multiplier * count.sensitivity  # type: ignore[operator]
    assert np.std(found.counts) == pytest.approx(found.deviation, rel=4 / np.sqrt(2 * encoding.cells))
    assert abs(np.mean(found.counts)) < 4 * found.deviation / np.sqrt(encoding.cells)


def test_those_who_conspire_leave_enough_noise() -> None:
    question = Question(Classes(classes=3, most=50), noise_multiplier=2.0, min_devices=10, corrupted=0.2)
    for members in (10, 20, 45):
        encoding = Encoding(question, members)
        honest = question.terms.honest(members)
        assert honest * encoding.deviation**2 >= (2.0 * 50 * encoding.unit) ** 2 * (1 - 1e-12)


def test_more_than_a_question_takes_of_one_is_refused() -> None:
    encoding = Encoding(Question(Classes(classes=2, most=5), **FEW), 3)
    for counts in ([6, 0], [-1, 2], [1, 1, 1]):
        with pytest.raises(WireError) as refused:
            encoding.vector(np.array(counts), key=KEY)
        assert refused.value.code == "update.out_of_range"


def test_a_sum_of_others_is_refused() -> None:
    encoding = Encoding(Question(Classes(classes=2, most=5), **FEW), 3)
    total = added([encoding.vector(np.array([1, 0]), key=KEY)] * 3)
    with pytest.raises(WireError) as refused:
        encoding.answer(total, 4)
    assert refused.value.code == "secure_sum.wrong_sum"
    with pytest.raises(WireError) as refused:
        encoding.answer(total._replace(numbers=total.numbers + np.uint32(1 << 20)), 3)
    assert refused.value.code == "secure_sum.wrong_sum"


def test_a_question_that_does_not_fit_is_refused() -> None:
    question = Question(Classes(classes=2, most=10_000), noise_multiplier=1000.0, min_devices=251)
    with pytest.raises(WireError) as refused:
        _ = Encoding(question, 2500).layout
    assert refused.value.code == "secure_sum.too_few_bits"


@pytest.mark.parametrize("cells", [1, 2, 7, MOST_CELLS])
def test_vectors_are_of_an_even_number_of_words(cells: int) -> None:
    layout = Encoding(Question(Classes(classes=cells), **FEW), 3).layout
    assert (layout.length % 2, layout.bits, layout.tail) == (0, BITS, 1)
    assert layout.length - cells in (0, 1)


def test_quantiles_of_a_histogram() -> None:
    edges = (0.0, 1.0, 2.0, 3.0)
    assert quantile(edges, [0, 10, 10, 0, 0, 99], 0.5) == 1.0
    assert quantile(edges, [0, 10, 10, 0, 0, 0], 0.75) == 1.5
    assert quantile(edges, [0, 0, 0, 0, 4, 0], 0.5) is None
    assert quantile(edges, [9, 1, 0, 0, 0, 0], 0.5) is None
    assert quantile(edges, [0, 0, 0, 0, 0, 7], 0.5) is None
    assert quantile(edges, [-0.4, 10.2, -3.0, 9.8, 0.1, 7], 0.25) == pytest.approx(20.1 / 4 / 10.2)


@given(st.lists(st.floats(0.01, 99.9), min_size=20, max_size=200), st.sampled_from([0.1, 0.5, 0.9]))
def test_a_quantile_is_within_its_bin(values: list[float], share: float) -> None:
    edges = tuple(float(edge) for edge in range(101))
    question = Histogram(of="train_step_s", edges=edges)
    counts = np.sum([question.counted(FACTS._replace(quantities={"train_step_s": one})) for one in values], axis=0)
    found = quantile(edges, counts.tolist(), share)
    assert found is not None
    below, upto = sum(value < found - 1 for value in values), sum(value < found + 1 for value in values)
    assert below <= share * len(values) <= upto + 1e-9
