"""When a device asks for help, what it tells, and what a portion does: examples for clients in other languages."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie_agent.peers.reading import found_in
from coterie_agent.sharing import ReportDetail, share_profile
from coterie_learning.client.start import terms_of, with_portions
from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.guard import judge
from coterie_learning.help import HelpRules
from coterie_learning.portions.payload import decode_portion, encode_portion, merge_portion
from coterie_learning.profile import Counts, jensen_shannon
from coterie_learning.profile_noise import noised, sample_noise
from coterie_learning.random import derive_seed
from coterie_learning.watch import DriftWatch, begin_watch
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.tensors import Float32, Tensors, encode_tensors

Document = Mapping[str, object]
Classes = tuple[int, ...]
Int64 = NDArray[np.int64]
SECRET = 2**255 + 2**40 + 17
CLASSES, BATCH, BATCHES = 5, 16, 60
_REST: Document = {"local": {"kind": "sgd"}, "privacy": {"kind": "none"}, "codec": {"kind": "float32"}}
_HELP: Sequence[Document] = (
    {},
    {"detector": {"kind": "window", "limit": 0.3, "batches": 4}, "cool_down_batches": 2, "prior_shift": 0.2},
    {"detector": {"kind": "page_hinkley", "slack": 0.02, "threshold": 6.0}, "troubled_recall": 0.7},
    {"detector": {"kind": "adwin"}, "recent_batches": 3, "troubled_samples": 1},
    {"detector": {"kind": "adwin", "confidence": 0.2}, "window_batches": 4},
    {"detector": {"kind": "control_chart"}, "report_batches": 3},
    {"detector": {"kind": "control_chart", "deviations": 1.5, "batches": 1, "past_batches": 7}},
    {"detector": {"kind": "window", "limit": 0.25}, "noise_multiplier": 0.6, "cool_down_batches": 3},
)
_FAULTS: Sequence[Document] = (
    {"recent_batches": 11},
    {"noise_multiplier": 1.0, "cool_down_batches": 0},
    {"detector": {"kind": "window", "limit": 2}},
    {"detector": {"kind": "of later"}},
    {"share": 0},
    {"of_later": True},
)
"""Hyperparameters that are none, or contradict one another."""
_COUNTS: Sequence[tuple[Sequence[int], Sequence[int]]] = (
    ((0, 13, 1, 0, 40), (0, 5, 1, 0, 0)),
    ((0, 0), (0, 0)),
    (tuple(range(300)), (1, *range(299))),
)
"""Samples by class, and wrong ones: of the last more than a profile holds."""
_ASKED: Sequence[tuple[Classes, Classes]] = (((4,), (0, 1, 2, 3)), ((1, 3), (0, 1, 3)), ((0, 2), ()))
"""Classes that help is asked for, and those that the device has samples of."""


def help_vectors() -> bytes:
    """As JSON; bytes are in base64, and the secret is in decimals."""
    document = {
        "secret": str(SECRET),
        "watches": [_watched(number, given) for number, given in enumerate(_HELP)],
        "faults": [_device_plan(given) for given in _FAULTS],
        "noise": [_noise(multiplier) for multiplier in (0.3, 5.0)],
        "profiles": [
            _profile(np.array(samples), np.array(wrong), tell)
            for samples, wrong in _COUNTS
            for tell in get_args(ReportDetail)
        ],
        "divergences": [_divergence(seed) for seed in range(4)],
        "verdicts": [_verdict(seed) for seed in range(8)],
        "portions": list(_portions()),
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _device_plan(given: Document, **rest: object) -> Document:
    help_ = {"kind": "cartel", **given}
    return {**_REST, "requirements": {}, "help": help_, "alone_every_s": 0.0, **rest}


def _parsed(document: Document) -> DevicePlan:
    return parse_device_plan(json.dumps(document).encode())


def _rules(plan: DevicePlan) -> HelpRules:
    rules = plan.help.rules()
    assert rules is not None
    return rules


def _stream(rng: np.random.Generator) -> Iterator[tuple[Int64, Int64]]:
    """True and predicted classes of each batch: a class comes that the model does not know, goes and comes again."""
    for batch in range(BATCHES):
        comes = 20 <= batch < 34 or batch >= 48
        labels = np.minimum(rng.integers(0, 2 * CLASSES if comes else CLASSES - 1, BATCH), CLASSES - 1)
        guessed = rng.integers(0, CLASSES, BATCH)
        is_right = (labels < CLASSES - 1) & (rng.random(BATCH) < 0.92)
        yield labels, np.where(is_right, labels, guessed)


def _watched(number: int, given: Document) -> Document:
    """Whatever is due is told at once; the key of each draw is the secret."""
    document = _device_plan(given)
    rules, key = _rules(_parsed(document)), SECRET.to_bytes(32, "big")
    watch, batches = begin_watch(rules, CLASSES), []
    for labels, predicted in _stream(np.random.default_rng(derive_seed(7, "help", number))):
        watch = watch.observe(rules, labels, predicted)
        asks = watch.asks_for(rules)
        step: dict[str, object] = {
            "labels": labels.tolist(),
            "predicted": predicted.tolist(),
            "drift": msgspec.to_builtins(watch.drift),
            "drifting": watch.drifting,
            "asks_for": asks,
        }
        if asks:
            request = watch.request(rules, key)
            step["request"] = {"classes": request.classes, **_counts(request.counts)}
            watch = watch.after_request()
        if watch.report_is_due(rules):
            told, watch = watch.report(rules, key)
            step["told"] = _counts(told)
        batches.append(step)
    return {"plan": document, "classes": CLASSES, "batches": batches, "end": _state(watch)}


def _state(watch: DriftWatch) -> Document:
    return {
        "profile": msgspec.to_builtins(watch.profile.batches),
        "batches_unreported": watch.batches_unreported,
        "batches_quiet": watch.batches_quiet,
        "batches_drifted": watch.batches_drifted,
    }


def _counts(counts: Counts) -> Document:
    return {"samples": counts.samples.tolist(), "wrong": counts.wrong.tolist()}


def _noise(multiplier: float) -> Document:
    counts = Counts(np.array([0, 3, 40, 200, 0, 7]), np.array([0, 3, 10, 1, 0, 0]))
    plan = _device_plan({"noise_multiplier": multiplier, "report_batches": 4})
    told = noised(counts, multiplier, SECRET.to_bytes(32, "big"))
    noise = sample_noise(_rules(_parsed(plan)), 1e-6)
    assert noise is not None
    return {
        "plan": plan,
        **_counts(counts),
        "told": _counts(told),
        "delta": 1e-6,
        "epsilon": float(f"{noise.epsilon:.10g}"),
    }


def _profile(samples: Int64, wrong: Int64, tell: ReportDetail) -> Document:
    counts = Counts(samples, wrong)
    profile = share_profile(found_in(counts), tell, batch=7, drifting=True, willing=True)
    return {**_counts(counts), "tell": tell, "profile": msgspec.to_builtins(profile)}


def _divergence(seed: int) -> Document:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(6)).round(3), rng.dirichlet(np.ones(6)).round(3)
    if seed == 0:
        q = np.zeros(6)
    return {"p": p.tolist(), "q": q.tolist(), "bits": float(f"{jensen_shannon(p, q):.10g}")}


def _verdict(seed: int) -> Document:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 32)
    before = np.where(rng.random(32) < 0.6, labels, rng.integers(0, 4, 32))
    after = np.where(rng.random(32) < 0.4 + 0.07 * seed, labels, rng.integers(0, 4, 32))
    told = {"labels": labels.tolist(), "before": before.tolist(), "after": after.tolist()}
    return {**told, "judgement": msgspec.to_builtins(judge(labels, before, after))}


def _portions() -> Iterator[Document]:
    network = _model(Head("out.weight", "out.bias"), hidden=(12, 150), out=(CLASSES, 12))
    convolution = _model(Head("out.weight"), hidden=(9, 2, 5, 5), out=(CLASSES, 9), has_bias=False)
    for model, cases in (
        (
            network,
            (
                ("rows", {"portion": "head"}, {}),
                ("rows in int8", {"portion": "head"}, {"codec": {"kind": "int8"}}),
                ("units", {}, {}),
                ("units, clipped", {"share": 0.5}, {"privacy": {"kind": "clip", "norm": 0.5}}),
                ("units in int8", {"share": 0.1}, {"codec": {"kind": "int8"}}),
                ("units in int8 by tensor", {"share": 0.3}, {"codec": {"kind": "int8", "granularity": "tensor"}}),
                ("units in int4", {"share": 0.2}, {"codec": {"kind": "int4"}}),
            ),
        ),
        (
            convolution,
            (("units of a convolution", {"share": 0.5}, {}), ("rows without biases", {"portion": "head"}, {})),
        ),
    ):
        helper, target = (_parameters(model, role) for role in ("helper", "target"))
        yield {
            "model": json.loads(msgspec.json.encode(model)),
            "helper": b64encode(encode_tensors(dict(helper))).decode(),
            "target": b64encode(encode_tensors(dict(target))).decode(),
            "given": [
                _portion(name, model, _device_plan(given, **rest), asked, helper, target)
                for name, given, rest in cases
                for asked in _ASKED
            ],
        }


def _portion(
    name: str, model: ModelSpec, document: Document, asked: tuple[Classes, Classes], helper: Tensors, target: Tensors
) -> Document:
    """What is merged is told by its hash; a portion that was kept is merged again before the next round."""
    (classes, known), plan, seed = asked, _parsed(document), derive_seed(9, name)
    terms = terms_of(plan, model, classes)
    payload = encode_portion(terms, helper, reference=helper, seed=seed)
    merged = merge_portion(terms, target, decode_portion(terms, payload), known=known)
    twice = with_portions(target, model, [_Kept(json.dumps(document).encode(), classes, payload)] * 2, known)
    return {
        "name": name,
        "plan": document,
        "classes": classes,
        "known": known,
        "seed": seed,
        "payload": b64encode(payload).decode(),
        "merged": _hash(merged),
        "merged_twice": _hash(twice),
    }


class _Kept(msgspec.Struct, frozen=True):
    plan: bytes
    classes: Classes
    payload: bytes


def _model(head: Head, *, hidden: tuple[int, ...], out: tuple[int, int], has_bias: bool = True) -> ModelSpec:
    parameters = (
        TensorSpec("hidden.weight", "float32", hidden),
        TensorSpec("hidden.bias", "float32", hidden[:1]),
        TensorSpec("out.weight", "float32", out),
        *((TensorSpec("out.bias", "float32", out[:1]),) if has_bias else ()),
    )
    inputs = (TensorSpec("x", "float32", (hidden[1],)),)
    return ModelSpec.of_classifier(inputs=inputs, classes=out[0], batch_size=4, parameters=parameters, head=head)


def _parameters(model: ModelSpec, role: str) -> Tensors:
    rng = np.random.default_rng(derive_seed(11, role))
    drawn: dict[str, Float32] = {
        spec.name: rng.standard_normal(spec.shape).round(3).astype(np.float32) for spec in model.parameters
    }
    return drawn


def _hash(tensors: Tensors) -> str:
    return hashlib.sha256(encode_tensors(dict(tensors))).hexdigest()
