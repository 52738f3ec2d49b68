"""Two projects: whoever acts in one neither sees nor changes anything of the other, by whatever address of the API.

The addresses are those of the API's description, so that none is left out.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import FullResultSet
from django.core.management import call_command
from django.db import connection
from django.http import FileResponse, StreamingHttpResponse
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from coterie.accounts.models import ApiToken, Operator, Project
from coterie.accounts.projects import LastProject, change_project, create_organisation, create_project, give_role
from coterie.accounts.roles import CHOSEN, actor_of
from coterie.accounts.services import create_operator, issue_token
from coterie.core.acting import OperatorRole, acting_as
from coterie.core.separation import InActingProject, OtherProject, ProjectManager, Separated, acting_in
from coterie.federations.selectors import followed_federation, member_counts, members
from coterie.federations.services import create_federation
from coterie.fleet.credentials import renew_credentials
from coterie.fleet.models import Device, DeviceLatency
from coterie.fleet.services import create_enrolment_token, enrol_device
from coterie.gateway.console.frames import AnyDocument
from coterie.gateway.console.hub import Hub
from coterie.gateway.console.reading import KINDS
from coterie.seeding import lineages
from coterie.webhooks.models import Event
from coterie.webhooks.services import create_webhook
from tests.coterie.audit.test_every_write import HOOK, WRITES, asked, send
from tests.coterie.conftest import CAPABILITIES
from tests.coterie.downloads import downloaded
from tests.coterie.world import START, make_dataset, make_device, make_federation, make_pair, make_version

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("idle_example", "writable")]

OF_THE_INSTALLATION: Mapping[str, str] = {
    "accounts.Operator": "people may have roles in several projects; the list shows those of one's own",
    "accounts.Organisation": "has projects",
    "accounts.Project": "is what is kept apart",
    "accounts.CustomRole": "is an organisation's; the list shows those of organisations in which one has a role",
    "accounts.Grant": "is in a project or an organisation; the list shows those of one's own",
    "accounts.SignOnRole": "is in a project or an organisation; the list shows those of one's own",
    "accounts.ApiToken": "is a person's; the list shows one's own, of the project that one acts in",
    "accounts.SavedFilter": "is a person's, who alone sees it",
    "accounts.SecondFactor": "is a person's, who alone sees it",
    "accounts.Passkey": "is a person's, who alone sees it",
    "accounts.PasskeyChallenge": "is a person's, or of who signs in; no address of the API shows it",
    "accounts.RecoveryCode": "is a person's, who alone sees it",
    "accounts.BrowserSession": "is a person's, who alone sees it",
    "registry.Blob": "is what a hash stands for, in whichever projects; shown to who has a role in the installation",
    "cluster.Host": "is a machine that works for all projects; shown to who has a role in the installation",
    "cluster.Gang": "waits among those of all projects; shown to who has a role in the installation",
    "cluster.GangShare": "is of a gang and a host",
    "fleet.SigningKeyChange": "is of the platform's one key",
    "fleet.DeviceAuthority": "is of one of the platform's keys; no address of the API shows it",
    "fleet.PresenceKept": "says of the whole table of presence that it is kept; no address of the API shows it",
    "exports.ExportedUntil": "is of an exporter, which is told of all projects; no address of the API shows it",
    "fleet.FleetSize": "is how many devices the platform serves; no address of the API shows it",
    "rounds.Steering": "is how the devices of the whole fleet come back; no address of the API shows it",
    "secure_sums.Identity": "is one log, whose hashes are a chain; the list shows entries of one's own devices",
}
"""Models whose rows belong to no project, or to several, and why nobody sees those of others all the same."""

MAKES_ITS_OWN = {
    ("post", "/api/tokens/"),
    ("post", "/api/session/"),
    ("delete", "/api/session/"),
    ("post", "/api/session/second-factor/"),
    ("post", "/api/saved-filters/"),
    ("post", "/api/webhooks/"),
    ("post", "/api/alert-channels/"),
    ("post", "/api/enrolment-tokens/"),
    ("post", "/api/credential-renewals/"),
    ("post", "/api/pairs/"),
    ("post", "/api/datasets/"),
    ("post", "/api/simulated-fleets/"),
    ("post", "/api/agent-rollouts/"),
    ("post", "/api/example/"),
}
"""Writes that name nothing that there is: they succeed, in the project of who sends them."""


def models() -> list[Any]:
    return [model for model in apps.get_models() if model.__module__.startswith("coterie.")]


def test_every_model_says_how_it_reaches_its_project_or_why_it_has_none() -> None:
    apart = {model._meta.label for model in models() if issubclass(model, Separated)}
    assert apart.isdisjoint(OF_THE_INSTALLATION)
    assert {model._meta.label for model in models()} == apart | OF_THE_INSTALLATION.keys()
    for model in models():
        if issubclass(model, Separated):
            assert isinstance(model._default_manager, ProjectManager), model
            assert "InActingProject" in repr(model._default_manager.all().query.where), model
            for path in [model.project_path] if isinstance(model.project_path, str) else model.project_path:
                assert list(model._base_manager.filter(**{path: 0})) == []  # it is a path to a project


@pytest.fixture
def ours() -> Project:
    """The project whose rows somebody else is after."""
    return Project.objects.get()


@pytest.fixture
def theirs() -> Project:
    return create_project(organisation=create_organisation(name="Other", now=START), name="other", now=START)


def member(project: Project, name: str, role: OperatorRole = OperatorRole.ADMINISTRATOR) -> APIClient:
    """Somebody signed in who has a role in one project, and none in the installation."""
    operator = create_operator(username=name, role=None).operator
    give_role(operator=operator, role=role, to=project, now=START)
    client = APIClient()
    client.force_login(operator)
    return client


@cache
def readings(project: int) -> Mapping[str, tuple[str, tuple[Any, ...]]]:
    """How all rows of a project are read, by model, in SQL: it takes ten times as long to write as to perform."""
    with acting_in(project):
        return {
            model._meta.label: model._default_manager.order_by().values().query.sql_with_params()
            for model in models()
            if issubclass(model, Separated)
        }


def everything(project: Project) -> dict[str, list[Any]]:
    """All rows of a project."""
    with connection.cursor() as cursor:
        return {
            label: sorted(map(str, cursor.execute(sql, values).fetchall()))
            for label, (sql, values) in readings(project.pk).items()
        }


@pytest.mark.parametrize("endpoint", WRITES, ids=" ".join)
def test_nothing_of_another_project_is_changed(endpoint: tuple[str, str], ours: Project, theirs: Project) -> None:
    with acting_in(ours.pk):
        write = WRITES[endpoint](create_operator(username="me", role=None).operator)
    intruder = member(theirs, "eve")
    before = everything(ours)
    status = send(intruder, endpoint[0], write)
    assert everything(ours) == before
    if "{" in endpoint[1]:
        assert status in (403, 404)
    elif endpoint not in MAKES_ITS_OWN:
        assert 400 <= status < 500
    if status == 403:
        with acting_as(actor_of(Operator.objects.get(username="eve"))):
            assert endpoint[1].startswith(OF_ALL_PROJECTS), "what one may do in one's own project is not found here"


OF_ALL_PROJECTS = (
    "/api/blobs/",
    "/api/organisations/",
    "/api/operators/",
    "/api/projects/",
    "/api/session/",
)


def seed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weeks of a fleet."""
    short = tuple(type(task)(**{**vars(task), "rounds": 4}) for task in lineages.TASKS)
    monkeypatch.setattr("coterie.seeding.management.commands.seed_fleet.TASKS", short)
    with acting_in(project.pk):
        call_command("seed_fleet", devices=60, stdout=StringIO())
        asked()
        renew_credentials(leaked=False, now=START)


@cache
def read_paths() -> list[str]:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return [path for path, operations in paths.items() if "get" in operations]


MOMENT = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+]00:00)")


def body_of(client: APIClient, path: str) -> bytes:
    """What came, without moments."""
    response = client.get(path)
    whole = downloaded(response) if isinstance(response, StreamingHttpResponse) else response.content
    return MOMENT.sub(b"", whole)


def looked_at(client: APIClient, *queries: str) -> dict[str, bytes]:
    """Every answer that takes no name of anything: lists, the overview, and what else `queries` ask of them."""
    plain = [path for path in read_paths() if "{" not in path]
    return {f"{path}{query}": body_of(client, f"{path}{query}") for path in plain for query in ("", *queries)}


def told(project: Project) -> list[AnyDocument]:
    """What the console's socket begins with in a project."""
    with acting_in(None):
        watched = frozenset(str(key) for key in Device.objects.values_list("pk", flat=True))
    return Hub(project.pk)._read(KINDS, watched)


def test_nothing_of_another_project_is_seen(ours: Project, theirs: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    intruder, insider = member(theirs, "eve"), member(ours, "ada")
    searched, downloads = "?search=a", "?format=csv&page_size=500"
    before, told_before, rows = looked_at(intruder, searched, downloads), told(theirs), everything(theirs)
    nothing = looked_at(insider)
    seed(ours, monkeypatch)
    assert looked_at(intruder, searched, downloads) == before
    assert everything(theirs) == rows
    assert told(theirs) == told_before
    assert len(told(ours)) > len(told_before) + 60
    seen = looked_at(insider)
    assert sum(seen[path] != nothing[path] for path in seen) >= 30, "our project has something to see"


@pytest.mark.long
def test_no_key_of_another_project_opens_anything(
    ours: Project, theirs: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(ours, monkeypatch)
    intruder, insider = member(theirs, "eve"), member(ours, "ada")
    opened = 0
    for path in read_paths():
        collection, _, rest = path.partition("{")
        if not rest:
            continue
        rows = insider.get(collection).json().get("results", [])
        for row in rows[:2]:
            key = str(row.get("id", row.get("sha256", row.get("position"))))
            address = re.sub(r"\{.*?\}", key, path)
            assert intruder.get(address).status_code in ((403,) if "/blobs/" in path else (404,)), address
            answer = insider.get(address)
            if isinstance(answer, FileResponse):
                answer.getvalue()  # which closes the file
            assert answer.status_code < 500
            opened += answer.status_code == 200
    assert opened > 60


def test_without_the_filter_rows_of_others_are_seen(
    ours: Project, theirs: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the tests above look for is the filter's doing."""

    def let_through(*_: object) -> None:
        raise FullResultSet

    intruder = member(theirs, "eve")
    with acting_in(ours.pk):
        device = make_device("hall")
    path = f"/api/devices/{device.pk}/"
    assert (intruder.get("/api/devices/").json()["count"], intruder.get(path).status_code) == (0, 404)
    monkeypatch.setattr(InActingProject, "as_sql", let_through)
    assert (intruder.get("/api/devices/").json()["count"], intruder.get(path).status_code) == (1, 200)


def test_the_rows_of_a_project_are_not_sorted_to_be_filtered(ours: Project) -> None:
    with acting_in(ours.pk):
        filtered = str(DeviceLatency.objects.order_by().query)
    assert "project_id" in filtered
    assert "ORDER BY" not in filtered


def test_a_token_acts_in_the_project_that_it_was_made_in(ours: Project, theirs: Project) -> None:
    """Neither it nor what it makes reaches further, whatever its owner may do elsewhere."""
    member(theirs, "eve")
    eve = Operator.objects.get(username="eve")
    give_role(operator=eve, role=OperatorRole.ADMINISTRATOR, to=ours, now=START)
    with acting_as(actor_of(eve, session={CHOSEN: theirs.pk})):
        secret = issue_token(operator=eve, name="ci", now=START).secret
    client = APIClient(headers={"authorization": f"Bearer {secret}"})
    with acting_in(ours.pk):
        make_device("hall")
    with acting_in(theirs.pk):
        make_device("lobby")
    assert [device["name"] for device in client.get("/api/devices/").json()["results"]] == ["lobby"]
    assert client.post("/api/tokens/", {"name": "next"}).status_code == 201
    assert set(ApiToken.objects.values_list("project", flat=True)) == {theirs.pk}
    refused = {
        client.post("/api/operators/", {"username": "mallory"}).json()["code"],
        client.post("/api/session/project/", {"project": ours.pk}).json()["code"],
        client.post("/api/session/password/", {"new": "a long enough password"}).json()["code"],
        client.post("/api/grants/", {"username": "eve", "role": "viewer", "project": theirs.pk}).json()["code"],
    }
    assert refused == {"acting.token_of_project"}


def test_one_acts_in_the_project_that_one_chooses(ours: Project, theirs: Project) -> None:
    eve = member(theirs, "eve")
    assert eve.post("/api/session/project/", {"project": ours.pk}).json()["code"] == "accounts.project_unknown"
    assert eve.post("/api/session/project/", {"project": None}, format="json").status_code == 404
    give_role(operator=Operator.objects.get(username="eve"), role=OperatorRole.VIEWER, to=ours, now=START)
    assert eve.post("/api/session/project/", {"project": ours.pk}).status_code == 204
    session = eve.get("/api/session/").json()
    assert session["project"]["id"] == ours.pk
    assert {project["id"] for project in session["projects"]} == {ours.pk, theirs.pk}
    may = {line["action"]: line["allowed"] for line in session["may"]}
    assert not may["fleet.revoke_device"], "a viewer here, an administrator there"
    project = Project.objects.get(pk=ours.pk)
    change_project(project=project, archived=True, now=START)
    assert eve.get("/api/session/").json()["project"]["id"] == theirs.pk


def test_roles_are_given_where_one_is_an_administrator(ours: Project, theirs: Project) -> None:
    eve = member(theirs, "eve")
    create_operator(username="bob", role=None)
    give = {"username": "bob", "role": "administrator"}
    assert eve.post("/api/grants/", {**give, "project": ours.pk}).status_code == 400, "it does not exist for her"
    assert eve.post("/api/grants/", {**give, "organisation": theirs.organisation_id}).status_code == 403
    assert eve.post("/api/grants/", {**give, "project": theirs.pk}).status_code == 201
    assert eve.post("/api/projects/", {"organisation": theirs.organisation_id, "name": "x"}).status_code == 403
    assert eve.patch(f"/api/projects/{ours.pk}/", {"name": "x"}).status_code == 404
    assert {person["username"] for person in eve.get("/api/operators/").json()["results"]} == {"eve", "bob"}


def test_who_has_a_role_in_the_installation_sees_all_and_makes_things_in_a_chosen_project(
    api: APIClient, ours: Project, theirs: Project
) -> None:
    for project in (ours, theirs):
        with acting_in(project.pk):
            make_device(f"of {project.pk}")
    assert api.get("/api/devices/").json()["count"] == 2
    wanted = {"label": "x", "expires_at": "2040-01-01T00:00Z"}
    assert api.post("/api/enrolment-tokens/", wanted).json()["code"] == "acting.project_needed"


def test_a_device_joins_the_project_of_its_token_and_learns_there_alone(ours: Project, theirs: Project) -> None:
    with acting_in(theirs.pk):
        secret = create_enrolment_token(label="x", expires_at=START + timedelta(hours=1), now=START).secret
    with acting_in(ours.pk):
        federation = make_federation(make_version(make_pair()).pair)
        webhook = create_webhook(name="x", url=HOOK, events=list(Event), now=START).webhook
    device = enrol_device(secret=secret, name="hall", capabilities=CAPABILITIES, now=START).device
    assert device.project_id == theirs.pk
    assert not members(federation).exists() and member_counts([federation]) == {federation.pk: 0}
    assert followed_federation(device) is None
    assert not webhook.deliveries.exists(), "it is another project's device that has joined"


def test_what_is_of_two_projects_is_not_put_together(ours: Project, theirs: Project) -> None:
    with acting_in(ours.pk):
        pair = make_pair()
    with acting_in(theirs.pk):
        dataset = make_dataset()
    with pytest.raises(OtherProject):
        create_federation(name="both", pair=pair, plan={}, held_out=dataset, now=START)


def test_the_only_project_that_is_left_stays(ours: Project) -> None:
    with pytest.raises(LastProject):
        change_project(project=ours, archived=True, now=START)
