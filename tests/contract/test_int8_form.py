"""What other clients run as an int8 form is what this agent runs as one."""

import json

import numpy as np

from tests.contract.int8_form import TOLERANCE, WRITTEN, outputs_of


def test_the_agent_gives_what_is_written() -> None:
    document = json.loads(WRITTEN.read_text(encoding="utf-8"))
    assert document["tolerance"] == TOLERANCE
    whole, form = outputs_of(document)
    np.testing.assert_allclose(whole, document["outputs"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(form, document["form_outputs"], rtol=0, atol=TOLERANCE)
    assert (whole.argmax(axis=1) == form.argmax(axis=1)).all()
    assert np.abs(whole - form).max() > 1e-4, "they are two graphs"
