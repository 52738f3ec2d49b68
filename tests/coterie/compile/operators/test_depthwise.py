import numpy as np
import onnxruntime as ort
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.emitter import Emitter
from coterie.compile.lower import lower

CHANNELS = 3


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [((3, 3), 1, 1, 1), ((5, 3), 1, 2, 1), ((3, 3), 2, 0, 1), ((1, 3), 1, 0, 2), ((5, 5), 2, 2, 1)],
)
def test_by_rows_equals_pytorch(
    kernel: tuple[int, int], stride: int, padding: int, dilation: int, transposed: bool
) -> None:
    torch.manual_seed(0)
    size = (4, 3) if transposed else (7, 8)
    x, weight, bias = torch.randn(2, CHANNELS, *size), torch.randn(CHANNELS, 1, *kernel), torch.randn(CHANNELS)
    moves = [[amount] * 2 for amount in (stride, padding, dilation)]

    def convolve(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor]:
        spare = [stride - 1] * 2 if transposed else [0, 0]
        return (torch.ops.aten.convolution(x, weight, bias, *moves, transposed, spare, CHANNELS),)

    module = make_fx(convolve, tracing_mode="fake")(x, weight, bias)
    emit = Emitter()
    feeds = {"x": x.numpy(), "weight": weight.numpy(), "bias": bias.numpy()}
    (value,) = lower(module, emit, list(feeds))
    (wanted,) = convolve(x, weight, bias)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in feeds.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, wanted.shape)
    content = emit.finish("graph", inputs, {"y": (value, output)})
    assert b"Conv" not in content
    (found,) = ort.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, feeds)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-5)
