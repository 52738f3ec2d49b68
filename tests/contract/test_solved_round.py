"""The sums that other clients repeat are those of this agent."""

import json
from base64 import b64decode

import msgspec
import numpy as np

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.second_order import CURVATURES, GRADIENTS, is_table
from coterie_wire.bundle import ModelSpec
from tests.contract.solved_round import PLAN, TOLERANCE, WRITTEN, update_of


def test_the_agent_sums_what_is_written() -> None:
    document = json.loads(WRITTEN.read_text(encoding="utf-8"))
    assert (document["plan"], document["tolerance"]) == (PLAN, TOLERANCE)
    for written in document["rounds"]:
        now, spec = update_of(written), msgspec.convert(written["model"], ModelSpec)
        assert (written["samples"], written["steps"]) == (now["samples"], now["steps"])
        before, after = (
            Float32Codec().decode(b64decode(str(one["update"])), expected=spec.parameters) for one in (written, now)
        )
        for name in before:
            np.testing.assert_allclose(before[name], after[name], rtol=0, atol=TOLERANCE)
            is_summed = is_table(name, GRADIENTS) or is_table(name, CURVATURES)
            assert (np.abs(before[name]).max() > 1000 * TOLERANCE) is np.bool_(is_summed), "a table, and nothing else"
