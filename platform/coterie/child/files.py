"""Which files a job needs: those that its arguments name by their types, and the code that this process has loaded."""

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, NamedTuple, get_args, get_origin

import msgspec


class FileAccess(Enum):
    """The access of a job to a file that an argument names."""

    READ = "read"
    WRITE = "write"


ReadPath = Annotated[str, FileAccess.READ]
"""The absolute path of a file, or of a directory with all that is in it."""
WritePath = Annotated[str, FileAccess.WRITE]
"""The absolute path of a directory to read and write in, or of a file to write: its directory is writable."""


class Files(NamedTuple):
    """Absolute paths; a directory includes everything in it."""

    read: tuple[str, ...]
    written: tuple[str, ...]
    listed: tuple[str, ...]
    """Directories of which only the names of entries are read."""


def read_by(arguments: msgspec.Struct) -> tuple[str, ...]:
    """The files that the arguments of a job name for reading."""
    return tuple(sorted(_named_by(arguments)[FileAccess.READ]))


def files_of(arguments: msgspec.Struct) -> Files:
    """The files of a child besides the system's and Python's: those of its job, and our own code."""
    found = _named_by(arguments)
    written = {path if Path(path).is_dir() else str(Path(path).parent) for path in found[FileAccess.WRITE]}
    roots = [entry for entry in map(Path, filter(None, sys.path)) if entry.is_dir()]
    installed = [root for root in roots if root.name in ("site-packages", "dist-packages")]
    sources = [root.absolute() for root in roots if root not in installed]
    code = [str(root.absolute()) for root in installed] + list(_loaded_from(sources))
    return Files(tuple(sorted(found[FileAccess.READ] | set(code))), tuple(sorted(written)), tuple(map(str, sources)))


def _loaded_from(roots: Iterable[Path]) -> set[str]:
    """The packages that this process has loaded from directories that may contain other things too, such as a state."""
    parents = set(map(str, roots))
    found = set[str]()
    for name, module in list(sys.modules.items()):
        if "." not in name:
            places = [*(getattr(module, "__path__", None) or ()), getattr(module, "__file__", None)]
            found |= {place for place in places if place is not None and str(Path(place).parent) in parents}
    return found


def _named_by(arguments: msgspec.Struct) -> Mapping[FileAccess, set[str]]:
    found: dict[FileAccess, set[str]] = {use: set() for use in FileAccess}
    _gather(arguments, type(arguments), found)
    return found


def _gather(value: object, hint: object, found: Mapping[FileAccess, set[str]]) -> None:
    if get_origin(hint) is Annotated:
        declared, *notes = get_args(hint)
        for note in notes:
            if isinstance(note, FileAccess) and isinstance(value, str):
                found[note].add(value)
        hint = declared
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            _gather(getattr(value, field.name), field.type, found)
    elif isinstance(value, tuple | list):
        for inner in get_args(hint):
            for item in value:
                _gather(item, inner, found)
    elif value is not None:  # one of a union
        for inner in get_args(hint):
            _gather(value, inner, found)
