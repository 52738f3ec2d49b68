import msgspec

from coterie.recipes.shipped import expected_of
from coterie.recipes.table import verdict
from coterie_recipes import load


def test_a_promise_of_the_mean_is_not_broken_by_one_seed() -> None:
    expected = expected_of(load("place"))
    less = msgspec.structs.replace(expected.scores, devices=expected.scores.alone + expected.over_alone - 0.002)
    assert verdict(expected.scores, expected).startswith("As promised: +0.033 over alone")
    assert verdict(less, expected).startswith(
        "Less than is promised of the mean of 5 seeds, as of one seed may be: +0.018"
    )
    assert verdict(less, expected, seeds=5).startswith("NOT as promised of the mean: +0.018")
