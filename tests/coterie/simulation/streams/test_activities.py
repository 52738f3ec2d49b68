import numpy as np

from coterie.simulation.streams.activities import ACTIVITIES, CHANNELS, HERTZ, INPUT, STEPS, Activities, ActivityProfile

WALKING, RUNNING, LYING, STANDING = (ACTIVITIES.index(name) for name in ("walking", "running", "lying", "standing"))
PROFILES = (ActivityProfile(does=("sitting", "standing"), begins="walking"), ActivityProfile(does=("lying",)))
STREAM = Activities(profiles=PROFILES, batches=12, batch_size=40, begins_at=4)


def windows(*activities: str, **changes: float) -> tuple[np.ndarray, np.ndarray]:
    """Of one person who does `activities`: what is felt [windows, CHANNELS, STEPS], and what it was."""
    profile = ActivityProfile(does=activities)  # type: ignore[arg-type]  # their names
    stream = Activities(profiles=(profile,), batches=4, batch_size=50, begins_at=9, **changes)  # type: ignore[arg-type]
    batches = stream.draw(devices=1, seed=3).batches[0]
    return np.concatenate([one.inputs[INPUT] for one in batches]), np.concatenate([one.labels for one in batches])


def test_people_do_what_their_profile_says_and_the_new_activity_from_its_batch_on() -> None:
    drawn = STREAM.draw(devices=3, seed=0)
    seen = [[set(batch.labels.tolist()) for batch in batches] for batches in drawn.batches]
    assert WALKING not in set().union(*seen[0][:4])
    assert WALKING in set().union(*seen[0][4:])
    assert all(found == {LYING} for found in seen[1])
    assert [(shift.device, shift.tick) for shift in drawn.shifts] == [(0, 4), (2, 4)]
    assert drawn.batches[0][0].inputs[INPUT].shape == (40, CHANNELS, STEPS)


def test_activities_come_in_bouts() -> None:
    _, labels = windows("sitting", "standing", "walking", bout=5)
    changes = int((np.diff(labels) != 0).sum())
    assert 0.5 < changes / (len(labels) / 5 * 2 / 3) < 1.5, "a bout of five, and a third of what follows is the same"


def test_gravity_is_one_g_and_posture_is_its_direction() -> None:
    still, _ = windows("standing", "lying", turned_degrees=0.0, noise=0.0)
    gravity = still[:, :3].mean(axis=2)
    np.testing.assert_allclose(np.linalg.norm(gravity, axis=1), 1.0, atol=0.2)
    upright, _ = windows("standing", turned_degrees=0.0, noise=0.0)
    assert (upright[:, :3].mean(axis=2).argmax(axis=1) == 2).all(), "along the leg"


def test_steps_come_at_a_persons_own_frequency_and_faster_where_he_runs() -> None:
    found = []
    for activity in ("walking", "running"):
        moving, _ = windows(activity, noise=0.0)
        power = np.abs(np.fft.rfft(moving[:, 3:] - moving[:, 3:].mean(axis=2, keepdims=True), axis=2)).sum(axis=(0, 1))
        found.append(np.fft.rfftfreq(STEPS, 1 / HERTZ)[power.argmax()])
    walking, running = found
    assert 1.4 <= walking <= 2.4, "steps a second"
    assert running > walking


def test_a_device_that_is_turned_feels_the_same_strength_in_other_directions() -> None:
    here, there = (windows("walking", turned_degrees=degrees, noise=0.0)[0] for degrees in (0.0, 90.0))
    for part in (slice(0, 3), slice(3, 6)):
        lengths = [np.linalg.norm(felt[:, part], axis=1) for felt in (here, there)]
        np.testing.assert_allclose(*lengths, atol=1e-5)
    assert np.abs(here - there).max() > 0.01


def test_the_seed_decides_everything_and_more_devices_change_nothing_for_the_others() -> None:
    few, many, other = (STREAM.draw(devices=count, seed=seed) for count, seed in ((1, 5), (4, 5), (1, 6)))
    np.testing.assert_array_equal(few.batches[0][3].inputs[INPUT], many.batches[0][3].inputs[INPUT])
    assert not np.array_equal(few.batches[0][3].inputs[INPUT], other.batches[0][3].inputs[INPUT])
    assert set(few.cloud.labels.tolist()) == set(range(len(ACTIVITIES)))
