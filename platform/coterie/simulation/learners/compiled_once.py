"""A cache of compiled models on this machine: PyTorch, which takes seconds to import, is needed once a model.

A file contains only data (`coterie_wire.tensors`): both graphs, parameters, and the specification as JSON. Its name is
the SHA-256 of the model, of how it is compiled, and of the compiler.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
import numpy as np

from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Array, Float32, Tensors, encode_tensors, read_header, view_tensors

if TYPE_CHECKING:
    from coterie.compile.compiled import CompiledModel

DIRECTORY = Path("~/.cache/coterie/compiled")
MOST = 64
"""Most files; the least recently used are deleted."""
COMPILER = ("coterie.compile", "coterie_wire", "coterie.simulation.bodies")
"""Sources that determine a compiled graph, besides the libraries."""
LIBRARIES = ("torch", "onnx", "numpy")
SPEC, TRAIN_STEP, PREDICT, PARAMETER = "spec", "train_step", "predict", "parameter/"


class Compiled(NamedTuple):
    """What a simulation needs of a model."""

    spec: ModelSpec
    train_step: bytes
    predict: bytes
    parameters: Tensors
    """The tensors of the first version."""


def compiled_once(model: bytes, compile_now: Callable[[], "CompiledModel"]) -> Compiled:
    """The result of `compile_now`, cached by `model`: bytes that identify the model and how it is compiled.

    Without a writable cache it is compiled each time. Raises what `compile_now` raises.
    """
    path = DIRECTORY.expanduser() / f"{hashlib.sha256(model + compiler()).hexdigest()}.safetensors"
    found = _read(path)
    if found is None:
        made = compile_now()
        found = Compiled(made.spec, made.train_step, made.predict, dict(made.parameters))
        with suppress(OSError):  # no home directory, or a full disk
            _write(path, found)
    return found


@cache
def compiler() -> bytes:
    """The SHA-256 of the compiler: of its sources, and of the versions of its libraries."""
    digest = hashlib.sha256(" ".join(map(version, LIBRARIES)).encode())
    for name in COMPILER:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None, "it is a part of this release"
        source = Path(spec.origin)
        for file in sorted(source.parent.rglob("*.py")) if spec.submodule_search_locations else [source]:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.digest()


def _read(path: Path) -> Compiled | None:
    """None: it does not exist, or is damaged."""
    try:
        content = path.read_bytes()
        os.utime(path)
        header = read_header(content)
        found = view_tensors(content, header, expected=tuple(header.specs.values()))
        spec = from_json(found[SPEC].tobytes(), ModelSpec)
        parameters = {one.name: cast(Float32, found[f"{PARAMETER}{one.name}"].copy()) for one in spec.version}
        return Compiled(spec, found[TRAIN_STEP].tobytes(), found[PREDICT].tobytes(), parameters)
    except (OSError, KeyError, WireError, *UNREADABLE):
        return None


def _write(path: Path, compiled: Compiled) -> None:
    """Write atomically. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    tensors: dict[str, Array] = {
        SPEC: _bytes(msgspec.json.encode(compiled.spec)),
        TRAIN_STEP: _bytes(compiled.train_step),
        PREDICT: _bytes(compiled.predict),
        **{f"{PARAMETER}{name}": tensor for name, tensor in compiled.parameters.items()},
    }
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(encode_tensors(tensors))
    partial.replace(path)
    kept = sorted(path.parent.glob("*.safetensors"), key=lambda file: file.stat().st_mtime)
    for old in kept[:-MOST]:
        old.unlink(missing_ok=True)


def _bytes(content: bytes) -> Array:
    return np.frombuffer(content, np.uint8)
