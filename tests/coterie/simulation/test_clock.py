from coterie.simulation.clock import Clock


def test_events_run_in_the_order_of_their_times_then_of_their_scheduling() -> None:
    clock, done = Clock(), []
    for name, time_s in (("late", 9.0), ("second", 2.0), ("third", 2.0), ("first", 1.0)):
        clock.at(time_s, lambda name=name: done.append((name, clock.now_s)))
    clock.run(until_s=5)
    assert done == [("first", 1.0), ("second", 2.0), ("third", 2.0)]
    assert clock.now_s == 5


def test_an_event_of_the_past_runs_now_and_an_event_may_schedule_others() -> None:
    clock, done = Clock(), []
    clock.at(3, lambda: clock.at(1, lambda: done.append(clock.now_s)))
    clock.run(until_s=4)
    assert done == [3.0]
