"""The rounds that other clients repeat are those of this agent."""

import json
from base64 import b64decode

import numpy as np
import pytest

from coterie_learning.codec.float32 import Float32Codec
from coterie_wire.tensors import decode_tensors
from tests.contract.client_round import TOLERANCE, WRITTEN, client_round
from tests.coterie_agent.bundles import SPEC


def test_the_agent_computes_what_is_written() -> None:
    written, now = json.loads(WRITTEN.read_text(encoding="utf-8")), json.loads(json.dumps(client_round()))
    for field in ("model", "x", "y", "received", "seed", "tolerance"):
        assert written[field] == now[field]
    assert written["loss_before"] == pytest.approx(now["loss_before"], abs=TOLERANCE)
    for old, new in zip(written["rounds"], now["rounds"], strict=True):
        assert (old["plan"], old["samples"], old["steps"]) == (new["plan"], new["samples"], new["steps"])
        assert old["largest_change"] > 1000 * TOLERANCE, "a client that learns nothing is found out"
        before, after = (
            Float32Codec().decode(b64decode(one["update"]), expected=SPEC.parameters) for one in (old, new)
        )
        for name in before:
            np.testing.assert_allclose(before[name], after[name], rtol=0, atol=TOLERANCE)
    old, new = written["distill"], now["distill"]
    assert (old["plan"], old["weights"]) == (new["plan"], new["weights"])
    for then, again in zip(old["rounds"], new["rounds"], strict=True):
        for field in ("ids", "seen", "steps", "samples"):
            assert then[field] == again[field]
        assert len(then["losses"]) < old["plan"]["local"]["epochs"], "it stopped early"
        np.testing.assert_allclose(then["losses"], again["losses"], rtol=0, atol=TOLERANCE)
        _assert_same(then["trained"], again["trained"])
    for kind in ("personal", "ditto"):
        old, new = written[kind], now[kind]
        for field in ("plan", "steps", "held_out", "answers"):
            assert old[field] == new[field]
        assert old["answers"] == "trained"
        assert len(old["losses"]) < 1 + old["plan"]["personal"]["epochs"], "it stopped early"
        np.testing.assert_allclose(old["losses"], new["losses"], rtol=0, atol=TOLERANCE)
        _assert_same(old["trained"], new["trained"])


def test_the_agent_computes_what_is_written_of_successive_rounds() -> None:
    written, now = json.loads(WRITTEN.read_text(encoding="utf-8")), json.loads(json.dumps(client_round()))
    for field in ("later", "own", "server"):
        assert written[field] == now[field]
    for old, new in zip(written["successive"], now["successive"], strict=True):
        assert (old["name"], old["plan"]) == (new["name"], new["plan"])
        for then, again in zip(old["rounds"], new["rounds"], strict=True):
            assert (then["samples"], then["steps"]) == (again["samples"], again["steps"])
            _assert_same(then["trained"], again["trained"])
        first, second = (one["trained"] for one in old["rounds"])
        assert first != second


def _assert_same(one: str, other: str) -> None:
    """Of tensors of a version, as text."""
    before, after = (decode_tensors(b64decode(text), expected=SPEC.version) for text in (one, other))
    for name in before:
        np.testing.assert_allclose(before[name], after[name], rtol=0, atol=TOLERANCE)
