"""Help between virtual devices: Cartel as in agents and platform, on the simulated clock.

Daga et al. 2019, doi 10.1145/3357223.3362708.
"""

from dataclasses import dataclass, field
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clock import Event
from coterie.simulation.device import Device, KeptPortion
from coterie.simulation.learner import TransferTerms
from coterie.simulation.ledger import What
from coterie.simulation.outcome import Ending, HelpOutcome
from coterie.simulation.world import World
from coterie_agent.peers.reading import found_in
from coterie_agent.sharing import share_profile
from coterie_learning.guard import Judgement, judge
from coterie_learning.help import HelpRules
from coterie_learning.neighbours import Match, Neighbour, NeighbourIndex, Wanted
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.plan import Plan
from coterie_learning.profile import Counts
from coterie_learning.unmatched import no_helper_reason
from coterie_learning.watch import DriftWatch, Request, begin_watch
from coterie_wire.bundle import BlobRef
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.helping import (
    AskHelp,
    DeclineTransfer,
    GiveVerdict,
    HelpNews,
    OfferPortion,
    Portion,
    Profile,
    ReportMerged,
    ReportProfile,
    Serve,
)
from coterie_wire.message import Message

FEDERATION = "simulation"
"""Its name in messages."""


@dataclass
class _Request:
    """An open help request."""

    device: Device
    classes: tuple[int, ...]
    recent: Counts
    asked_s: float
    tick: int
    tried: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As long as the identifiers of requests and transfers are."""
        return str(UUID(int=self.device.number << 64 | self.tick))


class Helping:
    """The metadata service, and the help between devices through it."""

    def __init__(self, world: World, plan: Plan, rules: HelpRules) -> None:
        self.outcomes: list[HelpOutcome] = []
        self._world, self._plan, self._rules = world, plan, rules
        classes = world.drawn.task.classes
        self._index = NeighbourIndex(classes)
        self._reported: dict[int, Neighbour] = {}
        self._devices = {device.name: device for device in world.devices}
        self._watches: dict[int, DriftWatch] = {device.number: begin_watch(rules, classes) for device in world.devices}
        self._in_hand: dict[int, _Request] = {}

    def begin(self) -> None:
        pass

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:
        rules = self._rules
        watch = self._watches[device.number].observe(rules, batch.classes, predicted)
        if watch.report_is_due(rules):
            told, watch = watch.report(rules, self._noise_key("report", device))
            self._report_profile(device, told, drifting=watch.drifting)
        if watch.asks_for(rules) and device.number not in self._in_hand:
            request = watch.request(rules, self._noise_key("request", device))
            if request.classes:
                self._ask(device, request)
            watch = watch.after_request()
        self._watches[device.number] = watch

    def _noise_key(self, what: str, device: Device) -> bytes:
        return self._world.seed_of(what, device.number, len(device.samples)).to_bytes(SECRET_BYTES, "big")

    def _report_profile(self, device: Device, counts: Counts, *, drifting: bool) -> None:
        size_bytes = self._send("metadata", ReportProfile(FEDERATION, _profile(counts, device, drifting=drifting)))

        def arrive() -> None:
            known = self._reported.get(device.number)
            self._know(device, Neighbour(counts, drifting, known.serving if known else 0))

        self._later(self._world.upload_s(device, size_bytes), arrive)

    def _ask(self, device: Device, told: Request) -> None:
        classes, recent = told
        request = _Request(device, classes, recent, self._world.clock.now_s, len(device.samples) - 1)
        self._in_hand[device.number] = request
        profile = _profile(recent, device, drifting=True)
        size_bytes = self._send("requests", AskHelp(request.name, FEDERATION, classes, profile))
        self._later(self._world.upload_s(device, size_bytes), lambda: self._match(request))

    def _match(self, request: _Request) -> None:
        """Ask the best neighbour that was not tried yet; a request that exceeds the time limit is given up."""
        rules, wanted = self._rules, Wanted(request.recent, request.classes)
        exclude = (request.device.name, *request.tried)
        if len(request.tried) < rules.neighbours_tried:
            found = self._index.search(wanted, rules, limit=1, exclude=exclude)
            if found:
                request.tried.append(found[0].device)
                self._serve(request, found[0], self._devices[found[0].device])
                return
        unfit = self._index.unfit(wanted, rules, exclude=exclude)
        reason = no_helper_reason(unfit, request.classes, tried=len(request.tried))
        self._send("requests", HelpNews(request.name, "unmatched", reason))
        self._end(request, "unmatched", reason=reason)

    def _serve(self, request: _Request, match: Match, helper: Device) -> None:
        world, rules = self._world, self._rules
        terms = TransferTerms(
            request.classes, self._plan, world.seed_of("portion", request.device.number, request.tick)
        )
        payload = helper.learner.portion(terms)
        content = BlobRef.of_bytes(payload)
        asked = self._send("requests", Serve(request.name, FEDERATION, content.sha256, terms.classes, rules.deliver_s))
        offered = self._send("requests", OfferPortion(request.name, content.sha256, content.size_bytes))
        world.ledger.count("portions", len(payload))
        upload_s = world.download_s(helper, asked)
        upload_s += world.upload_s(helper, offered) + world.upload_s(helper, len(payload))
        self._load(helper, +1)

        def delivered() -> None:
            self._load(helper, -1)
            if upload_s > rules.deliver_s:
                self._match(request)
                return
            news = HelpNews(request.name, "delivered", portion=Portion(request.name, content, rules.judge_s))
            reported = self._send("requests", news)
            world.ledger.count("portions", len(payload))
            target = request.device
            download_s = world.download_s(target, reported) + world.download_s(target, len(payload))
            self._later(download_s, lambda: self._judge(request, match, terms, payload))

        self._later(min(upload_s, rules.deliver_s), delivered)

    def _judge(self, request: _Request, match: Match, terms: TransferTerms, payload: bytes) -> None:
        device = request.device
        window = device.newest(self._rules.recent_batches)
        assert window is not None, "it has asked because of them"
        try:
            merged = device.learner.with_portion(payload, terms, window)
        except WireError as error:
            reason = Reason(error.code, error.detail)
            self._send("requests", DeclineTransfer(request.name, reason))
            self._end(request, "refused", match, len(payload), reason=reason)
            return
        before, after = (learner.predict(window.inputs).argmax(axis=1) for learner in (device.learner, merged))
        judgement = judge(window.classes, before, after)
        if judgement.kept:
            device.learner = merged
            device.portions.append(KeptPortion(msgspec.json.encode(self._plan.device), terms.classes, payload))
        self._send("requests", ReportMerged(request.name))
        verdict = GiveVerdict(request.name, judgement.kept, judgement.before, judgement.after, len(window.labels))
        self._send("requests", verdict)
        self._end(request, "kept" if judgement.kept else "undone", match, len(payload), judgement)

    def _end(
        self,
        request: _Request,
        outcome: Ending,
        match: Match | None = None,
        portion_bytes: int = 0,
        judgement: Judgement | None = None,
        reason: Reason | None = None,
    ) -> None:
        del self._in_hand[request.device.number]
        self.outcomes.append(
            HelpOutcome(
                device=request.device.name,
                asked_s=request.asked_s,
                tick=request.tick,
                classes=request.classes,
                helper=match.device if match else None,
                divergence=match.divergence if match else None,
                portion_bytes=portion_bytes,
                before=judgement.before if judgement else None,
                after=judgement.after if judgement else None,
                outcome=outcome,
                reason=reason,
            )
        )

    def _know(self, device: Device, neighbour: Neighbour) -> None:
        self._reported[device.number] = neighbour
        self._index.put(device.name, neighbour)

    def _load(self, helper: Device, more: int) -> None:
        known = self._reported[helper.number]
        self._know(helper, known._replace(serving=known.serving + more))

    def _send(self, what: What, message: Message) -> int:
        """Count a message, encoded as it travels; returns its bytes."""
        size_bytes = len(msgspec.json.encode(message))
        self._world.ledger.count(what, size_bytes)
        return size_bytes

    def _later(self, delay_s: float, event: Event) -> None:
        self._world.clock.at(self._world.clock.now_s + delay_s, event)


def _profile(counts: Counts, device: Device, *, drifting: bool) -> Profile:
    """The profile sent by an agent whose owner withholds nothing."""
    return share_profile(found_in(counts), "counts", batch=len(device.samples), drifting=drifting, willing=True)
