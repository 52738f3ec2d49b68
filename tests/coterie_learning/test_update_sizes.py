"""What an update is said to take is what it takes."""

import numpy as np
import pytest

from coterie_learning.client.update import make_update
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.one_bit import OneBit
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.local import Local
from coterie_learning.local.distill import Distill
from coterie_learning.local.sgd import Sgd
from coterie_learning.plan import read_plan
from coterie_learning.update_sizes import update_bytes
from coterie_wire.bundle import Head, ModelSpec, TensorSpec

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=3,
    batch_size=2,
    parameters=(
        TensorSpec("body", "float32", (3, 200)),
        TensorSpec("weight", "float32", (3, 3)),
        TensorSpec("bias", "float32", (3,)),
    ),
    head=Head("weight", "bias"),
)


@pytest.mark.parametrize("local", [Sgd(), Distill(head="seen"), Distill(head="seen", body="frozen")], ids=repr)
@pytest.mark.parametrize("codec", [Float32Codec(), OneBit(), SparseLevels()], ids=repr)
def test_an_update_takes_what_was_said(local: Local, codec: Codec) -> None:
    plan = read_plan({"local": {"kind": local.name}}).device
    plan = type(plan)(local, codec, plan.privacy, plan.requirements, plan.help)
    source = np.random.default_rng(1)
    zeros = {spec.name: np.zeros(spec.shape, np.float32) for spec in MODEL.parameters}
    trained = {spec.name: source.standard_normal(spec.shape).astype(np.float32) for spec in MODEL.parameters}
    classes = (0, 1, 2) if local.scope().head == "seen" else ()
    made = make_update(zeros, trained, plan=plan, model=MODEL, states={}, steps=1, seed=1, secret=1, classes=classes)
    said = update_bytes(local, codec, MODEL)
    assert said.least <= len(made.payload) <= said.most
    assert (said.least == said.most) == (not isinstance(codec, SparseLevels))
