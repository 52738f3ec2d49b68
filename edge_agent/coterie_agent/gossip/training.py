"""A round of gossip on one device: a training, a meeting, the next, and at the end the update, spooled.

Where few devices meet each time, a device that is not drawn waits, and continues from a model of those that met before.
"""

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import msgspec
import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.gossip.attendance import MeetingAttendance
from coterie_agent.gossip.calling import PeerCalls
from coterie_agent.gossip.handler import GossipHandler
from coterie_agent.gossip.waiting import Waiting
from coterie_agent.link.failure import Unreachable
from coterie_agent.store.meetings import MeetingProgress
from coterie_agent.store.work import TrainingProgress
from coterie_agent.training.assignment import EndedTraining, Training, TrainingStart, no_samples, read_states
from coterie_agent.training.halt import Halt
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.trainer import SamplesGone
from coterie_learning.client.round import parts_of
from coterie_learning.client.update import make_update
from coterie_learning.clipping import MOST_ASKED, ClippedMeeting, most_agreed
from coterie_learning.meetings import (
    MOST_WEIGHT,
    Meeting,
    MeetingRules,
    decode_whole,
    encode_whole,
)
from coterie_learning.random import derive_seed
from coterie_wire.errors import WireError
from coterie_wire.meeting import Gathering, Roster
from coterie_wire.relaying import Peer
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors

log = logging.getLogger(__name__)


class _State(msgspec.Struct, frozen=True):
    """The state between two parts of the round."""

    number: int
    """Number of the next meeting."""
    difference: Tensors
    """The parameters minus the version's."""
    progress: TrainingProgress | None = None
    """None: the device has not trained yet."""
    steps_done: int = 0
    steps_total: int = 0
    met: Mapping[str, int] = {}
    """By device, the number of meetings at which its share was received."""
    far: Mapping[str, int] = {}
    """By device, the number of those meetings at which its model was far from the others."""

    @property
    def suspects(self) -> tuple[str, ...]:
        """Devices whose models were far from the others at most of the meetings with them, and at more than one."""
        return tuple(sorted(name for name, times in self.far.items() if times > max(1, self.met[name] // 2)))


@dataclass(kw_only=True)
class GossipTraining:
    """One assignment of a plan with gossip meetings; it can be stopped and resumed at any moment."""

    training: Training
    gathering: Callable[[], Gathering]
    """Returns the newest gathering received."""
    handler: GossipHandler
    calls_in: Callable[[Roster], PeerCalls]
    wait: Callable[[float], None]
    """Waits for so many seconds at most; any change of the situation ends the wait."""
    clock: Callable[[], float] = time.monotonic
    _may_be_behind: bool = True
    """Whether others may be at a later meeting than this device's next."""

    def run(self) -> bool:
        """Whether the update is spooled; if not, the device is to stop, and resumes from the stored state.

        Raises what `Training.run` raises, and WireError ``bundle.*``.
        """
        try:
            return self._run()
        except SamplesGone as error:  # the others have models that were learned from them
            raise no_samples() from error

    def _run(self) -> bool:
        """As `run`, but raises SamplesGone."""
        state, rules = self._stored(), self._rules()
        while state.number < rules.in_all and self._halted(state) is not Halt.ENOUGH:
            roster = self._attend()
            if roster is None:
                break
            calls = self.calls_in(roster)
            if rules.turn_s is not None:
                waiting = self._waiting(state, rules, roster, calls)
                meeting = waiting.next_meeting(state.number)
                if meeting is None:
                    break
                turn = waiting.turn(meeting, state.number)
                if turn is None and self._halted(state) is Halt.PAUSE:
                    return False
                if turn is not None:
                    state = self._moved_to_turn(state, turn, waiting)
                if turn != meeting:  # the roster has changed, or the others are past the meeting
                    continue
            elif self._may_be_behind:
                state = self._caught_up(state, roster, calls)
            next_state = self._part(state, rules, roster, calls)
            if next_state is None:
                return False
            state = next_state
        return self._spool(state)

    @cached_property
    def _base(self) -> Tensors:
        """The version's parameters."""
        return self.training.model.parameters()

    def _part(self, state: _State, rules: MeetingRules, roster: Roster, calls: PeerCalls) -> _State | None:
        """The state after a training and a meeting, or a meeting alone; None if the device is to stop."""
        part: EndedTraining | None = None
        self._set_position(state)
        if state.number < rules.meetings:
            part = self.training.train(self._start(state))
            if part is None:
                return None
            state = self._trained(state, part)
        elif state.number >= rules.in_all:
            return state
        met = self._met(state, rules, roster, calls)
        if met is None:
            if part is not None:
                self.training.save(part)
            return None
        return self._save(met)

    def _start(self, state: _State) -> TrainingStart:
        parameters = {name: tensor + state.difference[name] for name, tensor in self._base.items()}
        seed = derive_seed(self.training.assignment.seed, "meeting", state.number)
        return TrainingStart(parameters, seed, state.progress)

    def _trained(self, state: _State, part: EndedTraining) -> _State:
        done = part.client.training
        return msgspec.structs.replace(
            state,
            difference={name: part.trained[name] - tensor for name, tensor in self._base.items()},
            progress=part.progress,
            steps_done=state.steps_done + done.steps_done,
            steps_total=state.steps_total + done.steps_total,
        )

    def _met(self, state: _State, rules: MeetingRules, roster: Roster, calls: PeerCalls) -> _State | None:
        """The state after meeting the group; None if the device is to pause first."""
        own = self._own
        plan, assignment = self.training.plan, self.training.assignment
        group = self._group(state.number, rules, roster)
        meeting = (ClippedMeeting if rules.clips else Meeting)(
            own=own,
            group=group,
            difference=state.difference,
            specs=self.training.model.manifest.model.parameters,
            weight=min(MOST_WEIGHT, len(parts_of(self._ids(state), plan.local).train)),
            codec=plan.codec,
            seed=derive_seed(assignment.seed, "meeting", state.number),
        )
        attended = MeetingAttendance(
            number=state.number,
            meeting=meeting,
            handler=self.handler,
            calls=calls,
            peers=_by_name(roster),
            wait_s=rules.wait_s,
            stop=lambda: self._halted(state) is not None,
            wait=self.wait,
        ).run()
        if attended is None:
            return state if self._halted(state) is Halt.ENOUGH else None
        self._may_be_behind = attended.ahead > state.number + 1
        log.info("meeting %d of %d: %d of %d devices", state.number + 1, rules.in_all, attended.met, len(group))
        with self.handler.lock:
            later = msgspec.structs.replace(state, number=state.number + 1, difference=meeting.end())
        for member in meeting.far:
            log.warning("meeting %d: the model of device %s lies far off those of the others", later.number, member)
        return msgspec.structs.replace(
            later, met=_counted(state.met, meeting.share_senders), far=_counted(state.far, meeting.far)
        )

    def _caught_up(self, state: _State, roster: Roster, calls: PeerCalls) -> _State:
        """The state at the group's meeting, if that is later, with the model of one of its devices.

        Training since the last meeting is lost, as the own model is too old to be averaged with theirs.
        """
        peers = _by_name(roster)
        others = [peers[name] for name in self._group(state.number, self._rules(), roster) if name != self._own]

        def at(peer: Peer) -> int:
            try:
                return calls.call(peer, "who is there", roster=self.handler.digest, meeting=state.number).answer.meeting
            except Unreachable:
                return 0

        with ThreadPoolExecutor(max(1, len(others))) as pool:
            found = list(zip(pool.map(at, others), others, strict=True))
        ahead = [(number, peer) for number, peer in found if number > state.number + self._has_trained(state)]
        rules = self._rules()
        if rules.clips and len(ahead) < 2:
            return state  # a single device is not enough where devices may be malicious
        ahead.sort(key=lambda one: one[0], reverse=True)
        number = ahead[rules.clips][0] if ahead else 0
        difference = self._agreed(state, self._models(ahead, calls), rules)
        if difference is None:
            return state
        log.info("the others are at meeting %d: goes on from there, with the model of one of them", number + 1)
        return self._moved(state, number, difference)

    def _models(self, ahead: Sequence[tuple[int, Peer]], calls: PeerCalls) -> Iterator[bytes]:
        for number, peer in ahead:
            try:
                yield calls.call(peer, "your model", roster=self.handler.digest, meeting=number).content
            except Unreachable as error:
                log.warning("cannot go on from a peer's model: %s [%s]", error.detail, error.code)

    def _waiting(self, state: _State, rules: MeetingRules, roster: Roster, calls: PeerCalls) -> Waiting:
        """Waits for a meeting for which the device is drawn, a change of the roster, or the request to stop."""
        self._set_position(state)
        known = self.gathering().roster
        return Waiting(
            own=self._own,
            roster=roster,
            digest=self.handler.digest,
            rules=rules,
            calls=calls,
            stop=lambda: self._halted(state) is not None or self.gathering().roster != known,
            wait=self.wait,
            clock=self.clock,
        )

    def _moved_to_turn(self, state: _State, number: int, waiting: Waiting) -> _State:
        """The state at meeting `number`, with the model of a device that was at the meeting before, or a recent one."""
        difference = self._agreed(state, waiting.models(state.number, number), self._rules())
        if difference is None:
            return self._moved(state, number, state.difference)
        log.info("goes on to meeting %d with the model of one that has met", number + 1)
        return self._moved(state, number, difference)

    def _agreed(self, state: _State, models: Iterator[bytes], rules: MeetingRules) -> Tensors | None:
        """The first readable model, or, if models may be poisoned, what most of a few agree on; None: there is none."""
        readable = (one for one in map(self._decoded, models) if one is not None)
        if not rules.clips:
            return next(readable, None)
        known = list(islice(readable, MOST_ASKED))
        return most_agreed(state.difference, known) if len(known) > 1 else None

    def _decoded(self, content: bytes) -> Tensors | None:
        """A peer's model; None where it cannot be decoded."""
        try:
            specs = self.training.model.manifest.model.parameters
            return decode_whole(content, self.training.plan.codec, specs) if content else None
        except WireError as error:
            log.warning("cannot go on from a peer's model: %s [%s]", error.detail, error.code)
            return None

    def _moved(self, state: _State, number: int, difference: Tensors) -> _State:
        later = msgspec.structs.replace(state, number=number, difference=difference)
        return later if later.progress is None else self._save(later)

    def _has_trained(self, state: _State) -> bool:
        """Whether there is a checkpoint of a training for the next meeting."""
        return state.progress is not None and self.training.store.work.checkpoint() is not None

    def _group(self, number: int, rules: MeetingRules, roster: Roster) -> Sequence[str]:
        return rules.group_of(self._own, list(_by_name(roster)), number, seed=roster.seed) or (self._own,)

    @property
    def _own(self) -> str:
        return self.training.store.identity.get().device

    def _attend(self) -> Roster | None:
        """The roster of the round; None where it has expired, so that no more meetings take place."""
        try:
            return self.handler.attend(self.gathering().roster)
        except WireError as error:
            if error.code != "meeting.expired":
                raise
            log.warning("%s; what was learned goes home", error.detail)
            return None

    def _set_position(self, state: _State) -> None:
        """Record the device's position, which peers may ask for."""
        is_new = not state.number
        seed = derive_seed(self.training.assignment.seed, "meeting", state.number)
        whole = b"" if is_new else encode_whole(state.difference, self.training.plan.codec, seed=seed)
        self.handler.set_position(state.number, whole)

    def _spool(self, state: _State) -> bool:
        """Spool the difference from the version as an ordinary update; False if it was paused."""
        training, model = self.training, self.training.model.manifest.model
        if state.progress is None or not state.steps_done:
            raise AgentError("agent.too_late", "the round closes before a first step could be finished")
        self._set_position(state)
        trained = {name: tensor + state.difference[name] for name, tensor in self._base.items()}
        predictor = Predictor(
            training.model.predict(), model, trained, training.model.frozen(), threads=training.threads
        )
        ids = self._ids(state)
        after = training.measure(predictor, trained, ids)
        if after is None:
            return False
        update = make_update(
            self._base,
            trained,
            plan=training.plan,
            model=model,
            states=read_states(training.store, training.assignment.federation),
            steps=state.steps_done,
            seed=training.assignment.seed,
            secret=secrets.randbits(256),
        )
        samples = min(len(parts_of(ids, training.plan.local).train), state.steps_done * model.batch_size)
        training.spool(
            update,
            state.progress,
            after,
            samples=samples,
            steps_done=state.steps_done,
            steps_total=state.steps_total,
            suspects=state.suspects,
        )
        return True

    def _ids(self, state: _State) -> Sequence[int]:
        """Numbers of the samples of the round."""
        if state.progress is None:
            raise AgentError("agent.too_late", "the others have ended their meetings before this device could train")
        return self.training.store.samples.ids(state.progress.snapshot)

    def _stored(self) -> _State:
        found = self.training.store.meetings.load()
        specs = self.training.model.manifest.model.parameters
        if found is None:
            return _State(0, {spec.name: np.zeros(spec.shape, np.float32) for spec in specs})
        stored, content = found
        difference = {
            name: np.asarray(tensor, np.float32) for name, tensor in decode_tensors(content, expected=specs).items()
        }
        return _State(
            stored.number, difference, stored.progress, stored.steps_done, stored.steps_total, stored.met, stored.far
        )

    def _save(self, state: _State) -> _State:
        """`state`, after writing it to the disk."""
        assert state.progress is not None, "the device has trained"
        progress = MeetingProgress(
            state.number,
            state.progress,
            state.steps_done,
            state.steps_total,
            self.gathering(),
            state.met,
            state.far,
        )
        self.training.store.meetings.save(progress, encode_tensors(dict(state.difference)))
        return state

    def _rules(self) -> MeetingRules:
        gathering = self.gathering()
        return MeetingRules(
            gathering.meetings, gathering.settling, gathering.group, gathering.wait_s, gathering.clips, gathering.turn_s
        )

    def _halted(self, state: _State) -> Halt | None:
        return self.training.halt(0.0 if state.progress is None else state.progress.measure_s)


def _counted(before: Mapping[str, int], more: Sequence[str]) -> Mapping[str, int]:
    return {**before, **{name: before.get(name, 0) + 1 for name in more}}


def _by_name(roster: Roster) -> dict[str, Peer]:
    return {peer.device: peer for peer in roster.peers}
