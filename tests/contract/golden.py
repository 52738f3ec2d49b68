"""The bytes of everything that travels: ``python -m tests.contract.golden`` writes those that are missing, no others.

Bytes that change are a change of protocol: delete the file on purpose, and say in the commit who still reads the old.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
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

GOLDEN = Path(__file__).parent / "golden"

CODECS: Mapping[str, Codec] = {
    "update.float32.safetensors": Float32Codec(),
    "update.int8-channel.safetensors": Int8(granularity="channel"),
    "update.int8-tensor.safetensors": Int8(granularity="tensor"),
}


def golden_bytes() -> Mapping[str, bytes]:
    """What this source writes for each sample, by file name."""
    structs = (*MESSAGES, *PLATFORM_FRAMES, REQUEST, PROBLEM)
    return {
        **{f"{type(struct).__name__}.json": msgspec.json.encode(struct) for struct in structs},
        "manifest.json": SIGNED_MANIFEST.manifest,
        "manifest.signature": SIGNED_MANIFEST.signature,
        "teacher.json": SIGNED_TEACHER.manifest,
        **{name: codec.encode(UPDATE, seed=SEED).payload for name, codec in CODECS.items()},
    }


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, content in golden_bytes().items():
        if not (GOLDEN / name).exists():
            (GOLDEN / name).write_bytes(content)
