import errno

import pytest

from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.problems import STATUS, problem_of
from coterie_wire.errors import WireError


def test_every_kind_of_error_has_a_status() -> None:
    assert set(STATUS) == set(ErrorKind)


def test_an_error_keeps_its_code_sentence_and_fields() -> None:
    class Lost(CoterieError):
        code = "test.lost"
        kind = ErrorKind.GONE
        sentence = "{count} are lost"

    problem = problem_of(Lost(count=3))
    assert (problem.code, problem.status, problem.detail, problem.fields) == (
        "test.lost",
        410,
        "3 are lost",
        {"count": 3},
    )


@pytest.mark.parametrize(("code", "status"), [("wire.malformed", 422), ("wire.too_large", 413)])
def test_what_does_not_fit_the_wire_is_the_senders_fault(code: str, status: int) -> None:
    assert problem_of(WireError(code, "why")).status == status


def test_a_full_disk_is_told_and_waited_for() -> None:
    problem = problem_of(OSError(errno.ENOSPC, "No space left on device"))
    assert (problem.code, problem.status, problem.fields) == ("gateway.disk_full", 503, {"wait_s": 5})


def test_the_unforeseen_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(KeyError("secret detail"))
    assert (problem.code, problem.status) == ("internal", 500)
    assert "secret detail" not in problem.detail
    assert "secret detail" in caplog.text
