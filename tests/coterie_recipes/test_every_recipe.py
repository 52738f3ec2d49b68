"""What holds of every recipe: whatever is in `coterie_recipes.NAMES` is tested here without being listed."""

from importlib import import_module
from inspect import signature
from itertools import combinations

import numpy as np
import pytest
import torch

from coterie_recipes import NAMES, Recipe, load
from coterie_recipes.recipe import Person

PEOPLE = 6


@pytest.fixture(params=NAMES)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return load(request.param)


def people(recipe: Recipe, seed: int = 0) -> list[Person]:
    return [recipe.draw(seed, number) for number in range(PEOPLE)]


def test_a_person_is_decided_by_seed_and_number_alone(recipe: Recipe) -> None:
    first = recipe.draw(3, 1)
    recipe.draw(3, 0)
    again, other, elsewhere = recipe.draw(3, 1), recipe.draw(3, 2), recipe.draw(4, 1)
    assert np.array_equal(first.train.x, again.train.x)
    assert np.array_equal(first.train.y, again.train.y)
    for differs in (other, elsewhere):
        assert first.train.x.shape != differs.train.x.shape or not np.array_equal(first.train.x, differs.train.x)


def test_models_take_the_samples(recipe: Recipe) -> None:
    models = import_module(recipe.models)
    person = recipe.draw(0, 0)
    example = models.example()
    assert tuple(example.shape[1:]) == person.train.x.shape[1:]
    assert str(example.dtype).removeprefix("torch.") == str(person.train.x.dtype)
    shapes = set()
    for module in (models.DeviceModel(), models.CloudModel()):
        assert list(signature(module.forward).parameters) == [recipe.input]
        outputs = module.eval()(torch.from_numpy(person.test.x))
        shapes.add(tuple(outputs.shape))
        assert 0 <= recipe.score(outputs.detach().numpy(), person) <= 1
    (shape,) = shapes
    of_one = (len(recipe.classes),) if recipe.classes else person.test.y.shape[1:]
    assert shape[: 1 + len(of_one)] == (len(person.test.y), *of_one)
    assert (len(shape) > 1 + len(of_one)) == (person.train.y.ndim > 1 and person.train.y.dtype == np.int64), "of tokens"


def test_the_size_that_the_device_model_names_is_its_size(recipe: Recipe) -> None:
    models = import_module(recipe.models)
    count = sum(parameter.numel() for parameter in models.DeviceModel().parameters())
    assert f"{count:,} parameters" in f"{models.DeviceModel.__doc__} {models.__doc__}"


def test_samples_are_finite_and_their_classes_are_known(recipe: Recipe) -> None:
    for person in people(recipe):
        assert person.trained_on > 2 * len(person.test.y) > 0
        assert len(person.train.y) > 0
        assert len(person.truth) == len(person.test.y)
        assert np.isfinite(person.train.x).all()
        assert 0 <= recipe.baseline(person) <= 1
        if recipe.classes:
            assert set(np.unique(person.train.y)) <= set(range(len(recipe.classes)))
            assert person.train.y.dtype == np.int64
        elif recipe.pretraining is None:
            assert set(np.unique(person.truth)) <= {0, 1}, "marks that only the test knows"


def test_what_needs_no_label_is_as_the_rest_and_no_part_of_the_test(recipe: Recipe) -> None:
    for person in people(recipe):
        assert (person.unlabelled is None) == (recipe.pretraining is None)
        if recipe.pretraining is None or person.unlabelled is None:
            continue
        assert person.unlabelled.x.shape[1:] == person.train.x.shape[1:]
        assert person.unlabelled.y.shape[1:] == person.train.y.shape[1:]
        assert len(person.train.y) < len(person.unlabelled.y) / 10, "few are labelled"
        older = {row.tobytes() for row in person.unlabelled.x}
        assert {row.tobytes() for row in person.train.x} <= older
        shared = [row.tobytes() in older for row in person.test.x]
        assert np.mean(shared) < 0.05, "but for what is the same by chance"


def test_the_control_of_pretraining_is_the_same_people_with_all_labels(recipe: Recipe) -> None:
    if recipe.pretraining is None:
        return
    few, every = recipe.draw(2, 3), recipe.pretraining.draw(2, 3)
    assert np.array_equal(few.test.x, every.test.x) and np.array_equal(few.truth, every.truth)
    assert few.unlabelled is not None and np.array_equal(every.train.x, few.unlabelled.x)
    assert len(few.train.y) < len(every.train.y)


def test_people_differ_more_than_the_two_halves_of_one(recipe: Recipe) -> None:
    """In their classes, or where there are none in their samples."""
    drawn = people(recipe)

    def apart(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.abs(one - other).mean())

    def profile(person: Person, rows: slice) -> np.ndarray:
        if recipe.pretraining is not None:  # which words, since places in a message mean little
            words = person.pretrained_on.x[rows].astype(np.int64).ravel()
            return np.asarray(np.bincount(words[words > 0], minlength=1000) / (words > 0).sum())
        if not recipe.classes:
            return np.asarray(person.train.x[rows].mean(axis=0))
        labels = person.train.y[rows].astype(np.int64)
        mixed = np.bincount(labels, minlength=len(recipe.classes)) / len(labels)
        means = person.train.x[rows].mean(axis=0).ravel()
        return np.concatenate([mixed / mixed.mean(), means / np.abs(means).mean()])

    own = [apart(profile(one, slice(0, None, 2)), profile(one, slice(1, None, 2))) for one in drawn]
    others = [apart(profile(a, slice(None)), profile(b, slice(None))) for a, b in combinations(drawn, 2)]
    assert np.mean(others) > np.mean(own)
