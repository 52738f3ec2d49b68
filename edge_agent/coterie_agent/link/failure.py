"""What can go wrong between device and platform, and the one rule for whether a retry can succeed."""

from coterie_agent.errors import STORE_FULL, AgentError, Exit
from coterie_wire.messages import Problem

_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that do not depend on the request itself."""
CREDENTIAL_UNKNOWN = "fleet.credential_unknown"
_CREDENTIAL_ENDED = frozenset({"fleet.revoked", "fleet.left", CREDENTIAL_UNKNOWN})
CERTIFICATE_REFUSED = frozenset({"fleet.certificate_missing", "fleet.certificate_unknown", "fleet.certificate_expired"})
"""The credential is valid; the device must request another certificate for its connections."""
FETCHED_AGAIN = frozenset({"bundle.wrong_hash", "bundle.missing"})
"""A damaged blob was removed, so the next attempt downloads it again."""


class Unreachable(AgentError):
    """There is no answer, or it is not from the platform."""

    def __init__(self, detail: str) -> None:
        super().__init__("link.unreachable", detail, exit_code=Exit.UNREACHABLE)


class Refused(AgentError):
    """The platform refused the request; `code` and `detail` are those of its answer."""

    def __init__(self, problem: Problem) -> None:
        revoked = problem.code in _CREDENTIAL_ENDED
        super().__init__(problem.code, problem.detail, exit_code=Exit.REVOKED if revoked else Exit.REFUSED)
        self.status = problem.status
        wait_s = problem.fields.get("wait_s")
        self.wait_s = None if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) else float(wait_s)
        """Seconds after which the platform may be asked again; None: it does not say."""

    @property
    def is_revoked(self) -> bool:
        """Whether this device's credential has ended for good."""
        return self.exit_code is Exit.REVOKED


def is_retryable(error: AgentError) -> bool:
    """Whether the same request can succeed later."""
    if isinstance(error, Refused):
        return error.status in _TEMPORARY or error.code in CERTIFICATE_REFUSED
    return isinstance(error, Unreachable) or error.code in FETCHED_AGAIN or error.code == STORE_FULL
