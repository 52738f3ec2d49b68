"""The first device model of a recipe that begins with a backbone, by the steps that a bootstrap takes unless told."""

from dataclasses import dataclass

import msgspec
import numpy as np
import pytest

from coterie.cloud.compression import Compression, Student
from coterie.cloud.distill import STEP_SHARES, distil
from coterie.cloud.epochs import TrainingOutcome
from coterie.cloud.errors import Diverged
from coterie.cloud_training.options import TrainingOptions
from coterie.evaluation.datasets import Dataset
from coterie.recipes.federation import dataset_of
from coterie.recipes.shipped import plan_of
from coterie.recipes.trial import CLOUD, compiled_model, untrained
from coterie.recipes.writing import together
from coterie_recipes import load
from coterie_wire.tensors import Tensors


@dataclass(frozen=True)
class Backbone:
    student: Student
    initial: Tensors
    data: Dataset
    classes: int

    def distilled(self, learning_rate: float) -> tuple[float, TrainingOutcome]:
        """By a teacher that is sure, and right."""
        how = Compression(
            epochs=20,
            patience=20,
            learning_rate=learning_rate,
            momentum=0.9,
            label_weight=TrainingOptions().label_weight,
            validation_share=0.1,
            best_by="accuracy",
            seed=0,
        )
        sure = np.eye(self.classes, dtype=np.float32)[self.data.labels]
        return distil(self.student, self.initial, self.data, sure, how, report=lambda _: None)


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    recipe = load("transfer")
    first = untrained(recipe, plan_of(recipe, devices=2), seed=1)
    model = compiled_model(recipe.name, msgspec.json.encode(recipe.training))
    volunteers = [recipe.draw(1, CLOUD + number).train for number in range(recipe.cloud_people)]
    student = Student(model.spec, model.train_step, model.predict, model.frozen)
    return Backbone(student, first.parameters, dataset_of(together(volunteers), first), len(recipe.classes))


def test_a_step_that_is_too_large_for_adapters_on_a_backbone_is_made_smaller(backbone: Backbone) -> None:
    usual = TrainingOptions().distil_learning_rate
    taken, found = backbone.distilled(usual)
    assert taken in [usual * share for share in STEP_SHARES[1:]]
    assert found.evaluation.accuracy is not None and found.evaluation.accuracy > 0.6


def test_a_step_that_is_right_is_kept(backbone: Backbone) -> None:
    taken, found = backbone.distilled(0.01)
    assert taken == 0.01
    assert found.evaluation.accuracy is not None and found.evaluation.accuracy > 0.6


def test_where_no_share_of_the_step_is_small_enough_it_is_told(backbone: Backbone) -> None:
    with pytest.raises(Diverged, match="use a smaller learning rate"):
        backbone.distilled(10.0)
