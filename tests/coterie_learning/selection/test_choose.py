from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.random import derive_seed
from coterie_learning.selection import choose

DEVICES = [f"device-{number}" for number in range(20)]


@given(order=st.permutations(DEVICES), count=st.integers(0, 25), seed=st.integers(0, 2**53))
def test_the_choice_depends_on_devices_and_seed_alone(order: list[str], count: int, seed: int) -> None:
    chosen = choose(order, count=count, seed=seed)
    assert chosen == choose(DEVICES, count=count, seed=seed)
    assert len(set(chosen)) == len(chosen) == min(count, 20)


def test_every_device_is_chosen_about_as_often() -> None:
    counts = Counter(device for seed in range(2000) for device in choose(DEVICES, count=5, seed=seed))
    # Each count is binomial(2000, 1/4): mean 500, standard deviation 19.4.
    assert all(420 < counts[device] < 580 for device in DEVICES)


def test_seeds_of_different_parts_differ() -> None:
    seeds = {derive_seed(7, "round", number) for number in range(1000)} | {derive_seed(7, "device", 1)}
    assert len(seeds) == 1001
    assert all(0 <= seed < 2**53 for seed in seeds)
