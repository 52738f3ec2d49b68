"""Published models compile at first try, from their files, pass the trial on synthetic samples, and follow PyTorch."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.optimiser.adam import Adam
from coterie.compile.recipe.optimiser.sgd import Sgd
from coterie.compile.trial import try_training
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from tests.coterie.compile import test_lengths, test_zoo
from tests.zoo.published import CLASSES, OF_ANY_LENGTH, OF_ONE_SHAPE, TemporalConvolutions, efficient_net
from tests.zoo.reference import uploaded


@pytest.mark.parametrize("name", OF_ONE_SHAPE)
def test_model_follows_pytorch(name: str) -> None:
    test_zoo.follow(OF_ONE_SHAPE[name], steps=12)


@pytest.mark.parametrize("name", OF_ANY_LENGTH)
def test_model_follows_pytorch_at_every_length(name: str) -> None:
    test_lengths.follow(OF_ANY_LENGTH[name], steps=12)


TRIED = {
    **{name: (entry, Sgd()) for name, entry in OF_ONE_SHAPE.items()},
    **{f"{name} of any length": (entry, Adam()) for name, entry in OF_ANY_LENGTH.items()},
}


@pytest.mark.parametrize("name", TRIED)
def test_model_passes_the_trial_on_made_up_samples(name: str) -> None:
    entry, optimiser = TRIED[name]
    example = entry.samples(2, 0, None if entry.length is None else 5)
    program = uploaded(export_module(entry.built(), example, entry.length))
    try_training(program, compile_model(program, Recipe(loss=entry.loss, optimiser=optimiser), batch_size=4))


def test_stochastic_depth_is_drawn_in_training_and_left_out_in_service() -> None:
    torch.manual_seed(0)
    module, x = efficient_net(share=0.5), torch.randn(8, 3, 16, 16)
    program = uploaded(export_module(module, (x,)))
    model = compile_model(program, batch_size=8)
    assert model.spec.seeded
    try_training(program, model)
    found = predict_logits(
        open_session(model.predict), model.parameters, Dataset({model.spec.inputs[0].name: x.numpy()}, np.zeros(8, int))
    )
    with torch.no_grad():
        np.testing.assert_allclose(found, module.eval()(x).numpy(), rtol=1e-4, atol=1e-5)


def test_weights_normed_in_the_old_way_train_as_in_the_new() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.manual_seed(0)
        module = TemporalConvolutions(nn.utils.weight_norm)
    program = uploaded(export_module(module, (torch.randn(2, 3, 20),)))
    model = compile_model(program, batch_size=4)
    try_training(program, model)
    assert {"head.weight_g", "head.weight_v"} <= {spec.name for spec in model.spec.parameters}
    assert model.spec.output.shape == (CLASSES,)
