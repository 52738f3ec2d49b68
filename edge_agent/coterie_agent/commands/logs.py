"""``coterie-agent logs``: requests for this device's log, what was sent, and the owner's decision."""

import time

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.device_log.owner_view import LogsView, logs_view
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.plural import plural
from coterie_agent.store.log_requests import LogRequest

_RULES = {
    "never": "your rule: nobody gets this device's log (agent.toml, [logs])",
    "ask": "your rule: you are asked about each request (agent.toml, [logs])",
    "always": "your rule: each request is allowed (agent.toml, [logs])",
}


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``, ``logs.not_asked`` or ``config.invalid``."""
    settings = load_config(Home(arguments.home).config).logs
    with reading_store(arguments.home) as store:
        store.identity.get()
        request = arguments.allow or arguments.refuse
        if request and not store.log_requests.decide(request, "allowed" if arguments.allow else "refused"):
            detail = f"no request {request!r} for this device's log is open; coterie-agent logs lists what there is"
            raise AgentError("logs.not_asked", detail, exit_code=Exit.USAGE)
        view = logs_view(settings, store.log_requests)
    return Output(view, _lines(view))


def _lines(view: LogsView) -> list[str]:
    lines = [_RULES[view.send]]
    if view.asked is None:
        lines.append("nobody asks for it")
    else:
        lines += _open_request_lines(view.asked, asks=view.send == "ask")
    return [*lines, *(_ended_line(one) for one in view.ended)]


def _open_request_lines(one: LogRequest, *, asks: bool) -> list[str]:
    why = f", for this: {one.why}" if one.why else ""
    kept = f"the platform keeps them for {plural(one.keep_days, 'day')}"
    lines = [f"an operator asks for the last {plural(one.hours, 'hour')}{why}; {kept}"]
    if one.word != "none":
        lines.append(f"you have said: {one.word}; the agent tells the platform while it runs")
    elif asks:
        lines += [
            f"allow it with: coterie-agent logs --allow {one.request}",
            f"refuse it with: coterie-agent logs --refuse {one.request}",
        ]
    return lines


def _ended_line(one: LogRequest) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.ended_at))
    sent = f", {plural(one.lines, 'line')}, {plural(one.bytes, 'byte')}" if one.outcome == "delivered" else ""
    return f"{at} {one.outcome}: the last {plural(one.hours, 'hour')}{sent}"
