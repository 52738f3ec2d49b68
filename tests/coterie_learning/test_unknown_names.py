import pytest

from coterie.compile.recipe import parse_recipe
from coterie_learning.plan import parse_plan
from coterie_learning.unknown_names import nearest
from coterie_wire.errors import WireError


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lr", "learning_rate"),
        ("learn_rate", "learning_rate"),
        ("momentom", "momentum"),
        ("WD", "weight_decay"),
        ("epoch", "epochs"),
    ],
)
def test_the_nearest_name_is_the_one_that_was_meant(name: str, meant: str) -> None:
    assert nearest(name, ["epochs", "learning_rate", "momentum", "weight_decay", "clip_norm"]) == meant


def test_nothing_is_near_where_nothing_is_known() -> None:
    assert nearest("lr", []) is None


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (
            {"local": {"kind": "sgd", "lr": 0.1}},
            "slot local, kind sgd: there is no 'lr', the nearest is 'learning_rate'",
        ),
        ({"local": {"kind": "sgd", "lr": 0.1}}, "it knows .*batch_size.*epochs.*momentum|it knows .*epochs.*momentum"),
        ({"locals": {"kind": "sgd"}}, "plan: there is no 'locals', the nearest is 'local'; it knows codec, .*rollout"),
        ({"requirements": {"wifi": True}}, "requirements: there is no 'wifi'.*it knows .*charging"),
        ({"privacy": {"kind": "none", "sigma": 1}}, "slot privacy, kind none: there is no 'sigma'"),
        (
            {"merge": {"kind": "fedavg"}},
            "slot merge has no kind 'fedavg', the nearest is 'fed_avg'; it knows .*fed_avg",
        ),
        ({"pace": {"target": 3}}, "slot pace has no kind None; it knows"),
    ],
)
def test_a_plan_with_a_wrong_name_is_told_the_right_ones(plan: dict[str, object], says: str) -> None:
    with pytest.raises(WireError, match=says):
        parse_plan(plan)


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ({"optimizer": {"kind": "adam"}}, "recipe: there is no 'optimizer', the nearest is 'optimiser'"),
        (
            {"trains": {"kind": "adapters", "r": 4}},
            "slot trains, kind adapters: there is no 'r', the nearest is 'rank'",
        ),
    ],
)
def test_so_is_a_recipe(recipe: dict[str, object], says: str) -> None:
    with pytest.raises(WireError, match=says) as caught:
        parse_recipe(recipe)
    assert caught.value.code == "recipe.invalid"
