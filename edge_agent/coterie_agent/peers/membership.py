"""A device's part in a federation between rounds: one plan, one version, and what is due under them."""

import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from coterie_agent.config import Config
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.peers.being_helped import BeingHelped
from coterie_agent.peers.context import PeersContext
from coterie_agent.peers.figures import figures_under, report_figures
from coterie_agent.peers.helping import Helping
from coterie_agent.peers.local_training import LocalTraining
from coterie_agent.peers.personal_model import Keeping, PersonalModel, load_personal_model
from coterie_agent.peers.reading import (
    begin_reading,
    fair_samples,
    found_in,
    judge_batch,
    newest_samples,
    next_batch,
    watch_of,
)
from coterie_agent.sharing import share_profile
from coterie_agent.situation import Now, Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import PeersStatus, Reading, Unanswered
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.model import Model
from coterie_learning.client.whole_batches import waits_for_a_batch
from coterie_learning.device_plan import DevicePlan
from coterie_learning.help import HelpRules
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.profile_noise import sample_noise
from coterie_learning.watch import DriftWatch
from coterie_wire.bundle import Manifest
from coterie_wire.conditions import Reason
from coterie_wire.helping import ENDED, AskHelp, Profile, ReportProfile, SampleNoise, StandingPlan
from coterie_wire.messages import Directive, Done

log = logging.getLogger(__name__)
WITHHELD = Reason(
    "help.withheld", "the model fails, and the owner does not let the device ask for help (agent.toml, [peers])"
)
NOT_ASKED_YET = Reason("help.not_asked_yet", "the model fails, and the platform has not heard of it yet")


@dataclass(kw_only=True)
class PeersMembership:
    """Methods that do the first action that is due return whether one was; they raise AgentError or WireError."""

    standing: StandingPlan
    plan: DevicePlan
    own: PersonalModel
    config: Config
    store: Store
    link: HttpLink
    situation: Situation
    local_training: LocalTraining | None
    """None where the plan trains in rounds only."""
    helping: Helping
    receiving: BeingHelped
    _sent_on: Directive | None = None
    """The directive on which a request was last sent; act again only on a later one."""

    def is_current(self, standing: StandingPlan, version: str) -> bool:
        """Whether it is still this plan and this version, and no round has changed the personal model."""
        same = standing.digest == self.standing.digest and version == self.own.version
        return same and self.own.stored == self.store.peers.personal()

    def report(self, now: Now) -> bool:
        """Report figures, follow the open help request, help another device, request help, or report the profile."""
        if report_figures(self.standing, self.config, self.store, self.link):
            return True
        rules = self.plan.help.rules()
        if rules is None:
            return False
        return self._receive_help(now, rules) or self._help(now) or self._ask(rules) or self._report(rules)

    def learn(self, now: Now) -> bool:
        """Train the personal model on the batches it was evaluated on, or evaluate it on the next batch."""
        if any(reason.code.startswith("data.") for reason in now.blockers):
            return False
        reading = self._reading()
        rules = self.plan.help.rules()
        if self.local_training is not None and not now.blockers and self.store.work.current() is None:
            up_to = None if rules is None else self._trainable(reading)
            rest = partial(self.situation.rest, processor_share=self.config.processor_share)
            learned = self.local_training.learn(reading, up_to=up_to, stop=self._must_stop, rest=rest)
            if learned is not None:
                tensors = self.own.as_stored().tensors
                stored = self.store.peers.record_training(learned, before=self.own.stored, tensors=tensors)
                self.own.stored = stored or self.own.stored
                return True
        return rules is not None and (self._judge(reading, rules) or self._watch_predictions(reading, rules))

    def status(self) -> PeersStatus:
        """The status for the owner."""
        rules = self.plan.help.rules()
        reading = self._reading()
        asked = self.store.peers.open_request()
        untrained = self._why_untrained()
        tuned = figures_under(self.standing, self.store)
        if rules is None or not reading.watch:
            return PeersStatus(self.standing.federation, reading.batches, None, False, (), None, untrained, tuned)
        watch = self._watch(reading, rules)
        needed = watch.asks_for(rules)
        last = None if asked or needed else self._unanswered(watch, rules)
        return PeersStatus(
            federation=self.standing.federation,
            batches=reading.batches,
            error=round(watch.recent(rules).error, 4),
            drifting=watch.drifting,
            needs=asked.classes if asked else last.classes if last else needed,
            wait=self._wait(asked.request) if asked else last.reason if last else self._why_withheld(needed),
            untrained=untrained,
            tuned=tuned,
            noise=self._noise(rules),
        )

    def _unanswered(self, watch: DriftWatch, rules: HelpRules) -> Unanswered | None:
        """The latest unanswered request, while the personal model still fails on its classes."""
        last = self.store.peers.unanswered()
        return last if last is not None and _fails_on(last.classes, watch, rules) else None

    def _why_withheld(self, needed: tuple[int, ...]) -> Reason | None:
        return WITHHELD if needed and not self._may_ask() else None

    def _why_untrained(self) -> Reason | None:
        if self.local_training is None:
            return None
        samples, size = self.store.samples, self.own.spec.batch_size
        return waits_for_a_batch(len(samples.newest_ids(up_to=samples.snapshot().last, count=size)), size)

    def _wait(self, request: str) -> Reason:
        directive = self.situation.now.directive
        news = directive.help if directive else None
        if news is None or news.request != request or news.reason is None:
            return NOT_ASKED_YET
        return news.reason

    def _receive_help(self, now: Now, rules: HelpRules) -> bool:
        asked = self.store.peers.open_request()
        if asked is None:
            return False
        verdict = self.store.peers.verdict()
        if verdict is not None:
            self.receiving.report_verdict(verdict, asked)
            return True
        directive = now.directive
        news = directive.help if directive else None
        if news is None or news.request != asked.request or directive is self._sent_on:
            return False
        if news.portion is None:
            if news.state == "unknown":
                self.receiving.send(asked)
                self._sent_on = directive
                self.situation.wake()
                return True
            if self._has_recovered(asked, rules) and news.state not in ENDED:
                self.receiving.withdraw(asked)
                self.situation.wake()
                return True
            return self.receiving.end_if_over(asked, news)
        if not self.receiving.fetch(news.portion, stop=self.situation.is_offline):
            if news.portion.direct is not None:  # the failure was reported, and the next directive says what to do
                self._sent_on = directive
                self.situation.wake()
            return False
        newest = self._fair_samples(rules)
        known = tuple(label for label, count in enumerate(self.store.samples.class_counts()) if count)
        self.receiving.evaluate_portion(news.portion, asked, self.own, self.plan, newest, known)
        self._sent_on = directive
        self.situation.wake()
        return True

    def _trainable(self, reading: Reading) -> int:
        """The newest sample to train on; where the plan compares new versions, the newest batch is held out for that.

        A help request does not delay training: its portion is compared with the model at that time.
        """
        if not self.plan.spares_newest:
            return reading.judged
        kept = self.store.samples.newest_ids(up_to=reading.judged, count=self.own.spec.batch_size)
        return kept[0] - 1 if kept else reading.judged

    def _fair_samples(self, rules: HelpRules) -> list[StoredRow]:
        """The samples that a portion is evaluated on."""
        count = rules.recent_batches * self.own.spec.batch_size
        return fair_samples(self.store.samples, self._reading(), count)

    def _has_recovered(self, asked: AskHelp, rules: HelpRules) -> bool:
        """Whether the personal model no longer fails on the classes that the device asked for help with."""
        return not _fails_on(asked.classes, self._watch(self._reading(), rules), rules)

    def _help(self, now: Now) -> bool:
        serve = now.directive.serve if now.directive else None
        if now.directive is not None:
            self.helping.settle(serve)
        if serve is None or serve.digest != self.standing.digest or self.store.peers.has_ended(serve.transfer):
            return False
        return self.helping.serve(serve, self.own, self.plan, stop=self.situation.is_offline)

    def _ask(self, rules: HelpRules) -> bool:
        reading = self._reading()
        if not reading.watch or not self._may_ask() or self.store.peers.open_request() is not None:
            return False
        watch = self._watch(reading, rules)
        if not watch.asks_for(rules):
            return False
        request = watch.request(rules, secrets.token_bytes(SECRET_BYTES))
        asked = msgspec.structs.replace(reading, watch=msgspec.json.encode(watch.after_request()))
        if not request.classes:
            log.info("does not ask for help: no class that needs any stands out from the noise")
            self.store.peers.save_reading(asked)
            return True
        log.info("asks for help with classes %s", request.classes)
        self.receiving.ask(request, asked, self.standing, self._noise(rules))
        self.situation.wake()
        return True

    def _report(self, rules: HelpRules) -> bool:
        """Report the profile when it has changed; withdraw it once the owner allows none to be reported."""
        reading = self._reading()
        if not reading.watch:
            return False
        watch, settings, noise = self._watch(reading, rules), self.config.peers, self._noise(rules)
        if settings.tell == "nothing":
            if not watch.reported:
                return False
            profile = Profile(batch=reading.batches, willing=False, noise=noise)
            after = msgspec.structs.replace(watch, reported=())
        elif watch.report_is_due(rules) or reading.reported_drifting is not watch.drifting:
            counts, after = watch.report(rules, secrets.token_bytes(SECRET_BYTES))
            if rules.noise_multiplier:  # fresh noise on the same samples would reveal more, so a retry draws none
                reading = msgspec.structs.replace(reading, watch=msgspec.json.encode(after), reported_drifting=None)
                self.store.peers.save_reading(reading)
            profile = share_profile(
                found_in(counts),
                settings.tell,
                batch=reading.batches,
                drifting=watch.drifting,
                willing=settings.help_others,
                noise=noise,
            )
        else:
            return False
        try:
            self.link.call(ReportProfile(self.standing.federation, profile), Done)
        except Refused as refusal:
            if refusal.is_revoked or is_retryable(refusal):
                raise
            log.warning("the platform takes no profile: %s [%s]", refusal.detail, refusal.code)
        self.store.peers.save_reading(
            msgspec.structs.replace(reading, watch=msgspec.json.encode(after), reported_drifting=watch.drifting)
        )
        return True

    def _judge(self, reading: Reading, rules: HelpRules) -> bool:
        ids = next_batch(self.store.samples, reading.judged, up_to=None, size=self.own.spec.batch_size)
        rows = self.store.samples.load(ids)
        if not rows:
            return False
        self.store.peers.save_reading(judge_batch(self.own, rows, reading, rules))
        return True

    def _watch_predictions(self, reading: Reading, rules: HelpRules) -> bool:
        """Add the prediction service's counts to the drift watch; if killed in between, a few are counted twice."""
        counted = self.store.predicted.load()
        if counted is None:
            return False
        watch = self._watch(reading, rules)
        for seen in counted.groups:
            watch = watch.predicted(rules, seen)
        self.store.peers.save_reading(msgspec.structs.replace(reading, watch=msgspec.json.encode(watch)))
        self.store.predicted.delete(counted)
        return True

    def _reading(self) -> Reading:
        return self.store.peers.reading() or begin_reading(self.store.samples)

    def _watch(self, reading: Reading, rules: HelpRules) -> DriftWatch:
        return watch_of(reading, rules, self.own.spec.classes)

    def _noise(self, rules: HelpRules) -> SampleNoise | None:
        """The noise of the profiles that it reports."""
        return sample_noise(rules, self.config.privacy.delta)

    def _may_ask(self) -> bool:
        return self.config.peers.ask and self.config.peers.tell != "nothing"

    def _must_stop(self) -> bool:
        return self.situation.now.stopping or bool(self.situation.now.blockers)


def _fails_on(classes: Sequence[int], watch: DriftWatch, rules: HelpRules) -> bool:
    """Whether the personal model fails on one of `classes` among the newest batches."""
    return not set(watch.troubled(rules, samples=1)).isdisjoint(classes)


def join(standing: StandingPlan, plan: DevicePlan, manifest: Manifest, context: PeersContext) -> PeersMembership:
    """Take part under `standing`, the `plan` of it, with the version of `manifest`, which is on the device.

    Raises AgentError ``bundle.*`` or ``model.*``, WireError ``tensors.*``.
    """
    config, store, blobs, portions, link, situation, paths, handler = context
    reading, spec = store.peers.reading(), manifest.model
    rules = plan.help.rules()
    window = 0 if rules is None else rules.recent_batches * spec.batch_size
    newest = newest_samples(store.samples) if reading is None else fair_samples(store.samples, reading, window)
    keeping = Keeping.ALWAYS if plan.local.trains_personal_model() else Keeping.IF_BETTER
    own = load_personal_model(
        Model(manifest, blobs),
        store.peers,
        newest,
        keeping=keeping,
        scope=plan.local.scope(),
        threads=config.threads,
    )
    return PeersMembership(
        standing=standing,
        plan=plan,
        own=own,
        config=config,
        store=store,
        link=link,
        situation=situation,
        local_training=LocalTraining.of_plan(plan, own, store.samples, threads=config.threads),
        helping=Helping(
            link=link,
            store=store.peers,
            chunk_bytes=config.chunk_bytes,
            willing=config.peers.help_others,
            now=time.time,
            handler=handler,
        ),
        receiving=BeingHelped(
            link=link, store=store.peers, portions=portions, tell=config.peers.tell, now=time.time, paths=paths
        ),
    )
