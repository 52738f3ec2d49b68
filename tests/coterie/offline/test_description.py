from coterie.compile.device_classes import DeviceEstimate
from coterie.compile.pair_report import PairReport
from coterie.offline.description import describe, duration, plain_text
from tests.coterie.world import MODEL

REPORT = PairReport(
    device_parameters=12_345,
    cloud_parameters=2_000_000,
    teacher_problem="Operator aten.nonzero.default cannot be compiled",
    operators={name: 10 - number for number, name in enumerate("ABCDEFGHIJ")},
    train_step_bytes=16_000,
    predict_bytes=2_000,
    parameters_bytes=50_000,
    frozen_bytes=4_000,
    step_s=0.002,
    step_memory_bytes=20_000_000,
    process_memory_bytes=700_000_000,
    gflops=50.0,
    devices=(
        DeviceEstimate("small", memory_bytes=500_000_000, fits=False, step_s=0.08),
        DeviceEstimate("large", memory_bytes=2_000_000_000, fits=True, step_s=0.004),
    ),
)


def test_it_tells_sizes_times_and_what_devices_could_take() -> None:
    lines = plain_text(describe(MODEL, REPORT)).splitlines()
    told = {line[:18].strip(): line[18:] for line in lines}
    assert told["model"] == "x float32 [4] → logits float32 [3]; classes, in batches of 8"
    assert told["parameters"] == "12,345 of the device model learn; the cloud model has 2,000,000"
    assert told["downloads"].startswith(
        "once 22.0 kB (train step 16.0 kB, predict 2.0 kB, frozen 4.0 kB), each version"
    )
    assert told["train step here"].startswith("2 ms, 20.0 MB (700.0 MB with Python and onnxruntime)")
    assert told["operators"] == "55: A 10, B 9, C 8, D 7, E 6, F 5, G 4, H 3, others 3"
    assert told["teacher"] == "none: Operator aten.nonzero.default cannot be compiled"
    (small,) = (line for line in lines if line.startswith("small"))
    (large,) = (line for line in lines if line.startswith("large"))
    assert small.split() == ["small", "80", "ms", "10", "s", *["too", "much:", "700.0", "MB", "of", "500.0", "MB"]]
    assert large.split() == ["large", "4", "ms", "500", "ms", *["700.0", "MB", "of", "2.0", "GB"]]


def test_durations_have_the_unit_that_suits_them() -> None:
    assert [duration(seconds) for seconds in (0.00012, 0.25, 12.345, 3600)] == ["0.12 ms", "250 ms", "12.3 s", "60 min"]
