"""What a device counts of itself for a question, and the vector that it adds to the sum: examples for clients in other
languages.
"""

import json
from base64 import b64encode
from collections.abc import Mapping

from coterie_learning.answers import Encoding
from coterie_learning.question import OwnFacts, parse_question
from coterie_wire.errors import WireError
from tests.contract.samples import SEED

KEY = (2**255 + SEED).to_bytes(32, "big")
MEMBERS = 12
CLASSES = {"kind": "classes", "classes": 4, "most": 10}
STEPS = {"kind": "histogram", "of": "train_step_s", "edges": [0.01, 0.02, 0.5]}
MACHINES = {"kind": "words", "of": "machine", "words": ["aarch64 Linux", "zwölf"]}
QUESTIONS: tuple[Mapping[str, object], ...] = (
    {"count": CLASSES, "min_devices": 3, "corrupted": 0.0},
    {"count": CLASSES, "noise_multiplier": 4.0},
    {"count": {"kind": "classes", "classes": 3}, "among": "waiting", "noise_multiplier": 0.01},
    {"count": STEPS, "among": "failing"},
    {"count": STEPS, "noise_multiplier": 2.5, "min_devices": 12, "adversary": "split_view"},
    {"count": {"kind": "histogram", "of": "temperature_c", "edges": [40.0]}},
    {"count": MACHINES, "noise_multiplier": 1.0, "dropped": 0.3, "step_s": 5.0},
    {"count": {"kind": "words", "of": "reason", "words": ["conditions.on_battery"]}, "among": "waiting"},
)
REFUSED: tuple[Mapping[str, object], ...] = (
    {"count": {"kind": "median"}},
    {"count": {"kind": "classes", "classes": 0}},
    {"count": {**STEPS, "edges": [1.0, 1.0]}},
    {"count": {**STEPS, "of": "weight"}},
    {"count": {**MACHINES, "words": ["one", "one"]}},
    {"count": CLASSES, "noise_multiplier": 0},
    {"count": CLASSES, "min_devices": 2},
    {"count": CLASSES, "asks": "more"},
)
FACTS = (
    OwnFacts(
        class_counts=(3, 0, 5, 1, 9),
        quantities={"samples": 18.0, "train_step_s": 0.02, "temperature_c": None, "cores": 8.0},
        properties={"machine": "zwölf", "reason": "conditions.on_battery", "outcome": "dropped"},
        is_failing=True,
        is_waiting=True,
    ),
    OwnFacts(
        class_counts=(1000, 7),
        quantities={"samples": 1007.0, "train_step_s": None, "temperature_c": 41.5, "cores": 4.0},
        properties={"machine": "riscv64 Linux", "reason": "none", "outcome": "none"},
        is_failing=False,
        is_waiting=False,
    ),
    OwnFacts(class_counts=(), quantities={"train_step_s": 900.0}, properties={}, is_failing=False, is_waiting=True),
)


def question_vectors() -> bytes:
    """As JSON; numbers of vectors are those of uint32, and the key is in base64."""
    document = {
        "key": b64encode(KEY).decode(),
        "members": MEMBERS,
        "facts": [_facts(facts) for facts in FACTS],
        "questions": [_question(question) for question in QUESTIONS],
        "refused": [{"question": question, "code": _code(question)} for question in REFUSED],
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _facts(facts: OwnFacts) -> Mapping[str, object]:
    return {
        "class_counts": list(facts.class_counts),
        "quantities": facts.quantities,
        "properties": facts.properties,
        "is_failing": facts.is_failing,
        "is_waiting": facts.is_waiting,
    }


def _question(raw: Mapping[str, object]) -> Mapping[str, object]:
    question = parse_question(raw)
    encoding = Encoding(question, MEMBERS)
    answers = []
    for facts in FACTS:
        counted = question.counted(facts)
        vector = encoding.vector(counted, key=KEY)
        answers.append({"counted": counted.tolist(), "numbers": vector.numbers.tolist(), "tail": vector.tail.tolist()})
    terms = question.terms
    return {
        "question": raw,
        "subjects": sorted(question.subjects),
        "terms": {name: getattr(terms, name) for name in ("fewest", "corrupted", "dropped", "adversary")},
        "unit": encoding.unit,
        "answers": answers,
    }


def _code(raw: Mapping[str, object]) -> str:
    try:
        parse_question(raw)
    except WireError as error:
        return error.code
    raise AssertionError(f"{raw} was taken")
