"""A device between rounds: it judges, tells, asks, is helped and helps; killed at any moment it goes on."""

import threading
import time
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from coterie_agent.home import Home
from coterie_agent.peers.reading import found_in
from coterie_agent.predicting import load_held_model
from coterie_agent.sharing import share_profile
from coterie_agent.store.agreements import AskedOfOwner
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import Reading
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.training.model import read_parameters
from coterie_learning.help.none import NoHelp
from coterie_learning.local.distill import Distill
from coterie_learning.portions.payload import PortionTerms, decode_portion
from coterie_learning.prediction_counts import PredictionCounts
from coterie_learning.profile import Counts
from coterie_learning.profile_noise import sample_noise
from coterie_learning.watch import DriftWatch
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.helping import (
    AskHelp,
    DeclineTransfer,
    GiveVerdict,
    OfferPortion,
    Profile,
    ReportMerged,
    ReportProfile,
    WithdrawHelp,
)
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import SPEC, Bundle, make_bundle
from tests.coterie_agent.peers.world import (
    CARTEL,
    GOOD,
    Device,
    batch,
    plan,
    refused,
    rows,
    serve,
    unreachable,
)

KNOWN, NEW = (0, 1, 0, 1), (0, 1, 2, 2)
NO_TRAINING = plan(local_training_every_s=None)
BETWEEN_ROUNDS = plan(spares_newest=True)
OFFLINE = Reason("conditions.offline", "no network")
ON_BATTERY = Reason("conditions.on_battery", "on battery")


@pytest.fixture
def new_device(home: Home, joined: Store, bundle: Bundle) -> Callable[..., Device]:
    """Makes a device whose personal model knows classes 0 and 1 and takes 2 for 0; ``new_device(tell=…)``."""

    def make(**settings: object) -> Device:
        half = {"weight": GOOD["weight"].copy(), "bias": GOOD["bias"].copy()}
        half["weight"][2] = -half["weight"][2]
        joined.peers.adopt(PersonalTensors("v1", encode_tensors(half)))
        return Device(home, joined, bundle, settings)

    return make


def personal_parameters(device: Device) -> dict[str, np.ndarray]:
    own = read_parameters(device.store.peers.personal_tensors(), SPEC)
    assert own is not None
    return dict(own)


def test_a_device_with_helpful_peers_from_drift_to_recovery(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(KNOWN, KNOWN)
    assert device.link.named(AskHelp) == []
    device.take(NEW, NEW)
    (ask,) = device.link.named(AskHelp)
    assert (ask.federation, ask.classes) == ("digits", (2,))
    assert (ask.profile.classes, ask.profile.counts, ask.profile.hits) == ((0, 1, 2), (2, 2, 4), (2, 2, 0))
    assert device.situation.now.asking == ask.request

    device.direct(NO_TRAINING, help=device.ask_news("delivered", rows(GOOD)))
    device.live()
    (verdict,) = device.link.named(GiveVerdict)
    assert device.link.named(ReportMerged)[0].transfer == verdict.transfer == "t-1"
    assert (verdict.kept, verdict.accuracy_before, verdict.accuracy_after, verdict.samples) == (True, 0.5, 1.0, 8)
    assert device.situation.now.asking is None
    assert [helped.outcome for helped in device.store.peers.outcomes()] == ["kept"]
    held = load_held_model(device.store, device.home, threads=1)
    assert held.is_personal and held.stored is not None and held.stored.edition == 2
    device.take(NEW)
    assert device.situation.now.peers.error == pytest.approx(0.25)  # the batch before help is among the newest


NOISY = msgspec.structs.replace(CARTEL, noise_multiplier=0.3)


def test_profiles_and_requests_leave_with_noise_that_no_retry_draws_anew(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(plan(NOISY, local_training_every_s=None))
    device.link.fault = unreachable()
    device.take(KNOWN)
    assert device.link.named(ReportProfile) == []
    stored = device.store.peers.reading()
    device.start()
    device.direct(plan(NOISY, local_training_every_s=None))
    device.live()
    (first,) = device.link.named(ReportProfile)
    noise = sample_noise(NOISY, device.config.privacy.delta)
    assert noise is not None and first.profile.noise == noise
    drawn = msgspec.structs.replace(first.profile, noise=None)
    assert stored is not None and drawn == device_profile(stored), "as it was drawn before it could be sent"
    device.take(KNOWN, KNOWN)
    assert device.link.named(ReportProfile) == [first]
    device.take(KNOWN)
    assert len(device.link.named(ReportProfile)) == 2
    assert device.situation.now.peers.noise == noise


def test_noise_that_hides_every_class_ends_the_request_until_the_cool_down(
    new_device: Callable[..., Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is far more than the few samples of a batch; one draw in fifteen shows a class all the same."""
    monkeypatch.setattr("coterie_agent.peers.membership.secrets.token_bytes", lambda size: bytes(size))
    device = new_device()
    device.direct(plan(msgspec.structs.replace(CARTEL, noise_multiplier=1000.0), local_training_every_s=None))
    device.take(KNOWN, KNOWN, NEW, NEW)
    drifting = device.situation.now.peers
    assert drifting is not None and drifting.drifting
    assert [len(ask.classes) for ask in device.link.named(AskHelp)] == []


def device_profile(reading: Reading) -> Profile:
    """What the stored watch says was told."""
    watch = msgspec.json.decode(reading.watch, type=DriftWatch)
    told = Counts(np.array(watch.reported), np.array(watch.reported_wrong))
    return share_profile(found_in(told), "counts", batch=reading.batches, drifting=watch.drifting, willing=True)


def test_predictions_that_drift_are_told_before_labels_come(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(KNOWN, KNOWN)
    told = device.link.named(ReportProfile)
    assert not any(report.profile.drifting for report in told)
    for doubt in (0.1, 0.1, 0.8, 0.8):
        device.store.predicted.add(PredictionCounts("v1 float32", 50, 50 * doubt, 0))
    device.live()
    assert device.store.predicted.load() is None
    assert device.situation.now.peers.drifting
    reports = device.link.named(ReportProfile)
    assert (len(reports), reports[-1].profile.drifting) == (len(told) + 1, True)
    assert device.link.named(AskHelp) == [], "with which class, labels must say"
    device.start()
    device.direct(NO_TRAINING)
    device.live()
    assert device.situation.now.peers.drifting, "also after a kill"


def test_help_that_does_not_help_is_undone(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    before = personal_parameters(device)
    useless = {"weight": -GOOD["weight"], "bias": GOOD["bias"]}
    device.direct(NO_TRAINING, help=device.ask_news("delivered", rows(useless)))
    device.live()
    (verdict,) = device.link.named(GiveVerdict)
    assert (verdict.kept, verdict.accuracy_before, verdict.accuracy_after) == (False, 0.5, 0.5)
    for name, tensor in personal_parameters(device).items():
        np.testing.assert_array_equal(tensor, before[name])


@pytest.mark.parametrize("moment", range(5))
def test_killed_at_any_moment_it_is_helped_once(new_device: Callable[..., Device], moment: int) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    news = device.ask_news("delivered", rows(GOOD))
    for calls in range(5):
        device.direct(NO_TRAINING, help=news)
        if calls == moment:
            device.link.fault = unreachable()
        device.companion.step()
        if calls == moment:
            device.start()
    device.direct(NO_TRAINING, help=news)
    device.live()
    assert {verdict.kept for verdict in device.link.named(GiveVerdict)} == {True}
    assert [helped.outcome for helped in device.store.peers.outcomes()] == ["kept"]
    assert device.store.peers.personal().edition == 2


def test_a_hostile_portion_is_declined_and_changes_nothing(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    device.direct(NO_TRAINING, help=device.ask_news("delivered", rows(GOOD)[:-4]))
    device.live()
    (declined,) = device.link.named(DeclineTransfer)
    assert (declined.transfer, declined.reason.code) == ("t-1", "update.malformed")
    assert device.link.named(GiveVerdict) == []
    assert device.store.peers.open_request() is not None, "another helper may come"
    assert device.store.peers.personal().edition == 1


def test_what_the_platform_has_forgotten_is_asked_again_and_what_it_has_ended_is_not(
    new_device: Callable[..., Device],
) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    device.direct(NO_TRAINING, help=device.ask_news("unknown"))
    device.live()
    first, again = device.link.named(AskHelp)
    assert first == again
    device.direct(NO_TRAINING, help=device.ask_news("unmatched", reason=Reason("transfer.all_tried", "nobody came")))
    device.live()
    (ended,) = device.store.peers.outcomes()
    assert (ended.outcome, ended.sentence) == ("unanswered", "class 2: nobody came")
    assert device.situation.now.asking is None


def test_after_a_request_it_rests_for_the_cool_down(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    device.direct(NO_TRAINING, help=device.ask_news("unmatched"))
    device.take(NEW)
    assert len(device.link.named(AskHelp)) == 1
    device.take(NEW)
    assert len(device.link.named(AskHelp)) == 2


def test_it_asks_on_battery_but_not_without_a_network(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.situation.set_conditions(Conditions(), (ON_BATTERY, OFFLINE))
    device.take(NEW, NEW)
    assert device.link.sent == []
    assert device.situation.now.peers.needs == (2,)
    device.situation.set_conditions(Conditions(), (ON_BATTERY,))
    device.live()
    assert len(device.link.named(AskHelp)) == 1


def test_it_tells_when_its_data_moved_and_every_so_many_batches(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(KNOWN)
    (first,) = device.link.named(ReportProfile)
    assert (first.profile.classes, first.profile.counts, first.profile.hits) == ((0, 1), (2, 2), (2, 2))
    device.take(KNOWN, KNOWN)
    assert len(device.link.named(ReportProfile)) == 1
    device.take(KNOWN)
    assert len(device.link.named(ReportProfile)) == 2, "every third batch"
    device.take((2, 2, 2, 2))
    assert len(device.link.named(ReportProfile)) == 3, "the shares moved"
    assert device.link.named(ReportProfile)[-1].profile.counts == (6, 6, 4)


@pytest.mark.parametrize(
    ("settings", "counts", "hits", "willing"),
    [
        ({}, (6, 6), (6, 6), True),
        ({"help_others": False}, (6, 6), (6, 6), False),
        ({"tell": "rounded"}, (8, 8), (8, 8), True),
        ({"tell": "classes"}, (1, 1), None, False),
    ],
)
def test_the_owner_decides_what_is_told(
    new_device: Callable[..., Device], settings: dict[str, object], counts: object, hits: object, willing: bool
) -> None:
    device = new_device(**settings)
    device.direct(NO_TRAINING)
    device.situation.set_conditions(Conditions(), (OFFLINE,))
    device.take(KNOWN, KNOWN, KNOWN)
    device.situation.set_conditions(Conditions(), ())
    device.live()
    (report,) = device.link.named(ReportProfile)
    assert (report.profile.counts, report.profile.hits, report.profile.willing) == (counts, hits, willing)


def test_an_owner_who_lets_nothing_be_told_is_told_why_nobody_helps(new_device: Callable[..., Device]) -> None:
    device = new_device(tell="nothing")
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    assert device.link.sent == []
    assert device.situation.now.peers.wait.code == "help.withheld"


def test_what_was_told_is_withdrawn_when_the_owner_wants_nothing_told(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(KNOWN)
    device.config = type(device.config)(peers=type(device.config.peers)(tell="nothing"))
    device.start()
    device.direct(NO_TRAINING)
    device.live()
    assert device.link.named(ReportProfile)[-1].profile.classes == ()
    device.take(KNOWN, KNOWN, KNOWN, KNOWN)
    assert len(device.link.named(ReportProfile)) == 2


def test_it_helps_with_the_rows_of_its_own_model_and_once(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.live()
    device.link.fault = None
    device.direct(NO_TRAINING, serve=serve(NO_TRAINING, (0, 1)))
    device.live()
    terms = PortionTerms(SPEC, (0, 1), CARTEL, NO_TRAINING.codec, NO_TRAINING.privacy)
    portion = decode_portion(terms, bytes(device.link.uploaded))
    np.testing.assert_array_equal(portion["rows"], personal_parameters(device)["weight"][:2])
    assert [helped.outcome for helped in device.store.peers.outcomes()] == ["served"]
    device.direct(NO_TRAINING, serve=serve(NO_TRAINING, (0, 1)))
    device.live()
    assert len(device.link.named(OfferPortion)) == 1


def test_an_upload_that_broke_off_goes_on_after_a_restart_with_the_same_bytes(
    new_device: Callable[..., Device],
) -> None:
    device = new_device()
    device.config = type(device.config)(peers=device.config.peers, chunk_bytes=1024)
    device.start()
    device.direct(NO_TRAINING, serve=serve(NO_TRAINING))
    device.companion.step()
    offer = device.store.peers.serving()
    if offer is None:  # the whole portion went in one piece
        assert device.store.peers.has_ended("t-9")
        return
    device.start()
    device.direct(NO_TRAINING, serve=serve(NO_TRAINING))
    device.live()
    assert {message.sha256 for message in device.link.named(OfferPortion)} == {offer.sha256}


def test_it_declines_what_its_owner_does_not_want_and_what_it_cannot(new_device: Callable[..., Device]) -> None:
    device = new_device(help_others=False)
    device.direct(NO_TRAINING, serve=serve(NO_TRAINING))
    device.live()
    (declined,) = device.link.named(DeclineTransfer)
    assert (declined.transfer, declined.reason.code) == ("t-9", "help.unwilling")


def test_it_serves_only_under_the_plan_that_it_knows(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING, serve=serve(plan()))
    device.live()
    assert device.link.sent == []


def test_alone_it_learns_each_batch_after_judging_it_and_only_when_it_may(new_device: Callable[..., Device]) -> None:
    device = new_device()
    alone = plan(NoHelp())
    device.direct(alone)
    device.situation.set_conditions(Conditions(), (ON_BATTERY,))
    device.take(NEW, NEW)
    assert device.store.peers.personal().edition == 1
    device.situation.set_conditions(Conditions(), ())
    device.live()
    assert device.store.peers.personal().edition > 1
    for _ in range(60):
        device.take(NEW)
    own = personal_parameters(device)
    x = GOOD["weight"] / 3
    assert (x @ own["weight"].T + own["bias"]).argmax(axis=1).tolist() == [0, 1, 2]
    assert device.link.sent == []


def test_with_help_a_batch_is_judged_before_it_is_learned(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(plan())
    device.store.samples.add([*batch(KNOWN), *batch(KNOWN)], max_samples=1000)
    device.companion.step()
    reading = device.store.peers.reading()
    assert (reading.batches, reading.trained) == (1, 0)
    device.live()
    assert device.store.peers.reading().trained == 8


def test_a_new_version_is_taken_unless_the_own_parameters_do_better(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(KNOWN, KNOWN, KNOWN)
    before = personal_parameters(device)
    device.bundle = make_bundle(version="v2", number=2, seed=5)  # random parameters
    Device(device.home, device.store, device.bundle, {})
    device.start()
    device.direct(NO_TRAINING)
    device.live()
    assert device.store.peers.personal().base == "v2"
    np.testing.assert_array_equal(personal_parameters(device)["weight"], before["weight"])


def receive(device: Device, number: int, parameters: dict[str, np.ndarray]) -> None:
    """A round has ended, and the device has its version."""
    device.bundle = make_bundle(version=f"v{number}", number=number, tensors=parameters)
    Device(device.home, device.store, device.bundle, {})
    device.start()
    device.direct(BETWEEN_ROUNDS)
    device.live()


def test_between_rounds_it_learns_all_but_the_newest_batch(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(BETWEEN_ROUNDS)
    device.take(KNOWN, KNOWN, KNOWN)
    reading = device.store.peers.reading()
    assert (reading.judged, reading.trained) == (12, 8)
    assert device.store.peers.personal().edition == 3


def test_a_version_is_judged_on_the_batch_that_the_own_model_has_not_learned(
    new_device: Callable[..., Device],
) -> None:
    device = new_device()
    device.direct(BETWEEN_ROUNDS)
    device.take(KNOWN, KNOWN, NEW)
    learned = personal_parameters(device)
    receive(device, 2, {name: -tensor for name, tensor in GOOD.items()})
    assert device.store.peers.personal().base == "v2"
    np.testing.assert_array_equal(personal_parameters(device)["weight"], learned["weight"])
    receive(device, 3, GOOD)
    np.testing.assert_array_equal(personal_parameters(device)["weight"], GOOD["weight"])


def test_where_the_plan_keeps_the_own_model_no_version_replaces_it(new_device: Callable[..., Device]) -> None:
    device = new_device()
    keeps = plan(NoHelp(), local_training_every_s=None, local=Distill(head="all"))
    device.direct(keeps)
    device.take(NEW, NEW)
    before = personal_parameters(device)
    device.bundle = make_bundle(version="v2", number=2, tensors=GOOD)
    Device(device.home, device.store, device.bundle, {})
    device.start()
    device.direct(keeps)
    device.live()
    assert device.store.peers.personal().base == "v2"
    np.testing.assert_array_equal(personal_parameters(device)["weight"], before["weight"])


def test_a_version_that_was_rolled_back_takes_with_it_what_was_learned_on_it(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(BETWEEN_ROUNDS)
    device.take(KNOWN, KNOWN)
    before = personal_parameters(device)
    receive(device, 2, {name: -tensor for name, tensor in GOOD.items()})
    device.take(KNOWN, KNOWN)
    assert np.abs(personal_parameters(device)["weight"] - before["weight"]).max() > 0
    device.store.peers.undo_personal_of({"v2"})
    device.direct(BETWEEN_ROUNDS, withdrawn=("v2",))
    device.live()
    assert device.store.peers.personal().base == "v1", "with the version that is to go it makes no new one"
    receive(device, 1, GOOD)
    np.testing.assert_array_equal(personal_parameters(device)["weight"], before["weight"])


def test_what_a_round_makes_of_the_own_model_is_not_undone(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(plan())
    device.take(KNOWN)
    device.store.peers.adopt(PersonalTensors("v1", encode_tensors(GOOD)))
    device.take(KNOWN)
    moved = np.abs(personal_parameters(device)["weight"] - GOOD["weight"]).max()
    assert 0 < moved < 1, "it went on from there"


def test_where_nothing_stands_it_rests_and_keeps_its_model(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(KNOWN)
    device.direct(None)
    device.take(NEW, NEW)
    assert device.situation.now.peers is None
    assert device.store.peers.personal() is not None
    assert device.store.peers.effective_plan() is None


def test_a_refusal_that_lasts_ends_a_request(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.situation.set_conditions(Conditions(), (OFFLINE,))
    device.take(NEW, NEW)
    device.situation.set_conditions(Conditions(), ())
    device.link.fault = refused("transfer.no_help", 409)
    device.companion.step()
    assert device.store.peers.open_request() is None
    assert [helped.outcome for helped in device.store.peers.outcomes()] == ["unanswered"]


def test_a_credential_that_has_ended_ends_the_agent(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.link.fault = refused("fleet.revoked", 401)
    device.store.samples.add(batch(KNOWN), max_samples=100)
    for _ in range(3):
        device.companion.step()
    assert device.situation.now.ending.code == "fleet.revoked"


def test_a_request_delays_no_training_and_its_portion_is_compared_with_the_model_as_it_is(
    new_device: Callable[..., Device],
) -> None:
    device = new_device()
    device.direct(plan())
    device.take(NEW, NEW)
    reading = device.store.peers.reading()
    assert device.store.peers.open_request() is not None
    assert (reading.judged, reading.trained) == (8, 8), "it has trained on all, as a device that asks for nothing"
    device.direct(plan(), help=device.ask_news("delivered", rows(GOOD)))
    device.live()
    (verdict,) = device.link.named(GiveVerdict)
    assert verdict.samples == 8
    assert verdict.accuracy_before >= 0.5


def test_where_versions_come_a_portion_is_judged_on_the_batch_that_is_kept_for_them(
    new_device: Callable[..., Device],
) -> None:
    device = new_device()
    device.direct(BETWEEN_ROUNDS)
    device.take(NEW, NEW)
    device.direct(BETWEEN_ROUNDS, help=device.ask_news("delivered", rows(GOOD)))
    device.live()
    assert device.link.named(GiveVerdict)[0].samples == 4


def test_when_nobody_qualifies_the_owner_is_told_until_the_model_has_recovered(
    new_device: Callable[..., Device],
) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    nobody = Reason("transfer.no_neighbour", "2 other devices tell about their data, none can help with class 2")
    device.direct(NO_TRAINING, help=device.ask_news("unmatched", reason=nobody))
    device.live()
    peers = device.situation.now.peers
    assert (peers.needs, peers.wait) == ((2,), nobody)
    device.direct(NO_TRAINING)
    device.take(KNOWN, KNOWN, KNOWN)
    assert device.situation.now.peers.wait is None


def test_with_less_than_a_batch_the_owner_is_told_what_training_waits_for(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(plan(NoHelp()))
    device.take((0, 1))
    assert device.store.peers.personal().edition == 1
    untrained = device.situation.now.peers.untrained
    assert untrained is not None
    assert (untrained.code, untrained.sentence[-14:]) == ("data.less_than_a_batch", "2 more to come")
    device.take((0, 1))
    assert device.situation.now.peers.untrained is None
    assert device.store.peers.personal().edition == 2


def test_who_recovers_alone_withdraws_the_request(new_device: Callable[..., Device]) -> None:
    device = new_device()
    device.direct(NO_TRAINING)
    device.take(NEW, NEW)
    device.direct(NO_TRAINING, help=device.ask_news("asked"))
    device.take(KNOWN, KNOWN, KNOWN)
    assert len(device.link.named(WithdrawHelp)) == 1
    assert [helped.outcome for helped in device.store.peers.outcomes()] == ["withdrawn"]
    assert device.link.named(ReportProfile)[-1].profile.drifting is False


@pytest.mark.parametrize("agreed", [("readable",)])
def test_it_does_nothing_under_a_plan_that_asks_more_before_its_owner_agrees(
    new_device: Callable[..., Device], joined: Store
) -> None:
    device = new_device()
    device.direct(plan(CARTEL))
    device.take(NEW, NEW)
    assert device.link.sent == [] and joined.peers.reading() is None
    (asked,) = joined.agreements.pending()
    assert asked == AskedOfOwner("digits", ("help",))
    thread = threading.Thread(target=device.companion.run)
    thread.start()
    joined.agreements.agree(asked.scopes, how="terminal", read="")  # as another process does, which wakes nobody
    ends_at = time.monotonic() + 20
    while joined.peers.reading() is None and time.monotonic() < ends_at:
        time.sleep(0.05)
    device.situation.stop()
    thread.join(20)
    assert joined.peers.reading() is not None
