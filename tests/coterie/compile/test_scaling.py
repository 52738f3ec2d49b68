import pytest
import torch

from coterie.compile.scaling import scale_and_shift, scale_and_shift_rows


@pytest.mark.parametrize("places", [(), (5,), (4, 3)])
def test_channels_are_scaled_and_shifted(places: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x, ones = torch.randn(2, 3, *places), [1] * len(places)
    scale, shift = torch.randn(2, 3), torch.randn(2, 3)
    of_channels = x * scale[0].reshape(3, *ones) + shift[0].reshape(3, *ones)
    torch.testing.assert_close(scale_and_shift(x, scale[0], shift[0]), of_channels)
    of_rows = x * scale.reshape(2, 3, *ones) + shift.reshape(2, 3, *ones)
    torch.testing.assert_close(scale_and_shift_rows(x, scale, shift), of_rows)
