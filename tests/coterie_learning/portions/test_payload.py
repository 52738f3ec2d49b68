"""Portions as they travel: as agreed, or refused with a code."""

from typing import get_args

import msgspec
import numpy as np
import pytest

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.help.cartel import Cartel
from coterie_learning.portions.payload import (
    PortionTerms,
    decode_portion,
    encode_portion,
    learner_parameters,
    merge_portion,
)
from coterie_learning.portions.rules import Portion
from coterie_learning.privacy.clip import Clip
from coterie_learning.privacy.none import NoPrivacy
from coterie_wire.errors import WireError
from tests.coterie_learning.portions.models import CLASSES, NETWORK, parameters

HELPER, TARGET, REFERENCE = (parameters(NETWORK, seed) for seed in (1, 2, 3))
PLAIN = Float32Codec()
PORTIONS: tuple[Portion, ...] = get_args(Portion)
every_portion = pytest.mark.parametrize("portion", PORTIONS)


def terms(
    portion: Portion, *, codec: Codec = PLAIN, norm: float | None = None, classes: tuple[int, ...] = (1, 3)
) -> PortionTerms:
    privacy = NoPrivacy() if norm is None else Clip(norm=norm)
    return PortionTerms(NETWORK, classes, Cartel(portion=portion, share=0.5), codec, privacy)


@every_portion
@pytest.mark.parametrize("codec", [Float32Codec(), Int8()], ids=lambda codec: codec.name)
def test_a_portion_arrives_within_its_largest_size(portion: Portion, codec: Codec) -> None:
    agreed = terms(portion, codec=codec)
    payload = encode_portion(agreed, HELPER, reference=REFERENCE, seed=7)
    assert payload == encode_portion(agreed, HELPER, reference=REFERENCE, seed=7)
    assert len(payload) <= agreed.largest_bytes
    arrived = decode_portion(agreed, payload)
    if portion == "learner":
        merged, exact = learner_parameters(arrived, REFERENCE), HELPER
    else:
        merged = merge_portion(agreed, TARGET, arrived, known=(0, 1, 2))
        plain = decode_portion(terms(portion), encode_portion(terms(portion), HELPER, reference=REFERENCE, seed=7))
        exact = merge_portion(terms(portion), TARGET, plain, known=(0, 1, 2))
    for name, tensor in exact.items():
        assert merged[name].dtype == np.float32
        np.testing.assert_allclose(merged[name], tensor, atol=0.1 if codec.name == "int8" else 1e-6)


@every_portion
def test_a_portion_is_clipped_like_an_update(portion: Portion) -> None:
    agreed = terms(portion, norm=0.5)
    arrived = decode_portion(agreed, encode_portion(agreed, HELPER, reference=REFERENCE, seed=7))
    assert np.sqrt(sum(float((tensor**2).sum()) for tensor in arrived.values())) == pytest.approx(0.5)


@pytest.mark.parametrize("portion", ["head", "head_and_units"])
def test_clipping_costs_rows_nothing_since_they_are_rescaled(portion: Portion) -> None:
    merged = [
        merge_portion(
            agreed,
            TARGET,
            decode_portion(agreed, encode_portion(agreed, HELPER, reference={}, seed=7)),
            known=(0, 1, 2),
        )
        for agreed in (terms(portion), terms(portion, norm=0.5))
    ]
    for name, tensor in merged[0].items():
        np.testing.assert_allclose(merged[1][name], tensor, rtol=1e-4, atol=1e-6)


@every_portion
def test_what_was_not_agreed_is_refused(portion: Portion) -> None:
    agreed = terms(portion)
    sent = encode_portion(agreed, HELPER, reference=REFERENCE, seed=7)
    spoilt = agreed.codec.pack({spec.name: np.full(spec.shape, np.nan, np.float32) for spec in agreed.specs})
    attempts = {
        "update.malformed": (agreed, sent[:-1]),
        "update.wrong_codec": (terms(portion, codec=Int8()), sent),
        "update.not_finite": (agreed, spoilt),
        "portion.unknown_class": (terms(portion, classes=(CLASSES,)), sent),
    }
    if portion != "learner":
        attempts["update.wrong_shape"] = (terms(portion, classes=(1,)), sent)
        attempts["portion.unsupported"] = (agreed._replace(model=msgspec.structs.replace(NETWORK, head=None)), sent)
    for code, (asked, payload) in attempts.items():
        with pytest.raises(WireError) as caught:
            decode_portion(asked, payload)
        assert caught.value.code == code


def test_a_whole_model_is_not_merged() -> None:
    with pytest.raises(ValueError, match="kept beside"):
        merge_portion(terms("learner"), TARGET, HELPER, known=())
