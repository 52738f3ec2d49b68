"""The digits example: who may start it, and what becomes of its process."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.test import APIClient

from coterie.accounts.models import ApiToken
from coterie.accounts.services import create_operator
from coterie.core.acting import OperatorRole
from coterie.gateway.example import EXAMPLE, Example
from coterie.repairs.faults import find_faults

TELLS = "import sys; print('token ' + sys.stdin.readline().strip(), flush=True); sys.stdin.read()"
FAILS = "import sys; print('first'); sys.exit('the pair was rejected')"
PATIENCE_S = 20.0


def example(program: str, seen: list[str]) -> Example:
    """One whose process is another program."""

    def launch(command: list[str], **options: object) -> "subprocess.Popen[str]":
        seen.extend(command[1:])
        return subprocess.Popen([sys.executable, "-c", program], **options)  # type: ignore[call-overload,no-any-return]

    return Example(launch=launch)


def until_closed(example: Example) -> None:
    """Until its pipes are closed, so that none is left to the garbage."""
    assert example._process is not None
    pipes = (example._process.stdin, example._process.stdout, example._process.stderr)
    end = time.monotonic() + PATIENCE_S
    while not all(pipe is not None and pipe.closed for pipe in pipes):
        assert time.monotonic() < end
        time.sleep(0.01)


def until(example: Example, says: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while example.says != says:
        assert time.monotonic() < end, example.says
        time.sleep(0.01)


def test_its_process_gets_the_token_as_input_and_ends_with_it(tmp_path: Path) -> None:
    seen: list[str] = []
    one = example(TELLS, seen)
    assert one.state == "none"
    for _ in range(2):  # the second finds it running
        one.start(url="http://127.0.0.1:8000", token="cot_secret", home=tmp_path)
    assert seen == ["-m", "coterie.demo.example", "http://127.0.0.1:8000", str(tmp_path)]  # the secret is not there
    until(one, "token cot_secret")
    assert one.state == "running"
    assert one._process is not None
    assert one._process.stdin is not None
    one._process.stdin.close()
    assert one._process.wait(PATIENCE_S) == 0
    assert one.state == "ended"
    until_closed(one)


def test_one_that_fails_says_why_and_can_be_started_again(tmp_path: Path) -> None:
    one = example(FAILS, [])
    one.start(url="http://127.0.0.1:8000", token="cot_secret", home=tmp_path)
    until(one, "the pair was rejected")
    assert one.state == "failed"
    until_closed(one)


@pytest.mark.django_db
class TestEndpoint:
    def test_starts_it_with_a_token_that_expires_and_cannot_change_settings(
        self, api: APIClient, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        assert api.get("/api/example/").json() == {"unavailable": "", "state": "none", "says": ""}
        with django_capture_on_commit_callbacks():  # and not performed
            assert api.post("/api/example/").status_code == 201
        token = ApiToken.objects.get(name__startswith="digits example")
        assert token.scopes == ["read", "fleet", "models", "federations"]
        assert token.expires_at is not None
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
        assert not any(repair.code == "repairs.token_expires" for repair in find_faults(now=timezone.now()))
        assert EXAMPLE.state == "none"  # the process begins when the token is there

    def test_is_refused_where_its_devices_could_not_run(self, api: APIClient, settings: Settings) -> None:
        settings.EMBEDDED = False
        answer = api.post("/api/example/")
        assert (answer.status_code, answer.json()["code"]) == (409, "example.unavailable")
        assert not ApiToken.objects.filter(name__startswith="digits example").exists()

    def test_is_refused_to_viewers(self) -> None:
        client = APIClient()
        client.force_login(create_operator(username="vera", role=OperatorRole.VIEWER).operator)
        assert client.post("/api/example/").json()["code"] == "acting.role_needed"
