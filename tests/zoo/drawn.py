"""Models drawn at random: layers, sizes and activations, as hypothesis strategies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.binary_cross_entropy import BinaryCrossEntropy
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from tests.zoo.entry import Entry, Indices, Numbers

Layer = Callable[[], nn.Module]
VOCABULARY = 11
OUTPUTS = 3

ACTIVATIONS: Sequence[Layer] = (
    nn.ReLU,
    nn.Tanh,
    nn.Sigmoid,
    nn.GELU,
    lambda: nn.GELU(approximate="tanh"),
    nn.SiLU,
    nn.ELU,
    nn.SELU,
    nn.CELU,
    nn.Mish,
    nn.Softplus,
    nn.Softsign,
    nn.LeakyReLU,
    nn.PReLU,
    nn.Hardswish,
    nn.Hardsigmoid,
    nn.Hardtanh,
    nn.ReLU6,
    nn.LogSigmoid,
    nn.Tanhshrink,
    nn.Identity,
)


@dataclass(frozen=True)
class Drawn:
    """Layers, and the shape of one sample behind them."""

    layers: tuple[Layer, ...]
    shape: tuple[int, ...]

    def then(self, layer: Layer) -> "Drawn":
        """With one more layer, unless it cannot take this shape or leaves hardly anything."""
        module = layer()
        try:
            with torch.no_grad():
                shape = tuple(module(torch.zeros(2, *self.shape)).shape[1:])
        except RuntimeError:
            return self
        return Drawn((*self.layers, layer), shape) if 0 < torch.Size(shape).numel() <= 4000 else self


class Residual(nn.Module):
    """x + f(x)."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.inner(x)
        return found


class States(nn.Module):
    """What a recurrent layer gives at each step."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        states: Tensor = self.layer(x)[0]
        return states


class Swapped(nn.Module):
    """The last two axes."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


class Mean(nn.Module):
    """Over the steps."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=1)


@st.composite
def tables(draw: st.DrawFn, features: int) -> Layer:
    """A layer of [batch, features]."""
    wide = draw(st.integers(1, 9))
    return draw(
        st.sampled_from(
            (
                lambda: nn.Linear(features, wide, bias=wide % 2 == 0),
                lambda: nn.LayerNorm(features, elementwise_affine=wide % 2 == 0),
                lambda: nn.BatchNorm1d(features),
                lambda: Residual(nn.Sequential(nn.Linear(features, features), nn.Tanh())),
            )
        )
    )


@st.composite
def images(draw: st.DrawFn, shape: tuple[int, ...]) -> Layer:
    """A layer of [batch, channels, height, width]."""
    channels = shape[0]
    out, kernel, stride, padding = (draw(st.integers(*bounds)) for bounds in ((1, 4), (1, 3), (1, 2), (0, 1)))
    groups = draw(st.sampled_from([number for number in (1, 2, channels) if channels % number == 0]))
    dilation, mode = draw(st.integers(1, 2)), draw(st.sampled_from(("zeros", "reflect", "replicate", "circular")))
    many = out * groups
    options = {"stride": stride, "padding": min(padding, kernel // 2)}
    return draw(
        st.sampled_from(
            (
                lambda: nn.Conv2d(channels, many, kernel, groups=groups, dilation=dilation, **options),
                lambda: nn.Conv2d(channels, many, (kernel, 1), padding=(padding, 0), padding_mode=mode),
                lambda: nn.ConvTranspose2d(channels, many, kernel, groups=groups, **options),
                lambda: nn.MaxPool2d(max(kernel, 2), **options),
                lambda: nn.MaxPool2d(2, ceil_mode=True),
                lambda: nn.AvgPool2d(max(kernel, 2), count_include_pad=dilation == 1, **options),
                lambda: nn.BatchNorm2d(channels),
                lambda: nn.GroupNorm(groups, channels),
                lambda: nn.InstanceNorm2d(channels, affine=True),
                lambda: nn.Upsample(scale_factor=2, mode="nearest"),
                lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=dilation == 2),
                lambda: nn.AdaptiveAvgPool2d((kernel, 2)),
                lambda: nn.AdaptiveMaxPool2d((kernel, 2)),
                lambda: nn.ZeroPad2d((padding, 1, 0, kernel)),
                lambda: nn.PixelShuffle(2),
                lambda: Residual(nn.Conv2d(channels, channels, 3, padding=1)),
            )
        )
    )


@st.composite
def signals(draw: st.DrawFn, shape: tuple[int, ...]) -> Layer:
    """A layer of [batch, channels, length]."""
    channels = shape[0]
    out, kernel, stride, padding = (draw(st.integers(*bounds)) for bounds in ((1, 4), (1, 3), (1, 2), (0, 1)))
    options = {"stride": stride, "padding": min(padding, kernel // 2)}
    return draw(
        st.sampled_from(
            (
                lambda: nn.Conv1d(channels, out, kernel, **options),
                lambda: nn.Conv1d(channels, channels, kernel, groups=channels, **options),
                lambda: nn.ConvTranspose1d(channels, out, kernel, **options),
                lambda: nn.MaxPool1d(max(kernel, 2), **options),
                lambda: nn.AvgPool1d(max(kernel, 2), **options),
                lambda: nn.BatchNorm1d(channels),
                lambda: nn.AdaptiveAvgPool1d(kernel),
                lambda: nn.Upsample(scale_factor=2, mode="linear"),
            )
        )
    )


@st.composite
def sequences(draw: st.DrawFn, shape: tuple[int, ...]) -> Layer:
    """A layer of [batch, steps, features]."""
    steps, wide = shape
    hidden, deep, both = draw(st.integers(1, 5)), draw(st.integers(1, 2)), draw(st.booleans())
    options = {"num_layers": deep, "bidirectional": both, "batch_first": True}
    return draw(
        st.sampled_from(
            (
                lambda: States(nn.GRU(wide, hidden, bias=deep == 1, **options)),
                lambda: States(nn.LSTM(wide, hidden, bias=deep == 1, **options)),
                lambda: States(nn.RNN(wide, hidden, nonlinearity="tanh" if both else "relu", **options)),
                lambda: nn.Sequential(
                    nn.Linear(wide, 4),
                    nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True, norm_first=both),
                ),
                lambda: nn.Linear(wide, hidden),
                lambda: nn.LayerNorm(wide),
                lambda: nn.Sequential(Swapped(), nn.Linear(steps, hidden), Swapped()),
            )
        )
    )


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """A model of up to four layers, each with an activation, and a head, with its inputs and a loss."""
    family = draw(st.sampled_from(("table", "image", "signal", "words")))
    first: Numbers | Indices
    match family:
        case "table":
            first = Numbers((draw(st.integers(1, 8)),))
            drawn = Drawn((), first.shape)
        case "image":
            first = Numbers((draw(st.integers(1, 4)), draw(st.integers(4, 9)), draw(st.integers(4, 9))))
            drawn = Drawn((), first.shape)
        case "signal":
            first = Numbers((draw(st.integers(1, 4)), draw(st.integers(4, 12))))
            drawn = Drawn((), first.shape)
        case _:
            first = Indices((draw(st.integers(2, 6)),), VOCABULARY)
            embedded = draw(st.integers(1, 6))
            drawn = Drawn((lambda: nn.Embedding(VOCABULARY, embedded),), (*first.shape, embedded))
    for _ in range(draw(st.integers(1, 4))):
        match family:
            case "table":
                layer = draw(tables(drawn.shape[0]))
            case "image":
                layer = draw(images(drawn.shape))
            case "signal":
                layer = draw(signals(drawn.shape))
            case _:
                layer = draw(sequences(drawn.shape))
        drawn = drawn.then(layer).then(draw(st.sampled_from(ACTIVATIONS)))
    if len(drawn.shape) > 1:
        drawn = drawn.then(draw(st.sampled_from((Mean, nn.Flatten))) if len(drawn.shape) == 2 else nn.Flatten)
    wide = drawn.shape[0]
    layers = (*drawn.layers, lambda: nn.Linear(wide, OUTPUTS))
    loss: Loss = draw(st.sampled_from((CrossEntropy(), BinaryCrossEntropy(), MeanSquaredError())))
    return Entry(lambda: nn.Sequential(*(layer() for layer in layers)), (first,), OUTPUTS, loss)
