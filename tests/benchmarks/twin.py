"""The twin against rounds that real agents held: it is given the first half, and says what the second takes.

A platform and eight ``coterie-agent`` processes run on this machine, each behind a line of its own speed. Conditions
follow scripts: some devices are always ready, some are unplugged or leave Wi-Fi for seconds again and again.
"""

import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from coterie.twin.calibration import STATED, ComparedForecast
from coterie.twin.replay import Past, Ready, forecast
from coterie.twin.trace import Trace
from coterie_learning.plan import parse_plan
from coterie_wire.conditions import Conditions
from coterie_wire.structs import from_values
from tests.benchmarks.report import Figure
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import Json, OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.real_agent import READY, SAMPLES, UNPLUGGED, RealAgent
from tests.system.slow_line import SlowLine

ROUNDS = 60
AGENTS = 8
WITHIN_S = 1800.0
METERED = Conditions(charging="yes", network="metered", idle="yes")
PLAN: Json = {
    "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.01},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 4, "min_updates": 2, "over_selection": 1.5, "deadline_s": 60},
    "requirements": {"charging": True, "unmetered": True},
}


class Script(NamedTuple):
    """What happens to one device."""

    up_bytes_s: float
    """Of its line to the platform. Most of its time is the line's, and little this machine's, which may be busy."""
    away: Conditions | None
    """None: it is always ready."""
    ready_s: tuple[float, float] = (20.0, 45.0)
    """Between two absences, from and to."""
    away_s: tuple[float, float] = (3.0, 10.0)


SCRIPTS = (
    Script(20_000, None),
    Script(17_000, None),
    Script(14_000, UNPLUGGED),
    Script(12_000, METERED),
    Script(10_000, None),
    Script(9_000, UNPLUGGED),
    Script(7_000, None),
    Script(5_000, METERED),
)


class Live(NamedTuple):
    """What a fleet of real agents did."""

    trace: Trace
    rounds: Sequence[Json]
    """Those that ended, in their order."""
    calibration: Sequence[Json]
    """Of the forecasts that the platform made itself as rounds opened."""


class Half(NamedTuple):
    """How good forecasts of rounds from an earlier half are."""

    duration_s: Sequence[ComparedForecast]
    lost: Sequence[ComparedForecast]


def measure() -> list[Figure]:
    live = record(rounds=ROUNDS)
    half = second_half(live)
    case = f"{AGENTS} real agents with scripted conditions, {len(half.duration_s)} rounds forecast from those before"
    return [*_figures(case, half), *_platforms(live)]


def _figures(case: str, half: Half) -> Iterator[Figure]:
    off = median(abs(one.middle - one.happened) / one.happened for one in half.duration_s)
    yield Figure(
        case, "duration, median error", 100 * off, "%", against="target <= 15 %", ratio=15 / max(0.1, 100 * off)
    )
    for name, judged in half._asdict().items():
        inside = sum(one.is_inside for one in judged) / len(judged)
        yield Figure(case, f"{name}, inside the {STATED:.0%} interval", 100 * inside, "%", against="70 to 90 %")


def _platforms(live: Live) -> Iterator[Figure]:
    """Each round from all that were before it."""
    for one in live.calibration:
        case = f"as rounds opened, latest {one['rounds']}"
        if one["coverage"] is not None:
            yield Figure(case, f"{one['figure']}, inside", 100 * one["coverage"], "%", against="70 to 90 %")
        if one["median_error"] is not None:
            yield Figure(case, f"{one['figure']}, median error", 100 * one["median_error"], "%")


def second_half(live: Live) -> Half:
    """Forecasts of the later half of rounds from what had ended before it began, beside what happened."""
    begins = datetime.fromisoformat(live.trace.begins_at)
    split = len(live.rounds) // 2
    later = live.rounds[split:]
    split_s = _seconds(begins, later[0]["opened_at"])
    known = [part for part in live.trace.parts if part.asked_s + part.lasted_s < split_s]
    past = Past.of(Trace(**{**_fields(live.trace), "parts": known}))
    plan, ready = parse_plan(PLAN), Ready(live.trace)
    update_bytes = round(median(part.sent_bytes for part in known if part.sent_bytes))
    durations, losses = [], []
    for round_ in later:
        opened_s, closed_s = (_seconds(begins, round_[name]) for name in ("opened_at", "closed_at"))
        asked = {part.device for part in live.trace.parts if opened_s - 1 <= part.asked_s <= closed_s}
        here = sorted({*ready.at(opened_s), *asked})
        expected = forecast(plan, past, here, update_bytes, number=round_["number"], seed=round_["number"])
        lost = sum(part.ending == "lost" for part in live.trace.parts if opened_s - 1 <= part.asked_s <= closed_s)
        durations.append(ComparedForecast(*expected.duration_s, closed_s - opened_s))
        losses.append(ComparedForecast(*expected.lost, lost))
    return Half(durations, losses)


def _fields(trace: Trace) -> Json:
    return {name: getattr(trace, name) for name in trace.__struct_fields__}


def _seconds(begins: datetime, at: str) -> float:
    return (datetime.fromisoformat(at).astimezone(UTC) - begins).total_seconds()


def record(*, rounds: int) -> Live:
    """Hold so many rounds, and fetch what the platform knows of them."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coterie-twin-")))
        seeded = prepare_state(directory / "prepared", pairs=1, state=str(directory / "state"))
        platform = Platform(directory / "state")
        stack.callback(platform.stop)
        platform.start()
        operator = stack.enter_context(OperatorClient(platform.url, seeded.token))
        token = operator.enrolment_token(tag="twin", uses=AGENTS)
        agents = []
        for number, script in enumerate(SCRIPTS):
            line = stack.enter_context(SlowLine(platform.url, up_bytes_s=script.up_bytes_s, seed=number))
            learns = samples(SAMPLES, seed=number)
            agent = RealAgent(directory / f"agent-{number}", line.url, token, learns=learns)
            stack.callback(agent.kill)
            agents.append(agent)
        ended = threading.Event()
        for number, (agent, script) in enumerate(zip(agents, SCRIPTS, strict=True)):
            agent.start()
            if script.away is not None:
                thread = threading.Thread(target=_follow, args=(agent, script, number, ended), daemon=True)
                thread.start()
                stack.callback(thread.join)
        stack.callback(ended.set)
        federation = operator.start_federation("twin", pair=seeded.pairs[0], plan=PLAN, rounds_wanted=None)
        eventually(lambda: len(_ended(operator, federation)) >= rounds, within_s=WITHIN_S)
        operator.post(f"/federations/{federation}/pause/")
        held = _ended(operator, federation)[:rounds]
        trace = operator.get(f"/federations/{federation}/twin/", days="1")
        calibration = operator.get(f"/federations/{federation}/forecasts/")["calibration"]
    return Live(from_values(trace, Trace), held, calibration)


def _ended(operator: OperatorClient, federation: str) -> list[Json]:
    found = operator.list("/rounds/", federation=federation, page_size=500, sort="number")
    return [
        one for one in found if one["state"] in ("published", "abandoned") and one["opened_at"] and one["closed_at"]
    ]


def _follow(agent: RealAgent, script: Script, seed: int, ended: threading.Event) -> None:
    """Play a script until the end: the same seed draws the same spans."""
    assert script.away is not None, "it has nothing to follow"
    rng = np.random.default_rng(seed)
    while not ended.wait(rng.uniform(*script.ready_s)):
        agent.set_conditions(script.away)
        ended.wait(rng.uniform(*script.away_s))
        agent.set_conditions(READY)
