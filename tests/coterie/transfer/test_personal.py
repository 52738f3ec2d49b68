"""What devices tell of their personal models, and how it is shown."""

from uuid import uuid4

import pytest
from django.test import Client
from rest_framework.test import APIClient

from coterie.federations.models import Federation
from coterie.federations.services import create_federation, finish_federation, start_federation
from coterie.fleet.services import revoke_device
from coterie.transfer.errors import NoPersonalModels, NotAMember
from coterie.transfer.models import PersonalFigures
from coterie.transfer.personal import record_personal_figures
from coterie.transfer.selectors import effective_plan_of
from coterie_learning.device_plan import parse_device_plan
from coterie_wire.personal import ReportPersonal
from tests.coterie.world import START, later, make_device, make_pair, make_version

pytestmark = pytest.mark.django_db
PERSONAL = {"kind": "fine_tuned", "epochs": 3}


def make_federation(slug: str = "people", **slots: object) -> Federation:
    pair = make_pair(slug)
    make_version(pair)
    federation = create_federation(name=slug, pair=pair, plan=slots, now=START)
    start_federation(federation=federation, now=START)
    return federation


def report(own: float | None, version: float | None = 0.5, *, answers: bool = True) -> ReportPersonal:
    return ReportPersonal("people", str(uuid4()), answers, 12, version, own)


def test_members_are_told_how_to_train_between_rounds() -> None:
    standing = effective_plan_of(make_federation(personal=PERSONAL))
    assert standing is not None
    told = parse_device_plan(standing.plan)
    assert (told.personal.name, told.local_training_every_s) == ("fine_tuned", None)
    assert effective_plan_of(make_federation("shared")) is None


def test_what_a_device_told_last_counts(api: APIClient) -> None:
    federation = make_federation(personal=PERSONAL)
    shown = f"/api/federations/{federation.pk}/personal-models/"
    assert api.get(shown).json() == {
        "trained": "between rounds",
        "count": 0,
        "answering": 0,
        "answers": None,
        "version": None,
    }
    members = [make_device(f"m{number}") for number in range(11)]
    for number, member in enumerate(members):
        record_personal_figures(device=member, report=report(None, None), now=later(0))
        record_personal_figures(device=member, report=report(number / 10, answers=number > 5), now=later(1))
    gone = make_device("gone")
    record_personal_figures(device=gone, report=report(1.0), now=later(1))
    revoke_device(device=gone, now=later(2))
    found = api.get(shown).json()
    assert (found["count"], found["answering"]) == (11, 5)
    assert found["answers"] == {"median": 0.5, "worst_decile": 0.0, "tenths": [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]}
    assert found["version"]["tenths"] == [0, 0, 0, 0, 0, 11, 0, 0, 0, 0]
    assert PersonalFigures.objects.count() == 12


def test_who_tells_no_accuracy_is_counted(api: APIClient) -> None:
    federation = make_federation(personal=PERSONAL)
    record_personal_figures(device=make_device("m"), report=report(None, None), now=later(0))
    found = api.get(f"/api/federations/{federation.pk}/personal-models/").json()
    assert (found["count"], found["answering"], found["answers"], found["version"]) == (1, 1, None, None)


def test_members_go_on_when_the_last_round_is_over() -> None:
    federation = make_federation(personal=PERSONAL)
    member = make_device("m")
    finish_federation(federation=federation, now=START)
    assert effective_plan_of(federation) is not None
    record_personal_figures(device=member, report=report(0.9), now=later(2))
    assert PersonalFigures.objects.get().own_accuracy == 0.9


def test_who_is_no_member_or_has_no_personal_model_is_refused() -> None:
    with pytest.raises(NotAMember):
        record_personal_figures(device=make_device("m"), report=report(1.0), now=later(0))
    make_federation()
    with pytest.raises(NoPersonalModels):
        record_personal_figures(device=make_device("n"), report=report(1.0), now=later(0))


@pytest.mark.parametrize(
    ("local", "trained"), [({"kind": "distill", "lambda_d": 1.0}, "in rounds"), ({"kind": "sgd"}, None)]
)
def test_a_model_that_rounds_train_is_told_of_too(
    api: APIClient, local: dict[str, object], trained: str | None
) -> None:
    federation = make_federation(local=local)
    if trained is not None:
        record_personal_figures(device=make_device("m"), report=report(0.9), now=later(0))
    found = api.get(f"/api/federations/{federation.pk}/personal-models/").json()
    assert (found["trained"], found["count"]) == (trained, int(trained is not None))


def test_strangers_see_nothing() -> None:
    assert Client().get(f"/api/federations/{uuid4()}/personal-models/").status_code == 401
