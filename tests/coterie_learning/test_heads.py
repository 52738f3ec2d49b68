import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.heads import (
    UNSEEN_BIAS,
    mask_unseen,
    output_layer,
    pick,
    place,
    renormalise,
    restore_untrained,
    update_specs,
)
from coterie_learning.local import Scope
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

CLASSES = 5
MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (3,)),),
    classes=CLASSES,
    batch_size=4,
    parameters=(
        TensorSpec("body.weight", "float32", (4, 3)),
        TensorSpec("body.bias", "float32", (4,)),
        TensorSpec("out.weight", "float32", (CLASSES, 4)),
        TensorSpec("out.bias", "float32", (CLASSES,)),
    ),
    head=Head("out.weight", "out.bias"),
)
SCOPES = [Scope(head, body) for head in ("all", "seen") for body in ("trained", "frozen")]
classes_seen = st.sets(st.integers(0, CLASSES - 1), min_size=1).map(lambda found: tuple(sorted(found)))


def tensors(seed: int) -> Tensors:
    generator = np.random.default_rng(seed)
    return {spec.name: generator.standard_normal(spec.shape).astype(np.float32) for spec in MODEL.parameters}


def named(scope: Scope, classes: tuple[int, ...]) -> tuple[int, ...]:
    return classes if scope.head == "seen" else ()


def softmax(logits: Float32) -> Float32:
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("head", [None, Head("out.weight")])
def test_a_head_without_a_bias_cannot_be_customised(head: Head | None) -> None:
    with pytest.raises(WireError) as refused:
        output_layer(msgspec.structs.replace(MODEL, head=head))
    assert refused.value.code == "plan.no_head"


@given(classes_seen, st.integers(0, 99))
def test_a_class_that_was_not_seen_has_probability_zero(classes: tuple[int, ...], seed: int) -> None:
    parameters = tensors(seed)
    masked = mask_unseen(parameters, output_layer(MODEL), classes)
    logits = np.random.default_rng(seed).standard_normal((7, 4)).astype(np.float32) @ masked["out.weight"].T
    probabilities = softmax((logits + masked["out.bias"]).astype(np.float32))
    unseen = sorted(set(range(CLASSES)) - set(classes))
    assert not probabilities[:, unseen].any()
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert parameters["out.bias"].min() > UNSEEN_BIAS / 2, "what was given is not changed"


@given(classes_seen, st.integers(0, 99))
def test_a_teacher_is_heard_on_the_seen_classes_alone(classes: tuple[int, ...], seed: int) -> None:
    teacher = softmax(np.random.default_rng(seed).standard_normal((6, CLASSES)).astype(np.float32))
    heard = renormalise(teacher, classes)
    assert np.allclose(heard.sum(axis=1), 1, atol=1e-5)
    assert not heard[:, sorted(set(range(CLASSES)) - set(classes))].any()
    assert np.allclose(heard[:, classes] * teacher[:, classes[:1]], teacher[:, classes] * heard[:, classes[:1]])


def test_a_teacher_that_knows_none_of_the_classes_has_no_opinion() -> None:
    knows_the_last = np.eye(CLASSES, dtype=np.float32)[[4]]
    assert renormalise(knows_the_last, (0, 1)).tolist() == [[0.5, 0.5, 0, 0, 0]]


@pytest.mark.parametrize("scope", SCOPES)
@given(classes=classes_seen, seed=st.integers(0, 99))
def test_what_travels_is_what_was_trained(scope: Scope, classes: tuple[int, ...], seed: int) -> None:
    before, after = tensors(seed), tensors(seed + 1)
    rows = named(scope, classes)
    taken = restore_untrained(before, after, MODEL, scope, rows)
    update = {name: taken[name] - before[name] for name in before}
    part = pick(update, MODEL, scope, rows)
    assert tuple((name, tensor.shape) for name, tensor in part.items()) == tuple(
        (spec.name, spec.shape) for spec in update_specs(MODEL, scope, rows)
    )
    whole = place(part, MODEL, scope, rows)
    assert all(np.array_equal(whole[name], update[name]) for name in update), "nothing that was trained stays behind"


def test_a_frozen_body_does_not_travel() -> None:
    specs = update_specs(MODEL, Scope(head="seen", body="frozen"), (1, 3))
    assert [(spec.name, spec.shape) for spec in specs] == [("out.weight", (2, 4)), ("out.bias", (2,))]


@pytest.mark.parametrize(
    ("scope", "classes"),
    [
        (Scope(head="seen"), ()),
        (Scope(head="seen"), (3, 1)),
        (Scope(head="seen"), (1, 1)),
        (Scope(head="seen"), (0, CLASSES)),
        (Scope(head="seen"), (-1, 2)),
        (Scope(head="all"), (1,)),
    ],
)
def test_other_classes_than_the_plan_allows_are_refused(scope: Scope, classes: tuple[int, ...]) -> None:
    with pytest.raises(WireError) as refused:
        update_specs(MODEL, scope, classes)
    assert refused.value.code == "update.wrong_classes"
