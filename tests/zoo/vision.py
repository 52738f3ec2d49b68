"""Models over images and windows of sensor readings, each with its width as an argument."""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn

Norm = Callable[[int], nn.Module]


def lenet(classes: int, width: int = 6, side: int = 28) -> nn.Module:
    """LeNet-5 (LeCun et al. 1998) with rectifiers and max-pooling: 61,706 parameters."""
    left = ((side // 2) - 4) // 2
    return nn.Sequential(
        nn.Conv2d(1, width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 16 * width // 6, 5),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * width // 6 * left * left, 20 * width),
        nn.ReLU(),
        nn.Linear(20 * width, 14 * width),
        nn.ReLU(),
        nn.Linear(14 * width, classes),
    )


def cnn_max_pool(classes: int, width: int = 16, side: int = 28) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * (side // 4) ** 2, classes),
    )


def cnn_strided(classes: int, width: int = 16) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.GroupNorm(4, width),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.GroupNorm(4, 2 * width),
        nn.SiLU(),
        nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1),
        nn.LeakyReLU(0.1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, classes),
    )


def cnn_avg_pool(classes: int, width: int = 12) -> nn.Module:
    """Average pools of every kind: tiled, overlapping, padded, and adaptive with unequal windows."""
    return nn.Sequential(
        nn.Conv2d(1, width, 5),
        nn.InstanceNorm2d(width, affine=True),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(width, 2 * width, 3, dilation=2),
        nn.GroupNorm(1, 2 * width),
        nn.ELU(),
        nn.AvgPool2d(3, stride=2, padding=1),
        nn.AdaptiveAvgPool2d(3),
        nn.Flatten(),
        nn.LazyLinear(classes),
    )


def cnn_overlapping_pool(classes: int, width: int = 16) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, width, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Conv2d(width, 2 * width, 3),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),
        nn.Flatten(),
        nn.LazyLinear(classes),
    )


def cnn_depthwise(classes: int, width: int = 16) -> nn.Module:
    """Depthwise separable convolutions, as in MobileNet (Howard et al. 2017)."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1, groups=width),
        nn.Conv2d(width, 2 * width, 1),
        nn.ReLU(),
        nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1, groups=2 * width),
        nn.Conv2d(2 * width, 4 * width, 1),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, classes),
    )


def cnn_grouped(classes: int, width: int = 16) -> nn.Module:
    """Grouped, dilated and shuffled convolutions, as in ShuffleNet (Zhang et al. 2018)."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1, bias=False),
        nn.GroupNorm(2, width),
        nn.PReLU(width),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, groups=4),
        nn.ChannelShuffle(4),
        nn.ReLU6(),
        nn.Conv2d(2 * width, 2 * width, 3, padding=2, dilation=2, groups=2),
        nn.Mish(),
        nn.Conv2d(2 * width, 4 * width, (1, 3), stride=(1, 2), groups=8),
        nn.Softplus(),
        nn.AdaptiveMaxPool2d((3, 2)),
        nn.Flatten(),
        nn.Linear(24 * width, classes),
    )


class _Residual(nn.Module):
    """Two convolutions around which the input passes (He et al. 2016)."""

    def __init__(self, inner: int, outer: int, stride: int, norm: Norm) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
        self.first_norm = norm(outer)
        self.second = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.second_norm = norm(outer)
        self.passed: nn.Module = nn.Identity()
        if stride > 1 or inner != outer:
            self.passed = nn.Sequential(nn.Conv2d(inner, outer, 1, stride=stride, bias=False), norm(outer))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        y += self.passed(x)
        return torch.relu(y)


def resnet(classes: int, norm: Norm, width: int = 16, stages: int = 3) -> nn.Module:
    """ResNet-8 of MLPerf Tiny (Banbury et al. 2021): 78,000 parameters."""
    widths = [width * 2**stage for stage in range(stages)]
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1, bias=False),
        norm(width),
        nn.ReLU(inplace=True),
        _Residual(width, width, 1, norm),
        *(_Residual(inner, outer, 2, norm) for inner, outer in itertools.pairwise(widths)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(widths[-1], classes),
    )


class _SqueezeExcite(nn.Module):
    """Channels weighted by what the whole image shows (Hu et al. 2018)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = max(4, channels // 4)
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)
        self.gate = nn.Hardsigmoid()

    def forward(self, x: Tensor) -> Tensor:
        seen = torch.relu(self.squeeze(nn.functional.adaptive_avg_pool2d(x, 1)))
        return x * self.gate(self.excite(seen))


class _InvertedResidual(nn.Module):
    """Widen, filter each channel, weigh the channels, narrow."""

    def __init__(
        self, inner: int, wide: int, outer: int, kernel: int, stride: int, squeeze: bool, hard: bool, norm: Norm
    ) -> None:
        super().__init__()
        activation = nn.Hardswish if hard else nn.ReLU
        self.block = nn.Sequential(
            nn.Conv2d(inner, wide, 1, bias=False),
            norm(wide),
            activation(),
            nn.Conv2d(wide, wide, kernel, stride=stride, padding=kernel // 2, groups=wide, bias=False),
            norm(wide),
            activation(),
            _SqueezeExcite(wide) if squeeze else nn.Identity(),
            nn.Conv2d(wide, outer, 1, bias=False),
            norm(outer),
        )
        self.adds = stride == 1 and inner == outer

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.block(x)
        return x + y if self.adds else y


def mobilenet(classes: int, norm: Norm, width: int = 8, *, whole: bool = True) -> nn.Module:
    """The blocks of MobileNetV3-Small (Howard et al. 2019, table 2), narrower and fewer, for small images.

    Not `whole`, it goes without the blocks that resemble others.
    """
    resembling = [
        _InvertedResidual(width, 6 * width, 2 * width, 3, 2, False, False, norm),
        _InvertedResidual(2 * width, 8 * width, 2 * width, 3, 1, False, False, norm),
        _InvertedResidual(2 * width, 8 * width, 4 * width, 5, 2, True, True, norm),
        _InvertedResidual(4 * width, 16 * width, 4 * width, 5, 1, True, True, norm),
    ]
    last = 4 * width if whole else width
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False),
        norm(width),
        nn.Hardswish(inplace=True),
        _InvertedResidual(width, 2 * width, width, 3, 1, True, False, norm),
        *(resembling if whole else []),
        nn.Conv2d(last, 16 * width, 1, bias=False),
        norm(16 * width),
        nn.Hardswish(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16 * width, 32 * width),
        nn.Hardswish(inplace=True),
        nn.Linear(32 * width, classes),
    )


def cnn_windows(classes: int, width: int = 32) -> nn.Module:
    """Over windows of three axes of an accelerometer: what a wearable tells activities by."""
    return nn.Sequential(
        nn.Conv1d(3, width, 5, padding=2),
        nn.GroupNorm(4, width),
        nn.ReLU(),
        nn.MaxPool1d(2),
        nn.Conv1d(width, 2 * width, 5, padding=2),
        nn.GroupNorm(4, 2 * width),
        nn.ReLU(),
        nn.MaxPool1d(3, stride=2, padding=1),
        nn.Conv1d(2 * width, 2 * width, 3, padding="same", dilation=2),
        nn.ReLU(),
        nn.AvgPool1d(2),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(2 * width, classes),
    )


def autoencoder(width: int = 16) -> nn.Module:
    """Strided convolutions down and transposed ones back up; gives an image of the same size, flat."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(2 * width, width // 2, 3, padding=1),
        nn.Tanh(),
        nn.ConvTranspose2d(width // 2, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 3, stride=2, padding=1, output_padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1),
        nn.Sigmoid(),
        nn.Flatten(),
    )


class Pyramid(nn.Module):
    """An hourglass: pooled down, resized up by neighbours and by interpolation, joined with what was there before."""

    def __init__(self, classes: int, width: int = 12) -> None:
        super().__init__()
        self.fine = nn.Conv2d(3, width, 3, padding=1)
        self.middle = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.coarse = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up_middle = nn.Conv2d(4 * width, width, 3, padding=1)
        self.up_fine = nn.Conv2d(2 * width, width, 3, padding=1)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        fine = torch.relu(self.fine(x))
        middle = torch.relu(self.middle(nn.functional.max_pool2d(fine, 2)))
        coarse = torch.relu(self.coarse(nn.functional.avg_pool2d(middle, 2)))
        nearest = nn.functional.interpolate(coarse, scale_factor=2, mode="nearest")
        middle = torch.relu(self.up_middle(torch.cat([middle, nearest], dim=1)))
        linear = nn.functional.interpolate(middle, size=fine.shape[2:], mode="bilinear", align_corners=False)
        fine = torch.relu(self.up_fine(torch.cat([fine, linear], dim=1)))
        logits: Tensor = self.head(fine.amax(dim=(2, 3)))
        return logits
