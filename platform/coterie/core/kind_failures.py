"""Errors raised by the code of kinds of other packages, as errors of the platform."""

from collections.abc import Iterator
from contextlib import contextmanager

from coterie.core.errors import CoterieError, ErrorKind
from coterie_learning.custom_kinds import FAILED, named_failures
from coterie_wire.errors import WireError

MEND_IT = "Mend the kind, install it and restart what runs it, or choose another in the plan"
"""What to do about it."""


class KindFailed(CoterieError):
    """Fields: detail (the distribution, the place in its code, and what was raised there)."""

    code = "kinds.failed_on_platform"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{detail}"


KINDS_FAILED = frozenset({FAILED, KindFailed.code})
"""Codes of reasons that say so, of devices and of the platform."""


@contextmanager
def kind_failures() -> Iterator[None]:
    """Raises KindFailed in place of an error of the code of a kind; all other errors stay what they are."""
    try:
        with named_failures(CoterieError):
            yield
    except WireError as error:
        if error.code != FAILED:
            raise
        raise KindFailed(detail=error.detail) from error
