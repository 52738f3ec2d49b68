import numpy as np

from coterie.simulation.streams.digits import DigitProfile, Digits

STREAM = Digits(
    profiles=(DigitProfile(classes=(0, 1), arrives=7), DigitProfile(classes=(2,))),
    batches=12,
    batch_size=40,
    arrives_at=4,
)


def test_devices_see_the_digits_of_their_profile_and_the_new_one_from_its_batch_on() -> None:
    drawn = STREAM.draw(devices=3, seed=0)
    seen = [[set(batch.labels.tolist()) for batch in batches] for batches in drawn.batches]
    assert all(found == {0, 1} for found in seen[0][:4])
    assert all(found == {0, 1, 7} for found in seen[0][4:])
    assert all(found == {2} for found in seen[1])
    assert [(shift.device, shift.tick) for shift in drawn.shifts] == [(0, 4), (2, 4)]


def test_the_new_digit_is_a_third_of_three_digits_and_itself_at_weight_one_and_a_half() -> None:
    stream = Digits(
        profiles=(DigitProfile(classes=(0, 1, 2), arrives=7),), batches=3, batch_size=10_000, arrives_at=1, noise=0
    )
    labels = stream.draw(devices=1, seed=1).batches[0][2].labels
    assert abs(np.mean(labels == 7) - 1 / 3) < 0.02


def test_it_comes_and_goes_where_that_is_asked() -> None:
    stream = Digits(profiles=(DigitProfile(classes=(0,), arrives=7),), batches=10, arrives_at=2, alternates_every=3)
    drawn = stream.draw(devices=1, seed=0)
    assert [7 in batch.labels for batch in drawn.batches[0]] == [False, False, *[True] * 3, *[False] * 3, *[True] * 2]
    assert [shift.tick for shift in drawn.shifts] == [2, 8]


def test_the_seed_decides_everything_and_more_devices_change_nothing_for_the_others() -> None:
    few, many, other = (STREAM.draw(devices=count, seed=seed) for count, seed in ((1, 5), (4, 5), (1, 6)))
    np.testing.assert_array_equal(few.batches[0][3].inputs["x"], many.batches[0][3].inputs["x"])
    assert not np.array_equal(few.batches[0][3].inputs["x"], other.batches[0][3].inputs["x"])
