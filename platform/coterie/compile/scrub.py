"""Refuses or removes everything in a serialised program that could make PyTorch run code, before PyTorch reads it.

PyTorch evaluates size expressions as Python, resolves operators as attributes of its modules, imports names in trees of
arguments, and runs guards. None of that may come from an upload.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.compile.advice import DEFAULT, advise
from coterie.compile.errors import DataDependent, MalformedUpload, UnsafeUpload, UnsupportedOperator, UploadTooLarge
from coterie.compile.source_locations import SourceLocation, line_of
from coterie.compile.vocabulary import is_allowed
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json, from_values

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,199}")
SYMBOL = re.compile(r"[su]\d{1,6}")
NUMBER = re.compile(r"zuf\d{1,6}")
"""A number that ``.item()`` gave."""
_SIZE = r"Symbol\('[su]\d{1,6}'(?:, (?:positive|nonnegative|integer)=True)*\)"
UNKNOWN_SIZE = re.compile(r"\bSymbol\('u\d{1,9}'")
"""A size that depends on data."""
SIZE_EXPRESSION = re.compile(
    rf"(?:{_SIZE}|Pow\({_SIZE}, Integer\([2-4]\)\)"  # attention uses the square of a length
    r"|Integer\(-?\d{1,12}\)|(?:Add|Mul|FloorDiv|CleanDiv|Mod|PythonMod|Max|Min)\(|, |\)|-?\d{1,12}){1,40}"
)
TREE_TYPES = {None, "builtins.tuple", "builtins.list", "builtins.dict"}
FORBIDDEN_KEYS = {"as_custom_obj", "as_operator", "as_graph", "as_opaque", "custom_obj", "token", "input_token"}
NAMED_BY_KEY = {"tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values"}
MAX_DEPTH = 40
MAX_METADATA_CHARACTERS = 8000
MAX_NODES = 20_000
"""Calls of operators: forty times what any model of the zoo has."""
MAX_ELEMENTS = 1 << 28
"""Of one value in the graph: a gigabyte of float32 for a batch of one."""


def scrub_program(raw: bytes) -> bytes:
    """``models/model.json`` without unneeded metadata.

    Raises MalformedUpload, UnsafeUpload, UploadTooLarge, or UnsupportedOperator for an operator outside the vocabulary.
    """
    try:
        program = from_json(raw)
    except UNREADABLE as error:
        raise MalformedUpload(detail=f"model.json: {error}") from error
    if not isinstance(program, dict):
        raise MalformedUpload(detail="model.json is no object")
    ranges = program.get("range_constraints") or {}
    if not isinstance(ranges, dict):
        raise MalformedUpload(detail="the ranges of sizes are no object")
    for symbol in ranges:
        if not SYMBOL.fullmatch(symbol) and not NUMBER.fullmatch(symbol):
            raise UnsafeUpload(detail=f"a size called {symbol[:60]!r}")
    program["guards_code"] = []
    _check_count(program)
    _scrub(program, 0)
    return msgspec.json.encode(program)


def _check_count(program: dict[str, Json]) -> None:
    module = program.get("graph_module")
    graph = module.get("graph") if isinstance(module, dict) else None
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    if isinstance(nodes, list) and len(nodes) > MAX_NODES:
        raise UploadTooLarge(found=f"{len(nodes)} calls of operators", limit=f"{MAX_NODES} calls")


def _scrub(value: Json, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise MalformedUpload(detail=f"model.json is nested deeper than {MAX_DEPTH}")
    if isinstance(value, list):
        for item in value:
            _scrub(item, depth + 1)
    if not isinstance(value, dict):
        return
    if "target" in value and "inputs" in value:
        _scrub_node(value)
    # Operators first: a number that depends on data is told by the line of what gives it.
    for key, item in sorted(value.items(), key=lambda field: field[0] != "nodes"):
        _check_field(key, item)
        _scrub(item, depth + 1)


def _check_field(key: str, item: Json) -> None:
    match key:
        case _ if key in FORBIDDEN_KEYS and item is not None:
            raise UnsafeUpload(detail=f"an argument of kind {key}")
        case "sizes" if isinstance(item, list):
            _check_sizes(item)
        case "custom_obj_values" if item:
            raise UnsafeUpload(detail="objects of custom classes")
        case "expr_str":
            if isinstance(item, str) and UNKNOWN_SIZE.search(item):
                raise DataDependent(**SourceLocation("", "").fields())
            if not isinstance(item, str) or not SIZE_EXPRESSION.fullmatch(item):
                raise UnsafeUpload(detail=f"the size expression {str(item)[:60]!r}")
        case "name" | "as_name":
            if item is not None and item != "":
                _check_name(item)
        case "forward_arg_names":
            for name in item if isinstance(item, list) else []:
                _check_name(name)
        case "in_spec" | "out_spec":
            _check_tree(item)
        case _ if key in NAMED_BY_KEY and isinstance(item, dict):
            for name in item:
                _check_name(name)


def _scrub_node(node: dict[str, Json]) -> None:
    metadata = node.get("metadata")
    modules, trace = (_text(metadata, key) for key in ("nn_module_stack", "stack_trace"))
    node["metadata"] = {key: text for key, text in (("nn_module_stack", modules), ("stack_trace", trace)) if text}
    target = node["target"]
    if not isinstance(target, str) or not is_allowed(target):
        stack = modules.rpartition(";")[2].split(",")
        place = SourceLocation(
            stack[1][:200] if len(stack) > 1 else "", line_of(trace or _trace_within(node["inputs"]))
        )
        raise UnsupportedOperator(
            operator=str(target)[:100].removeprefix("torch.ops."),
            reason=advise(str(target)) or DEFAULT,
            **place.fields(),
        )


def _trace_within(inputs: Json) -> str:
    """The first trace within a block, which has none of its own."""
    waiting = [inputs]
    for _ in range(MAX_NODES):
        if not waiting:
            break
        value = waiting.pop()
        if isinstance(value, dict):
            if trace := _text(value.get("metadata"), "stack_trace"):
                return trace
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
    return ""


def _text(metadata: Json, key: str) -> str:
    """The part of a node's metadata used in errors: bounded in length, and never evaluated."""
    found = metadata.get(key) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) and len(found) <= MAX_METADATA_CHARACTERS else ""


def _check_sizes(sizes: list[Json]) -> None:
    """The sizes of any value; a size that is an expression stands for the batch."""
    whole = [size["as_int"] for size in sizes if isinstance(size, dict) and "as_int" in size]
    numbers = [number for number in whole if isinstance(number, int)]
    if any(number < 0 for number in numbers):
        raise MalformedUpload(detail=f"a value of shape {numbers}")
    if math.prod(numbers) > MAX_ELEMENTS:
        raise UploadTooLarge(found=f"a value of shape {numbers}", limit=f"{MAX_ELEMENTS} elements")


def _check_name(item: Json) -> None:
    if not isinstance(item, str) or not NAME.fullmatch(item):
        raise UnsafeUpload(detail=f"a value called {str(item)[:60]!r}")


def _check_tree(item: Json) -> None:
    """Trees of arguments are JSON inside the JSON."""
    if not isinstance(item, str):
        raise MalformedUpload(detail="a tree of arguments is missing")
    try:
        _, tree = from_json(item, tuple[int, Tree])
    except UNREADABLE as error:
        raise UnsafeUpload(detail=f"a tree of arguments that is not plain: {error}") from error
    _check_branch(tree)


class Tree(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """PyTorch's description of nested arguments."""

    type: str | None
    context: str | None
    children_spec: tuple["Tree", ...]


def _check_branch(tree: Tree) -> None:
    if tree.type not in TREE_TYPES:
        raise UnsafeUpload(detail=f"arguments of type {tree.type!r}")
    try:
        names = from_json(tree.context or "null", tuple[str, ...] | None)
    except UNREADABLE as error:
        raise UnsafeUpload(detail=f"a tree of arguments with context {str(tree.context)[:60]!r}") from error
    for name in names or ():
        _check_name(name)
    for child in tree.children_spec:
        _check_branch(child)


class FixedSize(msgspec.Struct, frozen=True):
    """A size that is a number and not an expression."""

    as_int: Annotated[int, Meta(ge=0, le=1 << 40)]


class TensorMeta(msgspec.Struct, frozen=True):
    """How a stored tensor is laid out, in elements."""

    dtype: int
    sizes: tuple[FixedSize, ...]
    strides: tuple[FixedSize, ...]
    storage_offset: FixedSize


class TensorFile(msgspec.Struct, frozen=True):
    """The fields of an entry in a list of stored tensors that scrubbing needs."""

    path_name: str
    is_param: bool
    use_pickle: bool
    tensor_meta: TensorMeta


class TensorFiles(msgspec.Struct, frozen=True):
    """``model_weights_config.json`` and ``model_constants_config.json``."""

    config: Mapping[str, TensorFile]


_Entry = dict[str, object]
FLOAT32 = 7
"""Its number in serialised programs."""
META_DEVICE = {"type": "meta", "index": None}
"""PyTorch's device on which a tensor has a shape and no numbers."""


def check_tensor_files(raw: bytes, stored: Mapping[str, int]) -> None:
    """Check that every tensor is plain bytes in a file of the archive, and no larger than it. `stored` gives the files'
    sizes in bytes.

    Strides of 0 would make gigabytes of one number. Raises MalformedUpload or UnsafeUpload.
    """
    try:
        files = from_json(raw, TensorFiles)
    except UNREADABLE as error:
        raise MalformedUpload(detail=f"a list of tensors: {error}") from error
    for name, file in files.config.items():
        if file.use_pickle:
            raise UnsafeUpload(detail=f"tensor {name} is pickled")
        if file.path_name not in stored:
            raise MalformedUpload(detail=f"tensor {name} is in {file.path_name[:60]!r}, which is missing")
        elements = math.prod(size.as_int for size in file.tensor_meta.sizes)
        if elements > stored[file.path_name]:
            raise MalformedUpload(
                detail=f"tensor {name} of {elements} elements is in a file of {stored[file.path_name]} bytes; "
                "what was expanded has to be made contiguous"
            )


def files_of_one(raw: bytes, stored: Mapping[str, int]) -> Mapping[str, str]:
    """The parameters of a checked list that have a file of their own, row after row, with the file.

    They are float32 and have rows. `stored` gives the files' sizes in bytes.
    """
    config = from_json(raw, TensorFiles).config
    uses = Counter(file.path_name for file in config.values())
    return {
        name: file.path_name
        for name, file in config.items()
        if file.is_param and uses[file.path_name] == 1 and _is_whole(file.tensor_meta, stored[file.path_name])
    }


def _is_whole(meta: TensorMeta, size_bytes: int) -> bool:
    sizes = [size.as_int for size in meta.sizes]
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    in_order = [stride.as_int for stride in meta.strides] == strides and meta.storage_offset.as_int == 0
    return bool(sizes) and meta.dtype == FLOAT32 and in_order and 0 < 4 * math.prod(sizes) == size_bytes


def without_numbers(raw: bytes, names: Collection[str]) -> bytes:
    """A checked list in which parameters of these `names` are on PyTorch's device ``meta``."""
    listing = from_json(raw, dict[str, dict[str, _Entry]])
    for name in names:
        entry = listing["config"][name]
        entry["tensor_meta"] = {**from_values(entry["tensor_meta"], _Entry), "device": META_DEVICE}
    return msgspec.json.encode(listing)
