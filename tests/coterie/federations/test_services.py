import pytest
from django.db import IntegrityError, transaction

from coterie.federations.errors import (
    HeldOutDoesNotFit,
    NameTaken,
    PairInUse,
    PairNotReady,
    PlanChanged,
    PlanDoesNotFit,
    WrongState,
)
from coterie.federations.models import Federation
from coterie.federations.selectors import federations_of, members
from coterie.federations.services import (
    change_plan,
    create_federation,
    finish_federation,
    pause_federation,
    start_federation,
)
from coterie.fleet.services import BadTag
from coterie.registry.models import ModelPair
from coterie_wire.errors import WireError
from tests.coterie.world import START, make_dataset, make_device, make_pair

pytestmark = pytest.mark.django_db


def make(name: str = "digits", *, pair: ModelPair | None = None, **given: object) -> Federation:
    return create_federation(**{"plan": {}, "name": name, "pair": pair or make_pair(name), "now": START, **given})


def test_a_plan_is_kept_with_all_its_hyperparameters() -> None:
    assert make().plan["pace"]["over_selection"] == 1.3


def test_a_name_is_taken_once() -> None:
    make()
    with pytest.raises(NameTaken):
        make("Digits", pair=make_pair("other"))


def test_a_pair_must_be_ready() -> None:
    pair = make_pair()
    pair.state = ModelPair.State.REJECTED
    with pytest.raises(PairNotReady):
        make(pair=pair)


@pytest.mark.parametrize("tag", ["Pi", "a b", '"', "é"])
def test_its_tag_must_be_one_that_a_device_can_carry(tag: str) -> None:
    with pytest.raises(BadTag):
        make(device_tag=tag)


@pytest.mark.parametrize(("shape", "classes"), [((5,), 3), ((2, 2), 3), ((4,), 4)])
def test_held_out_data_must_fit_the_model(shape: tuple[int, ...], classes: int) -> None:
    with pytest.raises(HeldOutDoesNotFit):
        make(held_out=make_dataset(shape=shape, classes=classes))


def test_held_out_data_that_fit_are_taken() -> None:
    assert make(held_out=make_dataset()).held_out is not None


@pytest.mark.parametrize(
    ("asked", "recipe"), [({"weight_decay": 0.1}, '"weight_decay": true'), ({"clip_norm": 1.0}, '"clipping": true')]
)
def test_a_plan_asks_nothing_that_the_train_step_has_not(asked: dict[str, float], recipe: str) -> None:
    with pytest.raises(PlanDoesNotFit, match=f"compiled without; .* submit the model again with .*{recipe}"):
        make(plan={"local": {"kind": "sgd", **asked}})


def test_a_plan_changes_to_a_valid_one_only() -> None:
    federation = make()
    change_plan(federation=federation, plan={"local": {"kind": "prox"}})
    with pytest.raises(WireError):
        change_plan(federation=federation, plan={"local": {"kind": "nothing"}})
    federation.refresh_from_db()
    assert federation.plan["local"]["kind"] == "prox"


def test_it_starts_pauses_goes_on_and_finishes() -> None:
    federation = make()
    start_federation(federation=federation, now=START)
    pause_federation(federation=federation, now=START)
    start_federation(federation=federation, now=START)
    finish_federation(federation=federation, now=START)
    assert federation.state == "finished"
    with pytest.raises(WrongState):
        start_federation(federation=federation, now=START)
    with pytest.raises(WrongState):
        pause_federation(federation=federation, now=START)


def test_a_draft_cannot_be_paused() -> None:
    with pytest.raises(WrongState):
        pause_federation(federation=make(), now=START)


def test_a_pair_serves_one_active_federation() -> None:
    first, second = make("first", pair=make_pair()), None
    start_federation(federation=first, now=START)
    second = make("second", pair=first.pair)
    with pytest.raises(PairInUse), transaction.atomic():
        start_federation(federation=second, now=START)
    finish_federation(federation=first, now=START)
    start_federation(federation=second, now=START)


def test_the_database_itself_refuses_what_cannot_be() -> None:
    federation = make()
    with pytest.raises(IntegrityError), transaction.atomic():
        Federation.objects.filter(pk=federation.pk).update(state="dancing")
    with pytest.raises(IntegrityError), transaction.atomic():
        Federation.objects.filter(pk=federation.pk).update(tolerance=2)


def test_members_carry_its_tag() -> None:
    everyone, kiosks = make("everyone"), make("kiosks", device_tag="kiosk")
    kiosk, phone = make_device("kiosk", tags=("kiosk", "lobby")), make_device("phone")
    assert set(members(everyone)) == {kiosk, phone}
    assert set(members(kiosks)) == {kiosk}
    for federation in (everyone, kiosks):
        start_federation(federation=federation, now=START)
    assert set(federations_of(kiosk)) == {everyone, kiosks}
    assert set(federations_of(phone)) == {everyone}


def test_a_plan_that_somebody_else_has_changed_meanwhile_is_not_replaced_by_one_made_from_the_former() -> None:
    federation = make()
    read = dict(federation.plan)
    change_plan(federation=federation, plan={"codec": {"kind": "float32"}}, instead_of=read)
    with pytest.raises(PlanChanged):
        change_plan(federation=federation, plan={"local": {"kind": "sgd", "epochs": 3}}, instead_of=read)
    federation.refresh_from_db()
    assert federation.plan["codec"]["kind"] == "float32"
    change_plan(federation=federation, plan={"local": {"kind": "sgd", "epochs": 3}}, instead_of=dict(federation.plan))


def test_a_plan_is_found_unchanged_whatever_it_leaves_out_and_where_it_holds_lists() -> None:
    in_phases = {"rollout": {"kind": "canary", "phases": [{"share": 0.5}]}}
    federation = make(plan=in_phases)
    federation.refresh_from_db()
    change_plan(federation=federation, plan={}, instead_of=federation.plan)
    change_plan(federation=federation, plan=in_phases, instead_of={})
