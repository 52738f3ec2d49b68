"""What is only a hint must not fail what has been committed."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from coterie.core.events import wake_device
from coterie.core.jobs import Job

pytestmark = pytest.mark.django_db
Capture = Callable[..., AbstractContextManager[object]]


def test_a_job_that_cannot_be_sent_is_logged(
    django_capture_on_commit_callbacks: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        Job("tests.nobody").send(argument=object())  # type: ignore[arg-type]  # no broker takes it
    assert "not JSON serializable" in caplog.text


def test_an_event_that_cannot_be_sent_is_logged(
    django_capture_on_commit_callbacks: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        wake_device("no name of a group")
    assert "Group name must be" in caplog.text
