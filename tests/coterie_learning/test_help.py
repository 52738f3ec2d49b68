"""Every kind of slot `help`: it gives all rules that devices and the platform go by, or none."""

import pytest

from coterie_learning.device_plan import HELP
from coterie_learning.drift import Detector
from coterie_learning.help import Help
from coterie_wire.errors import WireError


@pytest.mark.parametrize("kind", HELP.kinds.values(), ids=list(HELP.kinds))
def test_rules_are_complete_and_within_their_bounds(kind: type[Help]) -> None:
    rules = kind().rules()
    if rules is None:
        return
    assert isinstance(rules.detector, Detector)
    assert 1 <= rules.recent_batches <= rules.window_batches
    assert min(rules.cool_down_batches, rules.report_batches, rules.troubled_samples) >= 0
    for share in (rules.prior_shift, rules.troubled_recall, rules.largest_divergence, rules.helper_recall):
        assert 0 <= share <= 1
    assert 0 <= rules.helper_error <= 1
    assert 0 < rules.share <= 1
    assert min(rules.serves_at_once, rules.neighbours_tried) >= 1
    assert min(rules.match_s, rules.deliver_s, rules.judge_s) > 0


def test_requests_with_noise_are_apart() -> None:
    with pytest.raises(WireError, match="cool_down_batches"):
        HELP.parse({"kind": "cartel", "noise_multiplier": 1.0, "cool_down_batches": 0})


def test_somebody_helps_under_one_kind_and_nobody_under_another() -> None:
    helps = {name: kind().rules() is not None for name, kind in HELP.kinds.items()}
    assert helps["cartel"] and not helps["none"]
