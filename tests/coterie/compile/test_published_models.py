"""Published models compile at first try, from their files, pass the trial on synthetic samples, and follow PyTorch."""

import functools
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.compile.trial import try_training
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from tests.coterie.compile import test_lengths, test_zoo
from tests.zoo.entry import Entry, Numbers
from tests.zoo.published import CLASSES, OF_ANY_LENGTH, OF_ONE_SHAPE, TemporalConvolutions, critic, efficient_net
from tests.zoo.reference import uploaded

# What follows at every length follows at one: that is compiled by itself in the longer run only.
ONE_SHAPE = [pytest.param(name, marks=pytest.mark.zoo if name in OF_ANY_LENGTH else ()) for name in OF_ONE_SHAPE]
OF_SECONDS = ["temporal"]
"""Of those, what takes a few seconds to be compiled and tried."""


@functools.cache
def prepared(name: str) -> test_zoo.Prepared:
    return test_zoo.prepared(OF_ONE_SHAPE[name])


@pytest.mark.long
@pytest.mark.parametrize("name", ONE_SHAPE)
def test_model_follows_pytorch(name: str) -> None:
    test_zoo.follow_compiled(OF_ONE_SHAPE[name], prepared(name).model, steps=12)


@pytest.mark.parametrize("name", OF_SECONDS)
def test_model_passes_the_trial_on_made_up_samples(name: str) -> None:
    try_training(*prepared(name))


@pytest.mark.long
@pytest.mark.parametrize("name", [one for one in ONE_SHAPE if one.values[0] not in OF_SECONDS])
def test_larger_model_passes_the_trial_on_made_up_samples(name: str) -> None:
    try_training(*prepared(name))


@pytest.mark.parametrize("name", OF_ANY_LENGTH)
@pytest.mark.long
def test_model_follows_pytorch_at_every_length(name: str) -> None:
    test_lengths.follow(OF_ANY_LENGTH[name], steps=12)


@pytest.mark.parametrize("optimiser", ["momentum", pytest.param("adam", marks=pytest.mark.zoo)])
@pytest.mark.parametrize("name", OF_ANY_LENGTH)
@pytest.mark.long
def test_model_of_any_length_passes_the_trial_on_made_up_samples(name: str, optimiser: str) -> None:
    entry = OF_ANY_LENGTH[name]
    try_training(test_lengths.uploaded_once(entry), test_lengths.compiled(entry, optimiser))


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_the_old_spectral_norm_trains_as_the_new_does() -> None:
    entry = Entry(lambda: critic(nn.utils.spectral_norm), (Numbers((3, 16, 16)),), CLASSES)
    _, model = test_zoo.prepared(entry)
    assert "5.weight_u" in {moments.mean.name for moments in model.spec.statistics}
    test_zoo.follow_compiled(entry, model, steps=6)
