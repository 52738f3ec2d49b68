import pytest

from coterie.sdk.errors import InvalidPlan
from coterie.sdk.plans import plan, presets
from coterie_learning.plan import parse_plan, plan_document
from coterie_learning.plan import presets as shipped


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_what_is_shipped(name: str) -> None:
    assert plan(name) == plan_document(shipped()[name])


def test_single_fields_change_and_the_rest_stays() -> None:
    before, made = plan("fedprox"), plan("fedprox", local={"mu": 0.5}, requirements={"charging": False})
    assert made["local"] == {**before["local"], "mu": 0.5}
    assert made["requirements"] == {**before["requirements"], "charging": False}
    assert {slot for slot in made if made[slot] != before[slot]} == {"local", "requirements"}


def test_another_kind_has_its_own_defaults() -> None:
    made = plan("fedprox", codec="float32", local={"kind": "sgd", "epochs": 7})
    expected = parse_plan({"codec": {"kind": "float32"}, "local": {"kind": "sgd", "epochs": 7}})
    assert (made["codec"], made["local"]) == (plan_document(expected)["codec"], plan_document(expected)["local"])


@pytest.mark.parametrize(
    ("name", "slots", "code", "says"),
    [
        ("fedprx", {}, "sdk.unknown_preset", "nearest is 'fedprox'; there are cartel"),
        ("fedavg", {"local": {"lr": 0.1}}, "plan.invalid", "nearest is 'learning_rate'; it knows clip_norm"),
        ("fedavg", {"locals": {}}, "plan.invalid", "nearest is 'local'; it knows codec"),
        ("fedavg", {"codec": "int88"}, "plan.unknown_kind", "nearest is 'int8'; it knows float32"),
        ("fedavg", {"local": {"epochs": 0}}, "plan.invalid", "epochs"),
        ("fedavg", {"local": {"kind": "distill"}, "merge": "distill", "rollout": "canary"}, "plan.invalid", "rollout"),
    ],
)
def test_what_no_plan_has_is_told(name: str, slots: dict[str, object], code: str, says: str) -> None:
    with pytest.raises(InvalidPlan, match=says) as caught:
        plan(name, **slots)
    assert caught.value.code == code
