import msgspec
import pytest

from coterie_learning.plan import Document, parse_plan, read_plan
from coterie_learning.topology.supernodes import Supernodes
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.errors import WireError

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=5,
    batch_size=2,
    parameters=(TensorSpec("body", "float32", (300, 40)),),
)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"merge": {"kind": "trimmed_mean"}}, "reads columns of single updates"),
        ({"merge": {"kind": "geometric_median"}}, "of single updates"),
        ({"pace": {"kind": "buffered"}}, "different versions"),
        (
            {"privacy": {"kind": "central_noise"}, "merge": {"kind": "fed_avg", "weight_by": "uniform"}},
            "platform alone",
        ),
        ({"local": {"kind": "fed_nova"}, "merge": {"kind": "fed_nova"}}, "beside its parameters"),
    ],
)
def test_what_a_sum_would_not_tell_is_refused(others: Document, words: str) -> None:
    with pytest.raises(WireError, match=words):
        parse_plan({"topology": {"kind": "supernodes"}, **others})


def test_two_devices_with_a_coarse_codec_are_refused_and_with_a_fine_one_are_not() -> None:
    """The negative control: a sum is larger than two int8 updates."""
    coarse = read_plan({"topology": {"kind": "supernodes", "members": 2}})
    reason = coarse.topology.misfit(coarse, MODEL, None)
    assert reason is not None
    assert reason.code == "plan.no_saving"
    fine = read_plan({"topology": {"kind": "supernodes", "members": 2}, "codec": {"kind": "float32"}})
    assert fine.topology.misfit(fine, MODEL, None) is None


def test_running_statistics_are_refused() -> None:
    pair = RunningMoments(TensorSpec("m", "float32", (3,)), TensorSpec("v", "float32", (3,)))
    model = msgspec.structs.replace(MODEL, statistics=(pair,))
    plan = read_plan({"topology": {"kind": "supernodes"}})
    reason = Supernodes().misfit(plan, model, None)
    assert reason is not None
    assert "running statistics" in reason.sentence
