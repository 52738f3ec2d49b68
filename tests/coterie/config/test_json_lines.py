"""Lines that programs read: one JSON object each, with what it is about."""

import json
import logging

from coterie.config.celery import app
from coterie.config.monitoring.json_lines import JsonLines
from coterie.core.log_context import about, logging_about


def line(message: str, *given: object, exc_info: object = None) -> dict[str, str]:
    record = logging.LogRecord("coterie.rounds", logging.WARNING, "x.py", 1, message, given, exc_info)  # type: ignore[arg-type]
    text = JsonLines().format(record)
    assert "\n" not in text
    return json.loads(text)  # type: ignore[no-any-return]


def test_a_line_says_what_it_is_about() -> None:
    with logging_about(request_id="ab12"), logging_about(round="7"):
        told = line("closed with %d updates\nof 3", 2)
    assert told["message"] == "closed with 2 updates\nof 3"
    assert (told["level"], told["logger"], told["request_id"], told["round"]) == (
        "warning",
        "coterie.rounds",
        "ab12",
        "7",
    )
    assert told["time"].endswith("+00:00")
    assert "request_id" not in line("another")


def test_a_failure_keeps_its_traceback() -> None:
    try:
        raise ValueError("wrong")
    except ValueError as error:
        told = line("it failed", exc_info=(ValueError, error, error.__traceback__))
    assert "ValueError: wrong" in told["traceback"]


def test_a_task_names_itself_and_what_it_is_given() -> None:
    @app.task(name="tests.tells", shared=False)
    def tells(federation: str) -> dict[str, str]:
        return dict(about())

    try:
        assert tells(federation="f1") == {"task": "tests.tells", "federation": "f1"}
    finally:
        del app.tasks["tests.tells"]
    assert about() == {}
