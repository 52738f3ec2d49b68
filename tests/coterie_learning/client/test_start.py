"""A round's training starts from what was received, with the portions that have helped since."""

import msgspec
import numpy as np

from coterie_agent.store.peers import KeptPortion
from coterie_learning.client.start import with_portions
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_agent.peers.world import GOOD, plan, rows


def test_a_kept_portion_replaces_its_rows_and_nothing_else() -> None:
    received = parameters()
    kept = KeptPortion("t-1", msgspec.json.encode(plan()), (2,), rows(GOOD))
    start = with_portions(received, SPEC, [kept], known=(2,))
    np.testing.assert_array_equal(start["weight"][2], GOOD["weight"][2])
    np.testing.assert_array_equal(start["weight"][:2], received["weight"][:2])
    assert received["weight"][2].tolist() == parameters()["weight"][2].tolist()


def test_a_portion_that_fits_the_model_no_more_is_left_out() -> None:
    received = parameters()
    broken = KeptPortion("t-1", msgspec.json.encode(plan()), (2,), b"no portion")
    later = KeptPortion("t-2", msgspec.json.encode(plan()), (0,), rows(GOOD, (0,)))
    start = with_portions(received, SPEC, [broken, later], known=(0,))
    np.testing.assert_array_equal(start["weight"][0], GOOD["weight"][0])
    np.testing.assert_array_equal(start["weight"][2], received["weight"][2])
