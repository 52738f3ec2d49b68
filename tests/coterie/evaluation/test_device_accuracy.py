from coterie.evaluation.device_accuracy import DeviceAccuracy, device_accuracy


def test_the_worst_tenth_is_one_device_at_least() -> None:
    assert device_accuracy([0.5]) == DeviceAccuracy(0.5, 0.5, 0.5)
    assert device_accuracy([1.0, 0.0, 0.5, 0.5]) == DeviceAccuracy(0.5, 0.5, 0.0)
    twenty = [0.25, 0.75] + [1.0] * 18
    assert device_accuracy(twenty) == DeviceAccuracy(0.95, 1.0, 0.5), "of twenty, two"
