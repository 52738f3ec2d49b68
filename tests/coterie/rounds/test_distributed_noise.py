"""A round whose devices add noise to their sum: what is merged, what is charged before, and who is left out."""

import math

import numpy as np
import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from coterie.federations.models import Federation
from coterie.privacy.accounting import cost_of, epsilon_of
from coterie.privacy.models import DEFAULT_DELTA, Account, Charge
from coterie.privacy.reasons import device_out_of_budget
from coterie.privacy.services import change_device_budget
from coterie.registry.content import BLOBS
from coterie.rounds.advancing import advance_federation
from coterie.rounds.models import Round
from coterie.secure_sums.files import vectors_of
from coterie.secure_sums.models import SecureSum
from coterie_learning.privacy import Spend
from coterie_wire.tensors import Tensors, decode_tensors
from tests.coterie.rounds.summing import PLAN, SummingDevice, small_update, together, trained
from tests.coterie.world import (
    MODEL,
    in_this_process,
    later,
    make_federation,
    make_pair,
    make_version,
    merge_round,
    parameters,
)

pytestmark = pytest.mark.django_db
MULTIPLIER, NORM = 2.0, 4.0
NOISY = {
    **PLAN,
    "privacy": {
        "kind": "distributed_noise",
        "min_devices": 3,
        "corrupted": 0.0,
        "norm": NORM,
        "noise_multiplier": MULTIPLIER,
        "step_s": 30,
    },
}
ONE = cost_of(Spend(MULTIPLIER))


def begun(*, devices: int) -> tuple[Federation, list[SummingDevice]]:
    pair = make_pair()
    make_version(pair)
    pace: dict[str, float] = {"target_updates": devices, "min_updates": 3, "over_selection": 1.0}
    return make_federation(pair, plan=NOISY, **pace), trained(devices, later(0), NOISY)


def uploaded(federation: Federation, devices: list[SummingDevice]) -> None:
    assert together(devices, later(1)) == ["join"] * len(devices)
    advance_federation(federation_id=federation.pk, now=later(2))
    assert together(devices, later(3)) == ["share"] * len(devices)
    together(devices[:-1], later(4))
    assert not Charge.objects.exists(), "nothing can be unmasked yet"
    together(devices[-1:], later(4))


def merged(federation: Federation) -> Round:
    advance_federation(federation_id=federation.pk, now=later(7))
    round_ = federation.rounds.get(number=1)
    merge_round(round_, clock=lambda: later(8), merger=in_this_process)
    advance_federation(federation_id=federation.pk, now=later(9))
    round_.refresh_from_db()
    return round_


def published(round_: Round) -> Tensors:
    assert round_.result_version is not None
    with BLOBS.open(round_.result_version.parameters_id) as file:
        return decode_tensors(file.read(), expected=MODEL.version)


@pytest.mark.long
def test_devices_are_charged_before_anything_can_be_unmasked() -> None:
    federation, devices = begun(devices=4)
    uploaded(federation, devices)
    assert SecureSum.objects.get().state == SecureSum.State.REVEALING
    assert {account.device_id: account.mu2 for account in Account.objects.all()} == {
        one.device.row.pk: ONE for one in devices
    }
    assert together(devices, later(5)) == ["reveal"] * 4
    round_ = merged(federation)
    assert round_.state == Round.State.PUBLISHED, round_.reason_sentence
    assert Charge.objects.count() == 4, "once each"
    assert round_.metrics["epsilon"] == epsilon_of(ONE, DEFAULT_DELTA)
    assert round_.metrics["delta"] == DEFAULT_DELTA
    assert round_.metrics["updates"] == 4
    assert not {"samples", "mean_loss_before", "mean_loss_after", "mean_accuracy"} & set(round_.metrics)


def test_the_version_has_the_noise_of_its_devices() -> None:
    federation, devices = begun(devices=4)
    uploaded(federation, devices)
    together(devices, later(5))
    base, found = parameters(0), published(merged(federation))
    means = {name: np.mean([small_update(seed)[name] for seed in range(4)], axis=0) for name in found}
    noise = np.concatenate([(found[name] - base[name] - means[name]).reshape(-1) for name in found])
    expected = MULTIPLIER * NORM * math.sqrt(4 / 3) / 4
    assert 0.6 < float(noise.std()) / expected < 1.5


def is_kept(sum_: SecureSum, sha256: str) -> bool:
    try:
        vectors_of(sum_).open(sha256).close()
    except FileNotFoundError:
        return False
    return True


@pytest.mark.long
def test_who_has_no_budget_left_is_left_out_and_told_so(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    federation, devices = begun(devices=4)
    poor = devices[1]
    epsilon = epsilon_of(ONE / 2, DEFAULT_DELTA)
    change_device_budget(device=poor.device.row, epsilon=epsilon, delta=DEFAULT_DELTA, now=later(0))
    with django_capture_on_commit_callbacks(execute=True):
        uploaded(federation, devices)
    assert poor.ask(later(5)).reason == device_out_of_budget()
    sum_ = SecureSum.objects.get()
    kept = {hash_: is_kept(sum_, hash_) for hash_ in sum_.parties.values_list("vector_sha256", flat=True)}
    assert [hash_ for hash_, is_there in kept.items() if not is_there] == [
        sum_.parties.get(device=poor.device.row).vector_sha256
    ], "its vector was removed unread"
    assert together([one for one in devices if one is not poor], later(5)) == ["reveal"] * 3
    assert merged(federation).metrics["updates"] == 3
    assert not Account.objects.filter(device=poor.device.row).exists()


@pytest.mark.long
def test_where_budgets_leave_too_few_nothing_is_unmasked() -> None:
    federation, devices = begun(devices=3)
    epsilon = epsilon_of(ONE / 2, DEFAULT_DELTA)
    change_device_budget(device=devices[0].device.row, epsilon=epsilon, delta=DEFAULT_DELTA, now=later(0))
    uploaded(federation, devices)
    assert SecureSum.objects.get().state == SecureSum.State.FAILED
    advance_federation(federation_id=federation.pk, now=later(6))
    assert federation.rounds.get(number=1).state == Round.State.ABANDONED
