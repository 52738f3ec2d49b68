"""What federations would ask of a device that has not joined yet."""

from datetime import datetime

from coterie.federations.models import Federation
from coterie.federations.selectors import federations_for
from coterie.fleet.services import check_token, device_joined, token_of
from coterie_learning.plan import parse_plan
from coterie_wire.invitation import MAX_LABELS_TOLD, MAX_LEARNED, Invitation, Learned, ReadInvitation


def read_invitation(message: ReadInvitation, drawn: str, now: datetime) -> Invitation:
    """What a token admits a device to. Raises TokenUnknown, TokenRevoked, TokenExpired or TokenUsedUp."""
    token = token_of(message.token)
    has_joined = device_joined(token, drawn) is not None  # and has missed the answer: it may do so again
    if not has_joined:
        check_token(token, now=now)
    learned = federations_for(token).select_related("pair")[:MAX_LEARNED]
    return Invitation(
        devices_left=token.uses_allowed - token.uses + has_joined,
        expires_s=(token.expires_at - now).total_seconds(),
        learned=tuple(map(_learned, learned)),
    )


def _learned(federation: Federation) -> Learned:
    plan = parse_plan(federation.plan)
    return Learned(
        name=federation.name,
        labels=tuple(federation.pair.labels[:MAX_LABELS_TOLD]),
        requirements=plan.requirements,
        privacy=plan.privacy.name,
        help=plan.help.name,
    )
