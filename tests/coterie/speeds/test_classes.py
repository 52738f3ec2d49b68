"""Classes are where the devices' own figures have gaps."""

from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.speeds.classes import Speed, classify
from coterie_wire.latency import Histogram, bucket_of


def speed(device: int, p50_s: float, *, work: str = "predict", form: str = "float32", charging: str = "yes") -> Speed:
    counts = [0] * 100
    counts[bucket_of(p50_s)] = 1000
    machine = "aarch64 Linux, 4 cores" if p50_s > 0.004 else "x86_64 Linux, 8 cores"
    return Speed(UUID(int=device), machine, work, form, charging, p50_s, Histogram.of(counts))


def test_devices_about_as_quick_are_of_one_class() -> None:
    quick = [speed(number, 0.001 * (1 + number / 100)) for number in range(5)]
    slow = [speed(10 + number, 0.010 * (1 + number / 100)) for number in range(3)]
    first, second = classify([*slow, *quick])
    assert (first.devices, second.devices) == (5, 3)
    assert (first.machines, second.machines) == (["x86_64 Linux, 8 cores"], ["aarch64 Linux, 4 cores"])
    (row,) = second.speeds
    assert (row.work, row.form, row.charging, row.devices) == ("predict", "float32", "yes", 3)
    assert row.quantiles.p50_s == pytest.approx(0.010, rel=0.1)


def test_forms_and_conditions_are_told_apart_within_a_class() -> None:
    told = [speed(1, 0.004), speed(1, 0.001, form="int8"), speed(1, 0.008, charging="no"), speed(1, 0.02, work="step")]
    (one,) = classify(told)
    assert [(row.work, row.form, row.charging) for row in one.speeds] == [
        ("predict", "float32", "no"),
        ("predict", "float32", "yes"),
        ("predict", "int8", "yes"),
        ("step", "float32", "yes"),
    ]


def test_nothing_gives_no_class() -> None:
    assert classify([]) == []
    assert classify([speed(1, 0.001, form="int8")]) == []


@given(st.lists(st.floats(1e-5, 10), max_size=30))
def test_each_device_is_in_one_class_and_classes_are_apart(times: list[float]) -> None:
    found = classify([speed(number, time_s) for number, time_s in enumerate(times)])
    assert sum(one.devices for one in found) == len(times)
    assert all(after.span.from_s / before.span.to_s > 2**0.25 for before, after in pairwise(found))
    for time_s in times:
        assert sum(one.span.from_s <= max(time_s, 1e-6) < one.span.to_s for one in found) == 1
