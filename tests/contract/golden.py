"""The bytes of everything that travels: ``python -m tests.contract.golden`` writes those that are missing, no others.

Bytes that change are a change of protocol: delete the file on purpose, and say in the commit who still reads the old.
What releases wrote is kept for ever in a directory each, with the schema by which they read.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int4 import Int4
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.one_bit import OneBit
from coterie_learning.codec.pruned import Pruned
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.codec.top_k import TopK
from coterie_learning.random import (
    derive_seed,
    device_lot,
    epoch_order,
    part_seed,
    permutation,
    random_bytes,
    step_seed,
)
from coterie_learning.selection import choose
from tests.contract.client_vectors import client_vectors
from tests.contract.codec_vectors import codec_vectors
from tests.contract.consent_vectors import consent_vectors
from tests.contract.distill_vectors import distill_vectors
from tests.contract.gradient_vectors import gradient_vectors
from tests.contract.help_vectors import help_vectors
from tests.contract.label_vectors import label_vectors
from tests.contract.local_vectors import local_vectors
from tests.contract.personal_vectors import personal_vectors
from tests.contract.privacy_vectors import privacy_vectors
from tests.contract.question_vectors import question_vectors
from tests.contract.samples import (
    MESSAGES,
    PLATFORM_FRAMES,
    PROBLEM,
    REQUEST,
    SEED,
    SIGNED_MANIFEST,
    SIGNED_TEACHER,
    UPDATE,
)
from tests.contract.secure_vectors import secure_vectors
from tests.contract.word_vectors import word_vectors

GOLDEN = Path(__file__).parent / "golden"
RELEASES = tuple(sorted(path for path in GOLDEN.iterdir() if path.is_dir()))
PATHS: tuple[tuple[int, tuple[str | int, ...]], ...] = (
    (0, ()),
    (SEED, ("dither", "fc.weight")),
    (SEED, ("dither", "zwölf")),
    (2**53, ("order", 7)),
)
"""What random numbers are drawn for: a seed, and the rest of the path."""
DEVICES = ("kitchen", "hall", "zwölf", "cellar")

CODECS: Mapping[str, Codec] = {
    "update.float32.safetensors": Float32Codec(),
    "update.int8-channel.safetensors": Int8(granularity="channel"),
    "update.int8-tensor.safetensors": Int8(granularity="tensor"),
}
CODECS_SINCE: Mapping[str, Codec] = {
    "update.int4.safetensors": Int4(),
    "update.one_bit.safetensors": OneBit(),
    "update.pruned.safetensors": Pruned(),
    "update.sparse_levels.safetensors": SparseLevels(),
    "update.top_k.safetensors": TopK(),
}
"""Those that no release of old knows."""


def golden_bytes() -> Mapping[str, bytes]:
    """What this source writes for each sample, by file name."""
    structs = (*MESSAGES, *PLATFORM_FRAMES, REQUEST, PROBLEM)
    return {
        **{f"{type(struct).__name__}.json": msgspec.json.encode(struct) for struct in structs},
        "manifest.json": SIGNED_MANIFEST.manifest,
        "manifest.signature": SIGNED_MANIFEST.signature,
        "teacher.json": SIGNED_TEACHER.manifest,
        **{
            name: codec.encode(UPDATE, seed=SEED).payload
            for codecs in (CODECS, CODECS_SINCE)
            for name, codec in codecs.items()
        },
        "random.json": _random_numbers(),
        "client.json": client_vectors(),
        "gradients.json": gradient_vectors(),
        "help.json": help_vectors(),
        "codecs.json": codec_vectors(),
        "consent.json": consent_vectors(),
        "distill.json": distill_vectors(),
        "labels.json": label_vectors(),
        "local.json": local_vectors(),
        "personal.json": personal_vectors(),
        "privacy.json": privacy_vectors(),
        "questions.json": question_vectors(),
        "secure_sum.json": secure_vectors(),
        "words.json": word_vectors(),
    }


def _random_numbers() -> bytes:
    """Examples for whoever writes the generator in another language."""
    examples = [
        {
            "seed": seed,
            "path": path,
            "seed_of_it": derive_seed(seed, *path),
            "bytes": random_bytes(150, seed, *path).hex(),
            "permutation_of_10": permutation(10, seed, *path).tolist(),
        }
        for seed, path in PATHS
    ]
    steps = [{"seed": seed, "step": step, "seed_of_it": step_seed(seed, step)} for seed in (0, SEED) for step in (0, 9)]
    epochs = [
        {"seed": seed, "epoch": epoch, "order_of_10": epoch_order(10, seed, epoch).tolist()}
        for seed in (0, SEED)
        for epoch in (0, 9)
    ]
    parts = [{"seed": seed, "part": part, "seed_of_it": part_seed(seed, part)} for seed in (0, SEED) for part in (0, 1)]
    lots = [
        {"seed": seed, "device": name, "lot": device_lot(seed, name).hex()} for seed in (0, SEED) for name in DEVICES
    ]
    chosen = [{"seed": seed, "devices": DEVICES, "chosen": choose(DEVICES, count=2, seed=seed)} for seed in (0, SEED)]
    document = {
        "paths": examples,
        "steps": steps,
        "epochs": epochs,
        "parts": parts,
        "lots": lots,
        "selections": chosen,
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, content in golden_bytes().items():
        if not (GOLDEN / name).exists():
            (GOLDEN / name).write_bytes(content)
