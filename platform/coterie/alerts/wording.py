"""A message as each kind of channel is sent it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from coterie.alerts.models import Notice

SHOWN = 20
"""Notices that a message for people spells out; the others are in the log."""
MARKS: Mapping[str, str] = {"error": "🔴", "warning": "🟠", "resolved": "🟢", "test": "⚪"}
TEST = "This is a test: alerts of the platform arrive here."


def title_of(notices: Sequence[Notice]) -> str:
    """One line."""
    if len(notices) == 1:
        return f"{_word(notices[0])}: {' '.join(notices[0].sentence.split())}"
    counts = [(sum(one.change == change for one in notices), change) for change in Notice.Change.values]
    return f"{len(notices)} alerts: " + ", ".join(f"{count} {change}" for count, change in counts if count)


def lines_of(notices: Sequence[Notice], zone: ZoneInfo) -> list[str]:
    """A line for each notice, and one for those that are too many."""
    lines = [f"{_mark(one)} {_word(one)} {_time(one.created_at, zone)}: {one.sentence}{_rule(one)}" for one in notices]
    more = len(notices) - SHOWN
    return lines if more <= 0 else [*lines[:SHOWN], f"and {more} more, which the log of alerts has"]


def text_of(notices: Sequence[Notice], zone: ZoneInfo, *, platform: str) -> str:
    """Plain text, as of an e-mail. `platform` is the URL under which people reach it; blank: it has none."""
    end = [f"\n{platform}/alerts"] if platform else []
    return "\n".join([*lines_of(notices, zone), *end, ""])


def slack_body(notices: Sequence[Notice], zone: ZoneInfo, *, platform: str) -> Mapping[str, object]:
    """What Slack's incoming webhooks take; in its mark-up three characters are special."""
    text = text_of(notices, zone, platform=platform).strip()
    for special, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(special, written)
    return {"text": text}


def teams_body(notices: Sequence[Notice], zone: ZoneInfo, *, platform: str) -> Mapping[str, object]:
    """An adaptive card, as the webhook of a Teams workflow takes it; a text block of each line."""
    blocks = [{"type": "TextBlock", "text": _plain(line), "wrap": True} for line in lines_of(notices, zone)]
    head = {"type": "TextBlock", "text": _plain(title_of(notices)), "wrap": True, "weight": "Bolder"}
    card: dict[str, object] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [head, *blocks],
    }
    if platform:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the platform", "url": f"{platform}/alerts"}]
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


def webhook_body(notices: Sequence[Notice], message: str, at: datetime) -> Mapping[str, object]:
    """Everything, for programs."""
    return {
        "id": message,
        "event": "alert",
        "at": at.isoformat(),
        "notices": [
            {
                "incident": one.incident_id,
                "change": one.change,
                "severity": one.severity,
                "rule": one.rule_name,
                "sentence": one.sentence,
                "path": one.path,
                "at": one.created_at.isoformat(),
            }
            for one in notices
        ],
    }


def _word(notice: Notice) -> str:
    if notice.change == Notice.Change.FIRING:
        return notice.severity.capitalize()
    return notice.change.capitalize()


def _mark(notice: Notice) -> str:
    return MARKS[notice.severity if notice.change == Notice.Change.FIRING else notice.change]


def _rule(notice: Notice) -> str:
    return f" ({notice.rule_name})" if notice.rule_name else ""


def _time(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def _plain(line: str) -> str:
    """Without what the card's Markdown would take for a link or an emphasis."""
    return "".join(f"\\{character}" if character in "\\[]*_`" else character for character in line)
