from coterie.simulation.recovery import batches_to_recover

BEFORE = [0.0] * 10


def test_it_counts_the_batches_before_three_that_are_good_on_average() -> None:
    errors = [*BEFORE, 0.5, 0.4, 0.2, 0.1, 0.0, 0.0]
    assert batches_to_recover(errors, shift=10, until=16) == 2, "the mean of 0.2, 0.1 and 0.0 is just good enough"


def test_who_was_never_better_need_not_be_better_now() -> None:
    errors = [*[0.3] * 10, 0.35, 0.35, 0.35]
    assert batches_to_recover(errors, shift=10, until=13) == 0


def test_who_does_not_recover_before_the_next_change_does_not() -> None:
    errors = [*BEFORE, *[0.5] * 5, *[0.0] * 5]
    assert batches_to_recover(errors, shift=10, until=16) is None
    assert batches_to_recover(errors, shift=10, until=20) == 5
