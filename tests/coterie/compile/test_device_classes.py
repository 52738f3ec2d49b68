import pytest

from coterie.compile.device_classes import DEVICE_CLASSES, MB, estimate_devices


def test_time_goes_with_the_ratio_of_both_speeds_and_memory_with_what_a_class_has() -> None:
    found = {one.device: one for one in estimate_devices(step_s=0.01, process_memory_bytes=800 * MB, gflops=59.0)}
    assert found.keys() == {device.name for device in DEVICE_CLASSES}
    assert found["Raspberry Pi 4"].step_s == pytest.approx(0.1)
    assert found["Raspberry Pi 3"].step_s > found["Raspberry Pi 4"].step_s > found["Raspberry Pi 5"].step_s
    assert (found["Raspberry Pi 3"].fits, found["Raspberry Pi 4"].fits) == (False, True)
