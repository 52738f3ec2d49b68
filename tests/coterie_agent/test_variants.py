"""Smaller forms of the version that a device holds: fetched, run, measured, and used where they suit the device."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from coterie_agent.blobs import BlobCache
from coterie_agent.home import Home
from coterie_agent.predicting import load_held_model
from coterie_agent.serving.current import CurrentModel
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row, StoredRow
from coterie_agent.store.variants import KnownForms
from coterie_agent.training.forms import choose_form
from coterie_agent.training.predictor import Predictor
from coterie_wire.bundle import BlobRef, SignedManifest
from coterie_wire.latency import Durations, Histogram
from coterie_wire.tensors import encode_tensors
from coterie_wire.variants import Variant, Variants, digest_of, sign_variants
from coterie_wire.version import PROTOCOL
from tests.coterie_agent.bundles import SIGNING_KEY, SPEC, Bundle, parameters, predict_graph, samples
from tests.coterie_agent.conftest import Agent
from tests.coterie_agent.fake_platform import FakePlatform
from tests.coterie_agent.serving.world import hold

NewAgent = Callable[..., Agent]
OTHER = 5
"""Seed of the parameters inside the form, so that its predictions differ from the version's."""


def alone(seed: int = OTHER) -> bytes:
    """The prediction graph with parameters inside."""
    model = onnx.load_from_string(predict_graph())
    weights = {f"param.{name}": tensor for name, tensor in parameters(seed).items()}
    kept = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(tensor, name) for name, tensor in weights.items())
    content: bytes = model.SerializeToString()
    return content


def offer(platform: FakePlatform, *contents: bytes, version: str = "v1") -> SignedManifest:
    refs = [BlobRef.of_bytes(content) for content in contents]
    platform.bundle.blobs.update({ref.sha256: content for ref, content in zip(refs, contents, strict=True)})
    names = ("int8", "tiny")
    listed = Variants(PROTOCOL, version, tuple(Variant(*one) for one in zip(names, refs, strict=False)))
    with platform.seen:
        platform.champion, platform.check_in_s = True, 0.1
        platform.variants = sign_variants(listed, SIGNING_KEY)
    return platform.variants


def classes(seed: int, x: np.ndarray) -> list[int]:
    tensors = parameters(seed)
    return [int(one) for one in (x @ tensors["weight"].T + tensors["bias"]).argmax(axis=1)]


def predicted(home: Home, store: Store, x: np.ndarray) -> tuple[str, list[int]]:
    held = load_held_model(store, home, threads=1)
    return held.form, [one.index for one in held.predict([Row(row.tobytes(), 0) for row in x])]  # type: ignore[union-attr]


def taking(*durations_s: float) -> Histogram:
    counted = Durations()
    for duration_s in durations_s:
        counted.add(duration_s)
    return counted.histogram()


@pytest.mark.parametrize(("within_s", "chosen"), [(1.0, "float32"), (0.02, "int8"), (0.005, "tiny"), (1e-6, "tiny")])
def test_the_most_accurate_form_that_is_quick_enough_is_chosen(within_s: float, chosen: str) -> None:
    forms = {"float32": taking(0.08, 0.09), "int8": taking(0.012, 0.014), "tiny": taking(0.001, 0.002)}
    assert choose_form(forms, within_s=within_s) == chosen


def test_a_form_is_judged_by_its_slow_runs() -> None:
    forms = {"float32": taking(*[0.001] * 9, 0.5), "int8": taking(*[0.004] * 10)}
    assert choose_form(forms, within_s=0.01) == "int8"


def test_the_agent_fetches_measures_and_tells_that_it_knows_them(
    platform: FakePlatform, new_agent: NewAgent, joined: Store, home: Home
) -> None:
    signed = offer(platform, alone())
    new_agent().start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].variants == digest_of(signed))
    known = joined.variants.load()
    assert known is not None
    assert (known.version, known.digest, set(known.forms)) == ("v1", digest_of(signed), {"float32", "int8"})
    assert all(histogram.total == 200 for histogram in known.forms.values())
    assert known.chosen == "float32" or known.forms["float32"].quantile_s(0.99) > 0.01  # type: ignore[operator]
    assert BlobCache(home.variants).has(BlobRef.of_bytes(alone()))
    x, _ = samples(30)
    assert predicted(home, joined, x) == (known.chosen, classes(0 if known.chosen == "float32" else OTHER, x))


def test_a_form_that_does_not_run_is_passed_over(platform: FakePlatform, new_agent: NewAgent, joined: Store) -> None:
    signed = offer(platform, predict_graph(), alone())  # the first wants parameters as inputs
    new_agent().start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].variants == digest_of(signed))
    known = joined.variants.load()
    assert known is not None and set(known.forms) == {"float32", "tiny"}


@pytest.mark.parametrize("bad", ["version", "signature"])
def test_a_list_that_is_not_the_platforms_or_the_versions_is_not_taken(
    platform: FakePlatform, new_agent: NewAgent, joined: Store, bad: str
) -> None:
    signed = offer(platform, alone(), version="v9" if bad == "version" else "v1")
    if bad == "signature":
        with platform.seen:
            platform.variants = SignedManifest(signed.manifest, bytes(64))
    new_agent().start()
    platform.wait_for(lambda: sum(told.variants == "" for told in platform.check_ins) > 5)
    assert joined.variants.load() is None


def choose(store: Store, *, version: str = "v1") -> None:
    forms = {"float32": taking(0.1), "int8": taking(0.01)}
    store.variants.keep(KnownForms(version, "0" * 64, forms, "int8", BlobRef.of_bytes(alone())))


@pytest.fixture
def chosen(home: Home, joined: Store, bundle: Bundle) -> Store:
    """A device that predicts with the smaller form of its version."""
    hold(home, joined, bundle)
    ref = BlobRef.of_bytes(alone())
    BlobCache(home.variants).fetch(ref, lambda sha256, offset: iter([alone()]), stop=lambda: False)
    choose(joined)
    return joined


def test_the_form_that_was_chosen_predicts(chosen: Store, home: Home) -> None:
    x, _ = samples(30)
    assert classes(0, x) != classes(OTHER, x)
    assert predicted(home, chosen, x) == ("int8", classes(OTHER, x))


def test_a_form_of_another_version_does_not(chosen: Store, home: Home) -> None:
    choose(chosen, version="v0")
    x, _ = samples(30)
    assert predicted(home, chosen, x) == ("float32", classes(0, x))


def test_a_personal_model_is_never_replaced_by_a_form(chosen: Store, home: Home) -> None:
    chosen.peers.adopt(PersonalTensors("v1", encode_tensors(parameters(7))))
    x, _ = samples(30)
    assert predicted(home, chosen, x) == ("float32", classes(7, x))


def test_the_version_predicts_where_the_disk_has_damaged_the_form(chosen: Store, home: Home) -> None:
    ref = BlobRef.of_bytes(alone())
    (home.variants / ref.sha256).write_bytes(bytes(ref.size_bytes))
    x, _ = samples(30)
    assert predicted(home, chosen, x) == ("float32", classes(0, x))
    assert chosen.variants.load() is None


def test_the_service_takes_another_form_as_it_takes_another_version(chosen: Store, home: Home) -> None:
    current = CurrentModel(chosen, home, threads=1)
    current.refresh()
    assert current.held is not None and current.held.form == "int8"
    chosen.variants.delete()
    current.refresh()
    assert (current.held.form, current.swaps) == ("float32", 1)


def test_a_graph_alone_gives_what_the_version_gives() -> None:
    whole = Predictor(predict_graph(), SPEC, parameters(OTHER), {}, threads=1)
    x, _ = samples(20)
    rows = [StoredRow(0, row.tobytes(), 0) for row in x]
    np.testing.assert_allclose(
        Predictor.self_contained(alone(), SPEC, threads=1).outputs(rows), whole.outputs(rows), rtol=1e-6
    )
