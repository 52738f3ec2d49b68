from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from coterie.compile.emitter import Emitter
from coterie.compile.lower import lower


class Case(NamedTuple):
    channels: int
    filters: int
    becomes: str
    kernel: tuple[int, ...] = (3, 3)
    stride: int = 1
    padding: int = 1
    dilation: int = 1
    transposed: bool = False
    output_padding: int = 0


CASES = [
    Case(2, 5, "Conv"),
    Case(5, 2, "ConvTranspose"),
    Case(5, 2, "ConvTranspose", kernel=(2, 3), padding=0),
    Case(5, 2, "ConvTranspose", kernel=(3,), padding=2, dilation=3),
    Case(5, 2, "ConvTranspose", kernel=(1, 3), padding=0),
    Case(5, 2, "ConvTranspose", kernel=(2, 2, 3), padding=0),
    Case(5, 2, "Conv", kernel=(1, 1), padding=0),
    Case(5, 2, "Conv", padding=3),
    Case(5, 2, "Conv", stride=2),
    Case(5, 2, "ConvTranspose", transposed=True),
    Case(2, 5, "Conv", transposed=True),
    Case(2, 5, "Conv", kernel=(2, 2), padding=0, dilation=3, transposed=True, output_padding=2),
    Case(5, 2, "Conv", kernel=(1, 1), padding=0, transposed=True),
    Case(2, 5, "ConvTranspose", stride=2, transposed=True, output_padding=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whichever_copies_less_equals_pytorch(case: Case) -> None:
    torch.manual_seed(0)
    rank = len(case.kernel)
    pair = (case.channels, case.filters) if case.transposed else (case.filters, case.channels)
    x, bias = torch.randn(2, case.channels, *(5, 7, 6)[:rank]), torch.randn(case.filters)
    weight = torch.randn(*pair, *case.kernel)
    moves = [[amount] * rank for amount in (case.stride, case.padding, case.dilation)]

    def convolve(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor]:
        spare = [case.output_padding] * rank
        return (torch.ops.aten.convolution(x, weight, bias, *moves, case.transposed, spare, 1),)

    module = make_fx(convolve, tracing_mode="fake")(x, weight, bias)
    emit = Emitter()
    feeds = {"x": x.numpy(), "weight": weight.numpy(), "bias": bias.numpy()}
    (value,) = lower(module, emit, list(feeds))
    (wanted,) = convolve(x, weight, bias)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in feeds.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, wanted.shape)
    content = emit.finish("graph", inputs, {"y": (value, output)})
    kinds = {node.op_type for node in onnx.load_from_string(content).graph.node}
    assert kinds & {"Conv", "ConvTranspose"} == {case.becomes}
    (found,) = ort.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, feeds)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-5)
