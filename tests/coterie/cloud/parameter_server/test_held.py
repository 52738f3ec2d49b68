"""What a server keeps changes as the optimiser of one process changes it."""

import numpy as np
import torch
from torch import Tensor, nn

from coterie.cloud.parameter_server.held import Averages, Pushed, Weights
from coterie_wire.tensors import Float32

SIZES = {0: 3, 1: 5}


def _pushed(seed: int, **said: frozenset[int]) -> Pushed:
    numbers: Float32 = np.random.default_rng(seed).normal(size=8).astype(np.float32)
    return Pushed(numbers, **said)


def _weights() -> Weights:
    return Weights(torch.linspace(-1, 1, 8), SIZES, learning_rate=0.1)


def test_a_step_is_one_of_adamw_with_the_sum_of_the_gradients() -> None:
    weights = _weights()
    alone = [nn.Parameter(part.clone()) for part in torch.split(torch.linspace(-1, 1, 8), [3, 5])]
    optimiser = torch.optim.AdamW(alone, lr=0.1)
    for step in range(3):
        pushed = [_pushed(2 * step), _pushed(2 * step + 1)]
        weights.change(pushed, share=1.0)
        total = torch.from_numpy((pushed[0].numbers.astype(float) + pushed[1].numbers).astype(np.float32))
        for parameter, gradient in zip(alone, torch.split(total, [3, 5]), strict=True):
            parameter.grad = gradient
        optimiser.step()
    assert torch.equal(weights.numbers, torch.cat([parameter.detach() for parameter in alone]))


def test_a_parameter_that_no_worker_reaches_stays_as_it_is() -> None:
    weights = _weights()
    weights.change([_pushed(0, idle=frozenset({0, 1})), _pushed(1, idle=frozenset({0}))], share=1.0)
    assert torch.equal(weights.numbers[:3], torch.linspace(-1, 1, 8)[:3]), "not even by its decay"
    assert not torch.equal(weights.numbers[3:], torch.linspace(-1, 1, 8)[3:])


def test_what_was_saved_goes_on_with_the_same_bits() -> None:
    weights = _weights()
    weights.change([_pushed(0, idle=frozenset({1}))], share=1.0)
    saved: dict[str, Tensor] = {name: tensor.clone() for name, tensor in weights.save()}
    other = Weights(saved["numbers"], SIZES, learning_rate=0.1)
    other.restore(saved)
    for one in (weights, other):
        one.change([_pushed(1)], share=1.0)
    assert torch.equal(weights.numbers, other.numbers)
    assert saved["step"].tolist() == [1, 0], "of each parameter"


def test_statistics_are_the_mean_of_a_step_or_move_by_a_workers_share() -> None:
    averages = Averages(torch.tensor([4.0, -torch.inf]))
    masked = np.array([1.0, -np.inf], np.float32)
    averages.change([Pushed(masked, loss=1.0), Pushed(2 * masked, loss=0.5)], share=1.0)
    assert averages.numbers.tolist() == [3, -torch.inf], "what workers sent is weighted already; masks stay"
    averages.change([Pushed(np.array([7.0, -np.inf], np.float32), loss=0.5)], share=0.5)
    assert averages.numbers.tolist() == [5, -torch.inf]
    assert averages.read_loss() == 1.0
    assert averages.read_loss() == 0.0
