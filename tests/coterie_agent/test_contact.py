"""What the device does with the platform's answer before anybody else of the agent acts on it."""

import random
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coterie_agent.certifying import Certifying
from coterie_agent.contact import Contact
from coterie_agent.exclusions import Exclusions
from coterie_agent.home import Home
from coterie_agent.link.failure import Unreachable
from coterie_agent.model import held_manifest
from coterie_agent.renewing import Renewing
from coterie_agent.situation import Situation
from coterie_agent.store.certificates import CertificateFiles
from coterie_agent.store.journal import Journal
from coterie_agent.store.latencies import MeasuredDurations
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalEdition, PersonalTensors
from coterie_agent.store.samples import Row
from coterie_learning.kind_names import own_kinds
from coterie_wire.bundle import verify_key_of
from coterie_wire.conditions import Conditions
from coterie_wire.fallback import PlatformOffer
from coterie_wire.helping import StandingPlan
from coterie_wire.latency import Histogram, Latency
from coterie_wire.messages import (
    Capabilities,
    CheckIn,
    CheckInWindow,
    Directive,
    Done,
    Enrolled,
    NextCredential,
    PrivacyBudget,
)
from coterie_wire.platform_keys import sign_next_key
from tests.coterie_agent.bundles import SIGNING_KEY, Bundle
from tests.coterie_agent.fake_platform import CREDENTIAL

NEXT_KEY = verify_key_of(bytes([9]) * 32)
CAPABILITIES = Capabilities(cores=1, memory_bytes=1, machine="any", agent="any")


class Noted(Situation):
    """Notes which personal model there was when the answer became known, and ends the agent."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self.own: PersonalEdition | None = None

    def set_directive(self, directive: Directive, *, at: float) -> None:
        self.own = self._store.peers.personal()
        super().set_directive(directive, at=at)
        self.stop()


class Link:
    """A way to a platform that does not look at credentials."""

    def call(self, message: Any, reply: type[Any]) -> Any:
        raise NotImplementedError

    def use_credential(self, credential: str) -> None:
        raise NotImplementedError


class Answering(Link):
    """A platform that has rolled version 5 back."""

    def call(self, _message: object, _reply: object) -> Directive:
        return Directive(check_in_s=15, withdrawn=("v5",))


class Platform(Link):
    """A platform that says whether it passes over what it does not know; it notes what it is told."""

    def __init__(self, *, ignores_unknown: bool, offer: PlatformOffer | None = None, hides: bool = False) -> None:
        self._directive = Directive(
            check_in_s=3600, ignores_unknown=ignores_unknown, platform_answers=offer, hides=hides
        )
        self.heard: list[CheckIn] = []

    def call(self, message: CheckIn, _reply: object) -> Directive:
        self.heard.append(message)
        return self._directive


class Counting(Situation):
    """Ends the agent after as many answers, or when it would wait for the time of its next check-in."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self._left = answers

    def set_directive(self, directive: Directive, *, at: float) -> None:
        super().set_directive(directive, at=at)
        self._left -= 1
        if not self._left:
            self.stop()

    def wait(self, edition: int, timeout_s: float | None) -> None:
        self.stop()


class Woken(Counting):
    """Checks in again at once after each answer, where a training step takes another time after the third."""

    def __init__(self, answers: int, journal: Journal) -> None:
        super().__init__(answers)
        self._journal = journal

    def set_directive(self, directive: Directive, *, at: float) -> None:
        if self._left == 2:
            self._journal.measure("train_step_s", 0.5)
        super().set_directive(directive, at=at)
        self.wake()


def no_socket(_on_wake: object, _on_close: object) -> object:
    raise Unreachable("no answer")


def contact(store: Store, situation: Situation, platform: "Link", *, asks_platform: bool = False) -> Contact:
    return Contact(
        situation=situation,
        samples=store.samples,
        labelling=store.labelling,
        peers=store.peers,
        work=store.work,
        agreements=store.agreements,
        promises=store.promises,
        journal=store.journal,
        latencies=store.latencies,
        check_ins=store.check_ins,
        capabilities=CAPABILITIES,
        https=platform,
        open_socket=no_socket,
        check_in_s=15,
        identity=store.identity,
        renewing=Renewing(store.identity, platform),
        certifying=Certifying(CertificateFiles(Home(Path("/nowhere"))), platform),
        exclusions=Exclusions(store.identity.trusted),
        tell="counts",
        platform_offer=store.platform_offer,
        asks_platform=asks_platform,
    )


def test_an_own_model_that_is_to_go_has_gone_before_a_round_can_begin_with_it(store: Store) -> None:
    store.peers.adopt(PersonalTensors("v4", b"of four"))
    store.peers.adopt(PersonalTensors("v5", b"of five"))
    situation = Noted(store)
    contact(store, situation, Answering()).run()
    assert situation.own is not None
    assert situation.own.base == "v4"


def test_a_platform_of_0_1_is_not_told_the_kinds_that_the_device_has(store: Store) -> None:
    platform = Platform(ignores_unknown=False)
    contact(store, Counting(3), platform).run()
    assert [heard.capabilities for heard in platform.heard] == [CAPABILITIES]


def test_a_newer_platform_is_told_them_at_once(joined: Store) -> None:
    platform = Platform(ignores_unknown=True)
    contact(joined, Counting(3), platform).run()
    first, second = (heard.capabilities for heard in platform.heard)
    assert first == CAPABILITIES
    assert second is not None
    assert second.kinds == own_kinds()


def test_what_the_device_can_do_is_told_again_only_when_it_has_changed(joined: Store) -> None:
    platform = Platform(ignores_unknown=True)
    contact(joined, Woken(5, joined.journal), platform).run()
    _, told, same, still, changed = (heard.capabilities for heard in platform.heard)
    assert told is not None and told.train_step_s is None
    assert (same, still) == (None, None)
    assert changed is not None and changed == msgspec.structs.replace(told, train_step_s=0.5)
    again = Platform(ignores_unknown=True)
    contact(joined, Counting(2), again).run()
    assert again.heard[-1].capabilities == changed, "after a start it is told anew"


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (None, (1, 1, 2)),
        (b'{"help": {"kind": "none"}}', (1, 1, 2)),
        (b'{"help": {"kind": "cartel", "noise_multiplier": 0.0}}', (1, 1, 2)),
        (b'{"help": {"kind": "cartel", "noise_multiplier": 0.5}}', ()),
        (b'{"help": {"kind": "cartel", "noise_multiplier": "much"}}', ()),
    ],
)
def test_counts_by_class_are_not_told_where_profiles_have_noise(
    joined: Store, plan: bytes | None, told: tuple[int, ...]
) -> None:
    joined.samples.add([Row(b"\0" * 16, label) for label in (0, 1, 2, 2)], max_samples=10)
    if plan is not None:
        joined.peers.set_plan(StandingPlan("0" * 64, "digits", msgspec.Raw(plan)))
    platform = Platform(ignores_unknown=True)
    contact(joined, Counting(2), platform).run()
    first, heard = platform.heard
    assert first.metadata is None
    assert heard.metadata is not None
    assert (heard.metadata.samples, tuple(heard.metadata.class_counts)) == (4, told)


def test_nothing_that_a_plan_hides_in_a_sum_is_told_before_the_first_round_either(joined: Store) -> None:
    joined.samples.add([Row(b"\0" * 16, label) for label in (0, 1, 2, 2)], max_samples=10)
    joined.journal.measure("train_step_s", 0.5)
    joined.latencies.add(
        MeasuredDurations("digits", "v1", "predict", "float32", "yes", None, Histogram((0, 1000))), now=0.0
    )
    platform = Platform(ignores_unknown=True, hides=True)
    contact(joined, Counting(2), platform).run()
    contact(joined, Counting(2), platform).run()
    assert len(platform.heard) == 4
    for heard in platform.heard:
        assert heard.metadata is None
        assert heard.capabilities is not None
        assert heard.capabilities.train_step_s is None
        assert heard.latencies == ()
    assert joined.work.is_masked(), "so that figures of personal models, trials and evaluations are withheld, too"


@pytest.mark.parametrize(("federations", "asked"), [(None, ["digits", "voices"]), (("voices",), ["voices"]), ((), [])])
def test_a_federation_that_has_ended_asks_the_owner_nothing_any_more(
    joined: Store, federations: tuple[str, ...] | None, asked: list[str]
) -> None:
    """An older platform does not say which have."""

    class Naming(Link):
        def call(self, _message: object, _reply: object) -> Directive:
            return Directive(check_in_s=15, federations=federations)

    for name in ("digits", "voices"):
        joined.agreements.ask(name, ("help",))
        joined.promises.agree(name, PrivacyBudget(8.0, 1e-6))
        joined.promises.ask(name, PrivacyBudget(9.0, 1e-6))
    contact(joined, Counting(1), Naming()).run()
    assert [one.federation for one in joined.agreements.pending()] == asked
    assert [one.federation for one in joined.promises.raised()] == asked
    assert joined.promises.agreed("digits") == PrivacyBudget(8.0, 1e-6), "what was agreed to stays"


class Renaming(Link):
    """A platform that has replaced its signing key, and says who has signed that."""

    def __init__(self, *, by: bytes) -> None:
        self._statement = sign_next_key(NEXT_KEY, former_until=0, signing_key=by)

    def call(self, _message: object, _reply: object) -> Directive:
        return Directive(check_in_s=15, next_keys=(self._statement,))


def test_the_key_that_the_trusted_one_names_is_followed_before_anything_else(joined: Store, bundle: Bundle) -> None:
    class Looking(Counting):
        def set_directive(self, directive: Directive, *, at: float) -> None:
            assert joined.identity.trusted() == (NEXT_KEY,)
            super().set_directive(directive, at=at)

    joined.work.hold_model(bundle.signed)
    contact(joined, Looking(2), Renaming(by=SIGNING_KEY)).run()
    assert joined.identity.get().platform_key == NEXT_KEY
    assert held_manifest(joined) == bundle.manifest


def test_a_key_that_a_stranger_names_is_not_followed(joined: Store, bundle: Bundle) -> None:
    contact(joined, Counting(1), Renaming(by=bytes([8]) * 32)).run()
    assert joined.identity.trusted() == (bundle.platform_key,)


def test_the_trusted_key_is_told_to_a_newer_platform_alone(joined: Store, bundle: Bundle) -> None:
    for ignores_unknown, keys in ((False, [None]), (True, [None, bundle.platform_key])):
        platform = Platform(ignores_unknown=ignores_unknown)
        contact(joined, Counting(3), platform).run()
        assert [heard.capabilities and heard.capabilities.platform_key for heard in platform.heard] == keys


def test_how_quick_the_device_is_is_told_once_and_to_a_newer_platform_alone(joined: Store) -> None:
    durations = Histogram((0, 1000))
    joined.latencies.add(MeasuredDurations("digits", "v1", "predict", "float32", "yes", None, durations), now=0.0)
    old, new = Platform(ignores_unknown=False), Platform(ignores_unknown=True)
    contact(joined, Counting(3), old).run()
    assert [heard.latencies for heard in old.heard] == [()] * len(old.heard)
    told = contact(joined, Counting(4), new)
    told.run()
    assert new.heard[0].latencies == ()
    assert new.heard[1].latencies == (Latency("v1", "predict", "float32", durations, "yes"),)
    assert told._latencies_to_report() == ()
    joined.latencies.add(
        MeasuredDurations("digits", "v1", "predict", "float32", "yes", None, Histogram((1000,))), now=0.0
    )
    assert told._latencies_to_report() == (), "not every few seconds"
    joined.latencies.add(MeasuredDurations("digits", "v1", "predict", "int8", "yes", None, durations), now=0.0)
    assert [one.form for one in told._latencies_to_report()] == ["float32", "int8"]


class Ordering(Link):
    """A platform that wants another credential until a check-in shows one."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._shown = CREDENTIAL

    def call(self, message: Any, reply: type[Any]) -> Any:
        self.log.append(f"{type(message).__name__} by {self._shown[:6]}")
        if isinstance(message, NextCredential):
            return Done()
        return Directive(check_in_s=3600, renew_credential=self._shown == CREDENTIAL)

    def use_credential(self, credential: str) -> None:
        self._shown = credential


def test_another_credential_is_shown_in_a_check_in_at_once(joined: Store) -> None:
    platform = Ordering()
    contact(joined, Counting(3), platform).run()
    assert platform.log == [
        "CheckIn by secret",
        "NextCredential by secret",
        f"CheckIn by {joined.identity.credential()[:6]}",
    ]
    assert joined.identity.credential() != CREDENTIAL


def test_that_the_platform_answers_is_kept_where_the_owner_lets_samples_leave_and_nowhere_else(store: Store) -> None:
    enrolled = Enrolled(device="d1", credential=CREDENTIAL, platform_key=NEXT_KEY, check_in_s=30)
    store.identity.save(url="http://127.0.0.1:9", name="kiosk", enrolled=enrolled)
    offer = PlatformOffer("digits", 8)
    platform = Platform(ignores_unknown=True, offer=offer)
    contact(store, Counting(3), platform).run()
    assert store.platform_offer.load() is None
    assert not any(heard.capabilities and heard.capabilities.asks_platform for heard in platform.heard)
    contact(store, Counting(3), platform, asks_platform=True).run()
    assert store.platform_offer.load() == offer
    assert platform.heard[-1].capabilities is not None
    assert platform.heard[-1].capabilities.asks_platform
    contact(store, Counting(3), Platform(ignores_unknown=True), asks_platform=True).run()
    assert store.platform_offer.load() is None, "the plan no longer says so"
    store.platform_offer.hold(offer)
    contact(store, Counting(3), platform).run()
    assert store.platform_offer.load() is None, "the owner no longer says so"


WINDOW = CheckInWindow(after_s=1800, within_s=3600)


class Steering(Link):
    """A platform of a large fleet; it counts check-ins."""

    def __init__(self, window: CheckInWindow | None = WINDOW) -> None:
        self._window = window
        self.heard = 0

    def call(self, _message: object, _reply: object) -> Directive:
        self.heard += 1
        return Directive(check_in_s=3600, window=self._window)


class Waiting(Situation):
    """Ends the agent when it would wait, and notes for how long."""

    waited_s: float | None = None

    def wait(self, edition: int, timeout_s: float | None) -> None:
        self.waited_s = timeout_s
        self.stop()


class Changing(Waiting):
    """Its conditions are others when the agent waits for the first time."""

    def __init__(self, before: Conditions, after: Conditions) -> None:
        super().__init__()
        self._before, self._after = before, after
        self.set_conditions(before, ())

    def wait(self, edition: int, timeout_s: float | None) -> None:
        if self.now.conditions == self._before:
            self.set_conditions(self._after, ())
        else:
            super().wait(edition, timeout_s)


def waits_s(store: Store, platform: Link, seed: int = 0) -> float:
    """How long an agent waits that has just started, after what it says at once."""
    situation = Waiting()
    one = contact(store, situation, platform)
    one.rng, one._socket_at = random.Random(seed), float("inf")
    one.run()
    assert situation.waited_s is not None
    return situation.waited_s


def test_a_device_comes_back_in_its_window_and_restarts_draw_no_other_moment(store: Store) -> None:
    platform = Steering()
    first = waits_s(store, platform, seed=1)
    assert 1800 <= first <= 5400
    again = [waits_s(store, platform, seed=seed) for seed in (2, 3, 4)]
    assert platform.heard == 1
    assert again == pytest.approx([first] * 3, abs=5)


def test_moments_are_drawn_by_each_device_for_itself(store: Store) -> None:
    drawn = set()
    for seed in range(5):
        store.check_ins.drop()
        drawn.add(round(waits_s(store, Steering(), seed)))
    assert len(drawn) == 5


def test_without_a_window_every_start_checks_in_at_once(store: Store) -> None:
    platform = Steering(None)
    assert all(0.8 * 3600 - 5 <= waits_s(store, platform, seed) <= 3600 for seed in range(3))
    assert platform.heard == 3
    assert store.check_ins.find() is None


def test_what_the_platform_does_not_know_is_told_at_once_after_a_restart(store: Store, bundle: Bundle) -> None:
    platform = Steering()
    waits_s(store, platform)
    situation = Waiting()
    situation.hold("v-9", bundle.manifest.model)
    contact(store, situation, platform).run()
    assert platform.heard == 2


@pytest.mark.parametrize(
    ("changed", "check_ins"), [({"idle": "no"}, 1), ({"temperature_c": 50.0}, 1), ({"charging": "no"}, 2)]
)
def test_a_device_that_is_idle_and_in_use_by_turns_checks_in_no_oftener(
    store: Store, changed: dict[str, Any], check_ins: int
) -> None:
    before = Conditions(charging="yes", network="wifi", idle="yes", temperature_c=40.0)
    platform, situation = Steering(None), Changing(before, msgspec.structs.replace(before, **changed))
    one = contact(store, situation, platform)
    one._socket_at = float("inf")
    one.run()
    assert platform.heard == check_ins


def test_a_visit_that_was_missed_is_made_at_once(store: Store) -> None:
    platform = Steering()
    waits_s(store, platform)
    missed(store)
    waits_s(store, platform)
    assert platform.heard == 2


def missed(store: Store) -> None:
    """The time of the device's visit is over."""
    visit = store.check_ins.find()
    assert visit is not None
    store.check_ins.keep(msgspec.structs.replace(visit, due_at=time.time()))


class Away(Link):
    """A platform that does not answer."""

    def call(self, _message: object, _reply: object) -> Directive:
        raise Unreachable("no answer")


def test_devices_that_found_the_platform_away_come_back_spread_over_their_window(store: Store) -> None:
    waits = []
    for seed in range(20):
        waits_s(store, Steering(), seed)
        missed(store)
        waits.append(waits_s(store, Away(), seed))
    assert all(1800 - 5 <= waited_s <= 5400 for waited_s in waits)
    assert max(waits) - min(waits) > 1200
    store.check_ins.drop()
    assert waits_s(store, Away()) <= 0.5, "and at once in a small fleet"


class Closing(Link):
    """A socket that the platform has closed."""

    def __init__(self, spread_s: float) -> None:
        self.spread_s = spread_s

    def call(self, _message: object, _reply: object) -> Directive:
        raise Unreachable("the socket closed")

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("window", "spread_s"), [(None, 0.0), (None, 600.0), (WINDOW, 0.0)])
def test_a_socket_that_the_platform_closed_is_opened_again_within_what_was_told(
    store: Store, window: CheckInWindow | None, spread_s: float
) -> None:
    platform = Steering(window)
    waits_s(store, platform)
    situation = Waiting()
    one = contact(store, situation, platform)
    one.rng, one._socket, one._socket_at = random.Random(3), Closing(spread_s), float("inf")
    if window is not None:
        missed(store)
    one.run()
    assert situation.waited_s is not None
    if window is None and not spread_s:
        assert platform.heard == 2, "over HTTPS at once"
    else:
        assert platform.heard == 1
        assert 1 < situation.waited_s <= max(spread_s, 3600 * (window is not None))
