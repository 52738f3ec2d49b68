import numpy as np
import pytest

from coterie.demo.digits import CLOUD_SAMPLES, HELD_OUT_SAMPLES, Samples, deal


def rows(samples: Samples) -> list[bytes]:
    return [image.tobytes() for image in samples.x]


def test_every_digit_is_dealt_once() -> None:
    dealt = deal(devices=8, seed=3)
    parts = [dealt.held_out, dealt.cloud, *dealt.devices]
    assert (len(dealt.held_out.y), len(dealt.cloud.y)) == (HELD_OUT_SAMPLES, CLOUD_SAMPLES)
    assert len({row for part in parts for row in rows(part)}) == sum(len(part.y) for part in parts) == 1797


def test_a_device_sees_mostly_its_favourites() -> None:
    for device in deal(devices=8, seed=0).devices:
        counts = np.sort(np.bincount(device.y, minlength=10))
        assert counts[-3:].sum() > 0.6 * counts.sum()


@pytest.mark.parametrize("devices", [1, 2, 30])
def test_a_fleet_of_any_size_gets_everything(devices: int) -> None:
    dealt = deal(devices=devices, seed=0)
    assert len(dealt.devices) == devices
    assert sum(len(device.y) for device in dealt.devices) == 1797 - HELD_OUT_SAMPLES - CLOUD_SAMPLES


def test_the_seed_decides() -> None:
    one, same, other = (deal(devices=4, seed=seed).devices[0] for seed in (1, 1, 2))
    assert rows(one) == rows(same) != rows(other)
