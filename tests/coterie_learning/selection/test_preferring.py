"""What each selection prefers, in numbers, and the case in which it is uniform."""

from collections import Counter

import pytest

from coterie_learning.plan import parse_plan
from coterie_learning.random import derive_seed
from coterie_learning.selection import DeviceFacts
from coterie_learning.selection.oort import Oort
from coterie_learning.selection.power_of_choice import PowerOfChoice
from coterie_learning.selection.tiers import Tiers
from coterie_wire.errors import WireError

FLEET = [
    DeviceFacts(f"device-{number:02}", idle_rounds=1, loss=float(number), samples=10, train_s=float(number + 1))
    for number in range(20)
]


def counts(
    kind: Oort | PowerOfChoice | Tiers, fleet: list[DeviceFacts], *, count: int = 4, rounds: int = 400
) -> Counter[str]:
    return Counter(
        device
        for number in range(rounds)
        for device in kind.choose(fleet, count=count, round_number=2, seed=derive_seed(3, number))
    )


def test_power_of_choice_takes_the_highest_losses_of_its_candidates() -> None:
    all_of_them = PowerOfChoice(candidates=100)
    chosen = all_of_them.choose(FLEET, count=3, round_number=2, seed=1)
    assert chosen == ("device-19", "device-18", "device-17")
    found = counts(PowerOfChoice(candidates=2), FLEET)
    assert found["device-19"] > 2 * found["device-05"]


def test_power_of_choice_with_one_candidate_each_asks_everybody_as_often() -> None:
    found = counts(PowerOfChoice(candidates=1), FLEET, rounds=2000)
    # Each count is binomial(2000, 1/5): mean 400, standard deviation 17.9.
    assert all(320 < found[known.device] < 480 for known in FLEET)


def test_a_device_that_has_told_nothing_is_a_candidate_that_is_taken() -> None:
    chosen = PowerOfChoice(candidates=100).choose([*FLEET, DeviceFacts("new", 1)], count=1, round_number=2, seed=1)
    assert chosen == ("new",)


def test_tiers_ask_devices_of_like_speed_together() -> None:
    for seed in range(20):
        chosen = Tiers(tiers=5).choose(FLEET, count=4, round_number=2, seed=seed)
        tier = {int(device[-2:]) // 4 for device in chosen}
        assert len(tier) == 1


def test_a_tier_that_is_too_small_is_filled_from_faster_ones() -> None:
    chosen = {tuple(sorted(Tiers(tiers=5).choose(FLEET, count=6, round_number=2, seed=seed))) for seed in range(40)}
    slowest = [devices for devices in chosen if "device-19" in devices]
    assert slowest
    assert all(int(devices[0][-2:]) >= 12 for devices in slowest)


def test_one_tier_asks_everybody_as_often() -> None:
    found = counts(Tiers(tiers=1), FLEET, rounds=2000)
    assert all(320 < found[known.device] < 480 for known in FLEET)


def test_tiers_are_refused_where_nobody_waits() -> None:
    with pytest.raises(WireError, match="no device waits for another"):
        parse_plan({"pace": {"kind": "buffered"}, "selection": {"kind": "tiers"}})


def test_oort_prefers_high_losses_on_fast_devices() -> None:
    utilities = Oort().utilities(
        [
            DeviceFacts("high-fast", 1, loss=4.0, samples=10, train_s=1.0),
            DeviceFacts("high-slow", 1, loss=4.0, samples=10, train_s=10.0),
            DeviceFacts("low-fast", 1, loss=0.1, samples=10, train_s=1.0),
        ],
        round_number=1,
    )
    assert utilities["high-fast"] == pytest.approx(1)
    assert utilities["low-fast"] == pytest.approx(0)
    assert utilities["high-slow"] == pytest.approx(0.01), "a tenth of the speed, squared"


def test_oort_counts_no_claim_above_the_others_as_more() -> None:
    fleet = [*FLEET[:-1], FLEET[-1]._replace(loss=1e9, train_s=1.0)]
    utilities = Oort(slow_penalty=0).utilities(fleet, round_number=1)
    assert max(utilities.values()) == pytest.approx(1)


def test_oort_explores_less_and_less_but_always_some() -> None:
    fleet = FLEET + [DeviceFacts(f"new-{number}", 1) for number in range(20)]

    def explored(number: int) -> int:
        chosen = Oort().choose(fleet, count=10, round_number=number, seed=5)
        return sum(device.startswith("new") for device in chosen)

    assert (explored(1), explored(35), explored(500)) == (9, 5, 2)
