"""Launchers in the operators' REST API: which there are, which a job asks for, and how its workers are there."""

import uuid
from dataclasses import replace

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.accounts.models import Project
from coterie.accounts.projects import create_organisation, create_project, give_role
from coterie.accounts.services import create_operator
from coterie.cloud.launch.gang import GangStatus
from coterie.cloud_training.leasing import record_launcher, take_job
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.operator_api import JobWorkersSerializer
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair, place_jobs
from coterie.cluster.models import Gang
from coterie.cluster.services import place_of, register_host
from coterie.core.acting import Actor, OperatorRole, acting_as
from coterie.core.separation import acting_in
from tests.coterie.world import make_dataset, make_pair

pytestmark = pytest.mark.django_db


def host(name: str, launcher: str, *, places: int = 2) -> None:
    register_host(
        name=name,
        rack="",
        address="",
        launcher=launcher,
        places=places,
        cores=2,
        gpus=0,
        memory_bytes=1,
        now=timezone.now(),
    )


def bootstrap(api: APIClient, **asked: object) -> TrainingJob:
    said = {"dataset": str(make_dataset().pk), **asked}
    made = api.post(f"/api/pairs/{make_pair().pk}/bootstrap/", said, format="json")
    assert made.status_code == 201, made.content
    return TrainingJob.objects.get(pk=made.json()["id"])


def test_launchers_are_those_of_the_hosts_that_are_present(api: APIClient) -> None:
    assert api.get("/api/launchers/").json() == []
    host("a", "here")
    host("b", "here", places=3)
    host("door", "slurm", places=64)
    assert api.get("/api/launchers/").json() == [
        {"name": "here", "hosts": 2, "places": 5},
        {"name": "slurm", "hosts": 1, "places": 64},
    ]


def test_a_job_waits_for_the_launcher_that_it_asks_for_and_says_so(api: APIClient) -> None:
    host("a", "here")
    job = bootstrap(api, launcher="slurm")
    place_jobs(now=timezone.now())
    workers = api.get(f"/api/jobs/{job.pk}/workers/").json()
    assert (workers["launcher_wanted"], workers["state"], workers["reason_code"]) == (
        "slurm",
        "waiting",
        "cluster.no_launcher",
    )
    assert "COTERIE_CLUSTER_LAUNCHER=slurm" in workers["reason_sentence"]
    host("door", "slurm")
    place_jobs(now=timezone.now())
    workers = api.get(f"/api/jobs/{job.pk}/workers/").json()
    assert (workers["state"], workers["shares"]) == (
        "placed",
        [{"host": "door", "ranks": 1, "gpus": [], "launcher": "slurm"}],
    )


def test_a_job_tells_how_its_workers_are_at_the_launcher(api: APIClient) -> None:
    host("door", "slurm")
    job, lease, now = bootstrap(api), uuid.uuid4(), timezone.now()
    place_jobs(now=now)
    place = place_of(job.pk)
    assert place is not None
    assert take_job(job.pk, lease, now, place=place) is not None
    record_launcher(job.pk, lease, "slurm", GangStatus("waits", "pending: Resources"), now)
    told = api.get(f"/api/jobs/{job.pk}/").json()
    assert [told[f"launcher{part}"] for part in ("", "_state", "_sentence")] == ["slurm", "waits", "pending: Resources"]
    assert job.lines.last().text == "slurm: waits, pending: Resources"
    record_launcher(job.pk, uuid.uuid4(), "slurm", GangStatus("over"), now)
    assert api.get(f"/api/jobs/{job.pk}/").json()["launcher_state"] == "waits", "of another worker"


def test_an_unknown_launcher_is_refused(api: APIClient) -> None:
    said = {"dataset": str(make_dataset().pk), "launcher": "nomad"}
    assert api.post(f"/api/pairs/{make_pair().pk}/bootstrap/", said, format="json").status_code == 400


def test_jobs_of_other_projects_are_named_only_to_who_has_a_role_in_the_installation() -> None:
    gang = Gang(ranks=1, state=Gang.State.WAITING, reason_code="cluster.kept_free", reason_sentence="waits behind x")
    of_a_project = Actor(kind="person", id="1", name="ada", role=OperatorRole.ADMINISTRATOR, project=1)
    with acting_as(of_a_project):
        assert JobWorkersSerializer().get_reason_sentence(gang) == "waits for its turn: jobs of others come first"
    with acting_as(replace(of_a_project, in_installation=OperatorRole.VIEWER)):
        assert JobWorkersSerializer().get_reason_sentence(gang) == "waits behind x"


def member(project: Project, name: str) -> APIClient:
    """Who administers one project, and has no role in the installation."""
    operator = create_operator(username=name, role=None).operator
    give_role(operator=operator, role=OperatorRole.ADMINISTRATOR, to=project, now=timezone.now())
    client = APIClient()
    client.force_login(operator)
    return client


def test_two_projects_that_share_a_host_learn_nothing_of_each_others_jobs(api: APIClient) -> None:
    now = timezone.now()
    host("a", "here", places=1)
    ours = Project.objects.get()
    theirs = create_project(organisation=create_organisation(name="Other", now=now), name="other", now=now)
    jobs: dict[str, TrainingJob] = {}
    for slug, project, priority in (("our-secret", ours, 0), ("their-secret", theirs, 5)):
        with acting_in(project.pk):
            options = TrainingOptions(priority=priority)
            jobs[slug] = bootstrap_pair(pair=make_pair(slug), dataset=make_dataset(), options=options, now=now)
        place_jobs(now=now)
    place_jobs(now=now)
    states = {slug: api.get(f"/api/jobs/{job.pk}/workers/").json() for slug, job in jobs.items()}
    assert {slug: told["reason_code"] for slug, told in states.items()} == {
        "our-secret": "cluster.preempted",
        "their-secret": "cluster.preempting",
    }
    assert "their-secret" in states["our-secret"]["reason_sentence"], "who has a role in the installation reads it"
    for client, mine, other in (
        (member(ours, "mia"), "our-secret", "their-secret"),
        (member(theirs, "eve"), "their-secret", "our-secret"),
    ):
        job = jobs[mine].pk
        for path in (f"jobs/{job}/workers", f"jobs/{job}", f"jobs/{job}/log", "jobs", "overview"):
            told = client.get(f"/api/{path}/")
            assert told.status_code == 200, path
            assert other not in told.content.decode(), path
        assert client.get(f"/api/jobs/{jobs[other].pk}/workers/").status_code == 404
        assert client.get("/api/cluster/").status_code == 403
