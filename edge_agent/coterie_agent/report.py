"""What `status` and `why` print, from the store alone, whether the agent runs or not."""

import math
import shutil
import time
from collections.abc import Mapping, Sequence

import msgspec

from coterie_agent.budget import Budget
from coterie_agent.budget_consent import reason_budget_raised
from coterie_agent.config import PrivacySettings, load_config
from coterie_agent.consent import NOT_AGREED, TAKEN_BACK, reason_not_agreed, reason_taken_back
from coterie_agent.errors import STORE_FULL
from coterie_agent.home import Home, is_running
from coterie_agent.plural import plural
from coterie_agent.policy import judge_space
from coterie_agent.store.agreements import AskedOfOwner
from coterie_agent.store.journal import IslandStatus, SentBytes, Status
from coterie_agent.store.neighbours import Neighbour
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import Helped, PeersStatus, Tuned
from coterie_agent.store.questions import AnsweredQuestion
from coterie_agent.store.serving import Counted, Serving
from coterie_agent.store.work import Finished
from coterie_learning.accounting import epsilon_of
from coterie_learning.consent import Scope
from coterie_wire.bundle import Manifest
from coterie_wire.conditions import Reason
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

_SHOWN_OUTCOMES = 3
AGREED_SINCE = Reason("owner.agreed_since", "you have agreed; the device takes part when the platform asks it again")
"""A round that the device gave back goes on without it."""


class Privacy(msgspec.Struct, frozen=True):
    """The privacy budget spent on noised releases, by the device's own ledger, and what its owner allows."""

    epsilon: float | None
    """Spent so far in all federations; None: the ledger was damaged on the disk, and nothing more is released."""
    allowed_epsilon: float
    delta: float
    """The delta of both epsilons."""
    federations: Mapping[str, float]
    """Epsilon spent, by federation."""
    raised: tuple[str, ...]
    """Federations whose budget was raised on the platform, so that the owner is asked."""


class Consented(msgspec.Struct, frozen=True):
    """What the owner allows plans to send from the device."""

    agreed: tuple[Scope, ...]
    asked: tuple[AskedOfOwner, ...]
    """Requests of plans beyond that: the device does nothing under these plans before its owner has agreed."""
    withdrawn: tuple[str, ...] = ()
    """What the owner has withdrawn and not given again."""


class RoundInHand(msgspec.Struct, frozen=True):
    """The round that the device takes part in."""

    federation: str
    round: int


class Report(msgspec.Struct, frozen=True):
    """The device as its owner sees it."""

    device: str
    name: str
    url: str
    running: bool
    samples: int
    class_counts: tuple[int, ...]
    set_aside_samples: int
    """Samples whose label the model does not know: nothing is learned from them."""
    damaged_samples: int
    """Samples that the device's disk had damaged, and that were removed."""
    status: Status | None
    """What the agent last wrote; None if it has never run."""
    in_hand: RoundInHand | None
    outcomes: tuple[Finished, ...]
    """How the latest assignments ended, newest first."""
    helped: tuple[Helped, ...]
    """How help given and help requests ended, and what replaced the personal model, newest first."""
    held_number: int | None
    """Number of the version that the device holds; None: it holds none."""
    personal: bool
    """Whether the device has a personal model, which predicts instead of the version it holds."""
    sent: tuple[SentBytes, ...]
    """Everything that has left the device, by kind."""
    questions: tuple[AnsweredQuestion, ...]
    """Questions that the device received, and how each ended, newest first."""
    privacy: Privacy
    """The device's privacy budget."""
    consent: Consented
    """What its owner lets it send."""
    neighbours: tuple[Neighbour, ...]
    """Devices that it can reach without the platform, and how each was found."""
    serving: Serving | None
    """What the prediction service has done since it last began; None: it has never run."""
    waits: tuple[Reason, ...]
    """Why the device does not train now; empty while it does."""


def make_report(home: Home, store: Store) -> Report:
    """Raises AgentError ``agent.not_joined``, or ``config.invalid``."""
    identity = store.identity.get()
    running = is_running(home)
    status, assigned = store.journal.status(), store.work.current()
    asked, withdrawn = store.agreements.pending(), store.agreements.withdrawn()
    own = (
        *(reason_budget_raised(raised) for raised in store.promises.raised()),
        *(reason_not_agreed(one.federation) for one in asked),
        *(reason_taken_back(part) for part in withdrawn),
    )
    waits = tuple(_updated_wait(wait, own) for wait in _waits(running, status))
    if STORE_FULL not in {wait.code for wait in waits}:  # the agent cannot write its status while the disk is full
        waits += judge_space(shutil.disk_usage(home.root).free)
    return Report(
        device=identity.device,
        name=identity.name,
        url=identity.url,
        running=running,
        samples=store.samples.count(),
        class_counts=store.samples.class_counts(),
        set_aside_samples=store.samples.set_aside(),
        damaged_samples=store.samples.damaged(),
        status=status,
        in_hand=None if assigned is None else RoundInHand(assigned.federation, assigned.round),
        outcomes=store.work.outcomes()[:10],
        helped=store.peers.outcomes()[:10],
        held_number=_held_number(store),
        personal=store.peers.is_personal(),
        sent=store.journal.sent_totals(),
        questions=store.questions.outcomes()[:10],
        privacy=_privacy(store, load_config(home.config).privacy),
        consent=Consented(store.agreements.scopes(), asked, withdrawn),
        neighbours=store.neighbours.neighbours(now=time.time()),
        serving=store.journal.serving(),
        waits=tuple(dict.fromkeys((*waits, *own))),
    )


def _held_number(store: Store) -> int | None:
    signed = store.work.held_model()
    try:
        return None if signed is None else from_json(signed.manifest, Manifest).number
    except UNREADABLE:  # damaged on the disk; the agent fetches it again
        return None


def _privacy(store: Store, allowed: PrivacySettings) -> Privacy:
    spent = Budget(allowed, store.privacy_ledger).spent_epsilon()
    return Privacy(
        epsilon=None if math.isinf(spent) else spent,
        allowed_epsilon=allowed.epsilon,
        delta=allowed.delta,
        federations={name: epsilon_of(mu2, allowed.delta) for name, mu2 in store.privacy_ledger.spent_by_federation()},
        raised=tuple(raised.federation for raised in store.promises.raised()),
    )


def status_lines(report: Report) -> list[str]:
    """The report as lines of text for people."""
    lines = [
        f"{report.name} ({report.device}) of {report.url}",
        f"agent: {'running' if report.running else 'not running'}",
        f"samples: {report.samples}",
    ]
    if report.set_aside_samples:
        lines.append(
            f"samples that are set aside, as the model does not know their label: {report.set_aside_samples}; "
            "correct the samples, and give them again with: coterie-agent ingest --replace FILE"
        )
    if report.damaged_samples:
        lines.append(f"samples that were damaged on the disk, and removed: {report.damaged_samples}")
    status = report.status
    if status is not None:
        conditions = status.conditions
        lines += [
            _age_line(report.running, status),
            f"conditions: charging {conditions.charging}, network {conditions.network}, idle {conditions.idle}"
            + ("" if conditions.temperature_c is None else f", {conditions.temperature_c:.0f} °C"),
            f"model version: {_version(report, status)}" + (", personal" if report.personal else ""),
        ]
        if status.progress is not None and report.in_hand is not None:
            progress = status.progress
            steps = f", step {progress.steps_done} of {progress.steps_total}" if progress.steps_total else ""
            lines.append(f"round {report.in_hand.round} of {report.in_hand.federation}: {progress.stage}{steps}")
    lines += [f"{_name(done)}: {done.outcome}: {done.sentence}" for done in report.outcomes[:_SHOWN_OUTCOMES]]
    if status is not None and status.island is not None:
        lines += _island_lines(status.island)
    if status is not None and status.peers is not None:
        lines.append(_peers_line(status.peers))
        noise = status.peers.noise
        if noise is not None:
            guarantee = f"epsilon {noise.epsilon:.3g} of one sample at delta {noise.delta:g}"
            lines.append(f"profiles have noise: with requests they tell {guarantee}")
    lines += [f"{helped.outcome}: {helped.sentence}" for helped in report.helped[:_SHOWN_OUTCOMES]]
    lines += [
        f"question of {question.federation}: {question.outcome}: {question.sentence}"
        for question in report.questions[:_SHOWN_OUTCOMES]
    ]
    privacy = report.privacy
    if privacy.epsilon is None:
        lines.append("the account of what was told under noise was damaged on the disk: nothing more is told")
    elif privacy.epsilon:
        allowed = f"{privacy.allowed_epsilon:g} that you allow, at delta {privacy.delta:g}"
        lines.append(f"told under noise: epsilon {privacy.epsilon:.3g} of {allowed}")
    lines.append(f"you have agreed to: {', '.join(report.consent.agreed) or 'nothing yet'}")
    lines += [f"you are asked: {reason_not_agreed(one.federation).sentence}" for one in report.consent.asked]
    lines += [f"you have taken back: {part}" for part in report.consent.withdrawn]
    lines += [_neighbour_line(neighbour) for neighbour in report.neighbours]
    if report.serving is not None:
        lines.append(_serving_line(report.serving))
    lines += [
        f"sent: {sent.what}: {plural(sent.messages, 'message')}, {plural(sent.bytes, 'byte')}" for sent in report.sent
    ]
    return lines


def _version(report: Report, status: Status) -> str:
    if status.version is None or report.held_number is None:
        return status.version or "none yet"
    return f"{report.held_number} ({status.version})"


def _name(done: Finished) -> str:
    return f"round {done.round} of {done.federation}" if done.federation else f"assignment {done.assignment}"


def _age_line(running: bool, status: Status) -> str:
    """The age of the status, which the agent writes when it changes and when the agent ends."""
    age = _span(max(0, time.time() - status.at))
    if not running:
        return f"last change: {age} ago"
    contact = "not in contact with the platform" if status.link == "offline" else f"in contact over {status.link}"
    return f"{contact}; nothing has changed for {age}"


def _span(seconds: float) -> str:
    """A duration in seconds, in minutes from two minutes on, or in hours from two hours on."""
    for unit, size_s in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def why_lines(report: Report) -> list[str]:
    """Why the device does not train, one reason a line."""
    if not report.waits:
        return ["nothing holds this device back"]
    return [f"{reason.sentence} [{reason.code}]" for reason in report.waits]


def _updated_wait(wait: Reason, own: Sequence[Reason]) -> Reason:
    """`wait`, or `AGREED_SINCE` where the owner has agreed since (`own`: the pending requests to the owner)."""
    is_past = wait.code in (NOT_AGREED, TAKEN_BACK) and wait.code not in {reason.code for reason in own}
    return AGREED_SINCE if is_past else wait


def _waits(running: bool, status: Status | None) -> tuple[Reason, ...]:
    """What `status` says that it waits for; of an agent that does not run, that and what ended it: the rest was so as
    it ran.
    """
    if not running:
        not_running = Reason("agent.not_running", "the agent is not running; start it with: coterie-agent run")
        return (not_running,) if status is None or status.ended is None else (status.ended, not_running)
    waits: list[Reason] = []
    if status is not None:
        waits += status.blockers
        if status.link_problem is not None:
            waits.append(status.link_problem)
        elif status.progress is None and status.wait is not None and status.wait not in waits:
            waits.append(status.wait)
        if status.sum_wait is not None:
            waits.append(status.sum_wait)
        if status.question_wait is not None:
            waits.append(status.question_wait)
        if status.update_wait is not None:
            waits.append(status.update_wait)
        if status.budget_wait is not None:
            waits.append(status.budget_wait)
        if status.peers is not None:
            waits += [reason for reason in (status.peers.untrained, status.peers.wait) if reason is not None]
    return tuple(waits)


def _neighbour_line(neighbour: Neighbour) -> str:
    services = {"meetings": neighbour.meetings, "updates": neighbour.updates}
    answers = " and ".join(f"{what} at {address}" for what, address in services.items() if address is not None)
    return f"neighbour {neighbour.device}: {answers}; found by the {neighbour.found}"


def _island_lines(island: IslandStatus) -> list[str]:
    leader = "nobody leads yet" if island.leader is None else f"{island.leader} leads, in term {island.term}"
    held = [f"island: {holder} holds the update of {which}" for which, holder in sorted(island.holders.items())]
    return [f"island of {len(island.voters)} supernodes while the platform is away: {leader}", *held]


def _serving_line(serving: Serving) -> str:
    counted = serving.counted
    half, most = serving.latency.quantile_s(0.5), serving.latency.quantile_s(0.99)
    took = (
        ""
        if half is None or most is None
        else f", half within {1000 * half:.2g} ms and 99 % within {1000 * most:.2g} ms"
    )
    refused = counted.busy + counted.late + counted.without_model
    return (
        f"predictions: {counted.answered} of {counted.requests} requests answered by the model{took}, "
        f"{counted.last_answers} by a last answer, {_by_platform(counted)}{refused} refused"
    )


def _by_platform(counted: Counted) -> str:
    if not counted.platform_answers and not counted.platform_failures:
        return ""
    return f"{counted.platform_answers} by the platform, which did not answer {counted.platform_failures} more, "


def _peers_line(peers: PeersStatus) -> str:
    error = "" if peers.error is None else f", {peers.error:.1%} of the newest wrong"
    drifting = ", and its model has begun to fail" if peers.drifting else ""
    if peers.tuned is not None:
        return f"between rounds of {peers.federation}: {_tuned(peers.tuned)}"
    needs = f", needs help with classes {', '.join(map(str, peers.needs))}" if peers.needs else ""
    return f"between rounds of {peers.federation}: {peers.batches} batches judged{error}{drifting}{needs}"


def _tuned(tuned: Tuned) -> str:
    who = "the personal model answers" if tuned.answers else "the version answers"
    if tuned.own_accuracy is None or tuned.version_accuracy is None:
        return f"{who}, by the loss on {plural(tuned.samples, 'sample')} held out"
    against = f" against {tuned.version_accuracy:.3f} of the version" if tuned.answers else ""
    return f"{who}, accuracy {tuned.own_accuracy:.3f}{against} on {plural(tuned.samples, 'sample')} held out"
