"""A role of an organisation's own lets do what is in it and no more; nobody makes or gives one wider than theirs."""

import pytest
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from coterie.accounts.custom_roles import (
    ActionNotGivable,
    CustomRoleInUse,
    CustomRoleNameTaken,
    change_custom_role,
    create_custom_role,
    remove_custom_role,
)
from coterie.accounts.effective import GIVABLE, RoleTooWide
from coterie.accounts.models import CustomRole, Grant, Operator, Organisation, Project
from coterie.accounts.projects import RoleOfOther, create_organisation, create_project, give_role, take_role
from coterie.accounts.roles import CHOSEN, actor_of
from coterie.accounts.second_factor import must_have_one
from coterie.accounts.services import create_operator, issue_token
from coterie.audit.actions import ACTIONS, why_not
from coterie.core.acting import Actor, OperatorRole, RoleNeeded, Scope, acting_as
from tests.coterie.world import START, make_device

pytestmark = pytest.mark.django_db

PAUSING = ("fleet.pause_device", "fleet.resume_device")
GIVING = ("accounts.give_role", "accounts.take_role", "accounts.create_custom_role", "accounts.change_custom_role")


@pytest.fixture
def hospital() -> Organisation:
    return Organisation.objects.get()


@pytest.fixture
def wards(hospital: Organisation) -> Project:
    return Project.objects.get()


@pytest.fixture
def elsewhere() -> Project:
    return create_project(organisation=create_organisation(name="Other", now=START), name="other", now=START)


def role_of(organisation: Organisation, *actions: str, name: str = "caretaker") -> CustomRole:
    return create_custom_role(organisation=organisation, name=name, actions=actions, now=START)


def person(name: str, role: OperatorRole | CustomRole, to: Organisation | Project) -> Operator:
    operator = create_operator(username=name, role=None).operator
    give_role(operator=operator, role=role, to=to, now=START)
    return operator


def may(actor: Actor) -> set[str]:
    return {name for name in ACTIONS if why_not(name, actor) is None}


def of_viewer() -> set[str]:
    return {name for name, action in ACTIONS.items() if action.needs is OperatorRole.VIEWER}


@pytest.mark.parametrize("in_whole_organisation", [True, False])
def test_it_lets_do_what_a_viewer_may_and_what_is_in_it(
    hospital: Organisation, wards: Project, in_whole_organisation: bool
) -> None:
    cara = person("cara", role_of(hospital, *PAUSING), hospital if in_whole_organisation else wards)
    assert may(actor_of(cara)) == of_viewer() | set(PAUSING)


def test_it_holds_where_it_was_given(hospital: Organisation, wards: Project, elsewhere: Project) -> None:
    cara = person("cara", role_of(hospital, *PAUSING), wards)
    give_role(operator=cara, role=OperatorRole.VIEWER, to=elsewhere, now=START)
    assert may(actor_of(cara, session={CHOSEN: elsewhere.pk})) == of_viewer()
    assert may(actor_of(cara, session={CHOSEN: wards.pk})) > of_viewer()


def test_roles_in_a_project_and_its_organisation_add_up(hospital: Organisation, wards: Project) -> None:
    cara = person("cara", role_of(hospital, PAUSING[0]), wards)
    give_role(operator=cara, role=role_of(hospital, PAUSING[1], name="night"), to=hospital, now=START)
    assert may(actor_of(cara)) == of_viewer() | set(PAUSING)
    give_role(operator=cara, role=OperatorRole.OPERATOR, to=hospital, now=START)
    assert may(actor_of(cara)) > of_viewer() | set(PAUSING)


def test_a_change_holds_at_once_for_all_who_have_it(hospital: Organisation, wards: Project) -> None:
    role = role_of(hospital, *PAUSING)
    cara = person("cara", role, wards)
    change_custom_role(role=role, actions=["fleet.archive_device"], name="archivist")
    assert may(actor_of(cara)) == of_viewer() | {"fleet.archive_device"}
    with pytest.raises(CustomRoleInUse):
        remove_custom_role(role=role)
    take_role(grant=Grant.objects.get())
    remove_custom_role(role=role)
    assert not CustomRole.objects.exists()


def test_requests_are_let_through_by_it_and_refused_without(hospital: Organisation, wards: Project) -> None:
    device = make_device("hall")
    client = APIClient()
    client.force_login(person("cara", role_of(hospital, *PAUSING), wards))
    assert client.post(f"/api/devices/{device.pk}/pause/").status_code == 200
    refused = client.post(f"/api/devices/{device.pk}/revoke/")
    assert (refused.status_code, refused.json()["code"]) == (403, "acting.role_needed")
    allowed = {line["action"] for line in client.get("/api/session/").json()["may"] if line["allowed"]}
    assert set(PAUSING) < allowed
    assert "fleet.revoke_device" not in allowed


def test_a_token_is_bounded_by_its_scopes_and_by_the_role(hospital: Organisation, wards: Project) -> None:
    cara = person("cara", role_of(hospital, *PAUSING, "federations.start_federation"), wards)
    with acting_as(actor_of(cara)):
        token = issue_token(operator=cara, name="ci", scopes=[Scope.FLEET], now=START).token
    assert may(actor_of(cara, token)) & set(GIVABLE) == set(PAUSING)
    take_role(grant=Grant.objects.get())
    assert may(actor_of(cara, token)) == set()


def test_nothing_of_the_whole_installation_is_in_one(hospital: Organisation) -> None:
    assert not any(ACTIONS[name].of_installation for name in GIVABLE)
    for action in ("accounts.create_operator", "accounts.save_filter", "fleet.no_such_thing"):
        with pytest.raises(ActionNotGivable):
            role_of(hospital, action)


def test_names_are_taken_once_in_an_organisation(hospital: Organisation, elsewhere: Project) -> None:
    role_of(hospital, *PAUSING)
    for name in ("caretaker", "operator"):
        with pytest.raises(CustomRoleNameTaken):
            role_of(hospital, name=name)
    role = role_of(elsewhere.organisation, *PAUSING)
    with pytest.raises(CustomRoleNameTaken):
        change_custom_role(role=role, name="viewer")


def test_nobody_makes_gives_or_widens_more_than_their_own(hospital: Organisation, wards: Project) -> None:
    narrow, wide = role_of(hospital, PAUSING[0], name="narrow"), role_of(hospital, "fleet.revoke_device", name="wide")
    chief = person("chief", role_of(hospital, *PAUSING, *GIVING), hospital)
    boss = person("boss", OperatorRole.ADMINISTRATOR, wards)
    bob = create_operator(username="bob", role=None).operator
    with acting_as(actor_of(chief)):
        role_of(hospital, PAUSING[1], name="half")
        change_custom_role(role=narrow, actions=PAUSING)
        give_role(operator=bob, role=narrow, to=wards, now=START)
        for given in (wide, OperatorRole.OPERATOR, OperatorRole.ADMINISTRATOR):
            with pytest.raises(RoleTooWide):
                give_role(operator=bob, role=given, to=wards, now=START)
        with pytest.raises(RoleTooWide):
            give_role(operator=boss, role=OperatorRole.VIEWER, to=wards, now=START)
        with pytest.raises(RoleTooWide):
            take_role(grant=boss.grants.get())
        with pytest.raises(RoleTooWide):
            role_of(hospital, "fleet.revoke_device", name="wider")
        with pytest.raises(RoleTooWide):
            change_custom_role(role=narrow, actions=[*PAUSING, "fleet.revoke_device"])
        with pytest.raises(RoleTooWide):
            change_custom_role(role=wide, actions=[])
        with pytest.raises(RoleTooWide):
            change_custom_role(role=CustomRole.objects.get(name="caretaker"), actions=[*GIVING, "fleet.revoke_device"])
    assert may(actor_of(bob)) == of_viewer() | set(PAUSING)
    assert may(actor_of(boss)) > may(actor_of(chief))


def test_who_administers_a_project_makes_no_role_of_its_organisation(hospital: Organisation, wards: Project) -> None:
    boss = person("boss", OperatorRole.ADMINISTRATOR, wards)
    role = role_of(hospital, *PAUSING)
    with acting_as(actor_of(boss)):
        for refused in (
            lambda: role_of(hospital, name="mine"),
            lambda: change_custom_role(role=role, name="mine"),
            lambda: remove_custom_role(role=role),
        ):
            with pytest.raises(RoleNeeded):
                refused()
        give_role(operator=boss, role=role, to=wards, now=START)


def test_a_role_is_of_one_organisation_and_not_seen_in_others(
    hospital: Organisation, wards: Project, elsewhere: Project
) -> None:
    ours = role_of(hospital, *PAUSING)
    eve = person("eve", OperatorRole.ADMINISTRATOR, elsewhere.organisation)
    with pytest.raises(RoleOfOther):
        give_role(operator=eve, role=ours, to=elsewhere, now=START)
    client = APIClient()
    client.force_login(eve)
    assert client.get("/api/custom-roles/").json()["count"] == 0
    assert client.get(f"/api/custom-roles/{ours.pk}/").status_code == 404
    wanted = {"username": "eve", "custom_role": ours.pk, "project": elsewhere.pk}
    assert client.post("/api/grants/", wanted).status_code == 400
    theirs = {"organisation": hospital.pk, "name": "x", "actions": []}
    assert client.post("/api/custom-roles/", theirs, format="json").status_code == 400
    assert may(actor_of(Operator.objects.get(username="eve"), session={CHOSEN: wards.pk})) >= of_viewer()


def test_it_is_made_given_shown_and_changed_by_rest(api: APIClient, hospital: Organisation, wards: Project) -> None:
    create_operator(username="cara", role=None)
    known = {line["action"]: line for line in api.get("/api/custom-roles/actions/").json()}
    assert known["fleet.pause_device"] == {
        "action": "fleet.pause_device",
        "title": "Pause a device",
        "needs": "operator",
        "scope": "fleet",
    }
    body = {"organisation": hospital.pk, "name": "caretaker", "actions": list(PAUSING)}
    made = api.post("/api/custom-roles/", body, format="json")
    assert (made.status_code, made.json()["actions"]) == (201, sorted(PAUSING))
    role = made.json()["id"]
    both = {"username": "cara", "role": "viewer", "custom_role": role, "project": wards.pk}
    assert api.post("/api/grants/", both).status_code == 400
    del both["role"]
    given = api.post("/api/grants/", both, format="json")
    assert (given.status_code, given.json()["custom_role_name"], given.json()["role"]) == (201, "caretaker", "viewer")
    refused = api.delete(f"/api/custom-roles/{role}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "accounts.custom_role_in_use")
    changed = api.patch(f"/api/custom-roles/{role}/", {"name": "night watch"}, format="json")
    assert (changed.json()["name"], changed.json()["actions"]) == ("night watch", sorted(PAUSING))


def test_it_needs_a_second_factor_where_the_built_in_role_that_may_as_much_does(
    hospital: Organisation, wards: Project, settings: Settings
) -> None:
    settings.SECOND_FACTOR_FOR = ("operator",)
    assert must_have_one(person("cara", role_of(hospital, *PAUSING), wards))
    assert not must_have_one(person("vera", role_of(hospital, name="guest"), wards))


def test_an_action_that_is_no_more_counts_for_nothing(hospital: Organisation, wards: Project) -> None:
    role = role_of(hospital, *PAUSING)
    CustomRole.objects.filter(pk=role.pk).update(
        actions=[*PAUSING, "fleet.of_an_old_version", "fleet.rotate_signing_key"]
    )
    assert may(actor_of(person("cara", CustomRole.objects.get(), wards))) == of_viewer() | set(PAUSING)
