"""Which data sets the models of a pair can take."""

import msgspec
import pytest
from rest_framework.test import APIClient

from coterie.registry.models import ModelPair
from coterie.registry.selectors import misfit
from coterie_wire.bundle import TensorSpec
from coterie_wire.length import Length
from tests.coterie.world import MODEL, make_dataset, make_pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def of_sequences() -> ModelPair:
    """A pair whose samples are one to nine rows of four numbers."""
    model = msgspec.structs.replace(MODEL, inputs=(TensorSpec("x", "float32", (9, 4)),), length=Length(1, 9, {"x": 0}))
    pair = make_pair()
    pair.spec = msgspec.to_builtins(model)
    pair.save()
    return pair


def test_samples_in_the_shape_that_the_model_takes_fit() -> None:
    pair = make_pair()
    assert misfit(pair, make_dataset()) is None
    assert misfit(pair, make_dataset(shape=(5,))) == "its samples are x float32 [5], the model takes x float32 [4]"
    assert misfit(pair, make_dataset(classes=4)) == "it has 4 classes, the model knows 3"


def test_the_console_is_told_what_fits_a_pair_and_what_does_not(api: APIClient) -> None:
    pair = make_pair()
    make_dataset(shape=(5,))
    make_dataset()
    told = api.get(f"/api/pairs/{pair.pk}/datasets/").json()
    fits = "its samples are x float32 [5], the model takes x float32 [4]"
    assert sorted(one["misfit"] for one in told) == ["", fits]
    ModelPair.objects.filter(pk=pair.pk).update(state=ModelPair.State.REJECTED)
    assert api.get(f"/api/pairs/{pair.pk}/datasets/").json() == []


@pytest.mark.parametrize("length", [1, 4, 9])
def test_samples_of_every_length_that_the_model_takes_fit(of_sequences: ModelPair, length: int) -> None:
    assert misfit(of_sequences, make_dataset(shape=(length, 4))) is None


@pytest.mark.parametrize("shape", [(10, 4), (4,), (4, 5)])
def test_samples_beyond_the_lengths_that_the_model_takes_do_not_fit(
    of_sequences: ModelPair, shape: tuple[int, ...]
) -> None:
    assert "the model takes" in str(misfit(of_sequences, make_dataset(shape=shape)))
