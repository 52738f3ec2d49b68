"""What is wrong in agent.toml, for its owner: the table, the setting, what it is, and what it may be."""

import json
import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import inspect

from coterie_learning.unknown_names import check_names
from coterie_wire.errors import WireError

_PLACE = re.compile(r"(.*) - at `\$\.?([^`]*)`", re.DOTALL)
_LONGEST = 60
"""Characters of a value that are repeated."""


def describe_wrong(values: Mapping[str, object], struct: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """Why `values`, as TOML has them, are no `struct`: `error`, in the words of who wrote them."""
    return _unknown_name(values, struct, of="") or _wrong_value(values, struct, str(error))


def _unknown_name(values: Mapping[str, object], struct: type[msgspec.Struct], *, of: str) -> str | None:
    """Which setting there is not, which is nearest, and which there are; None: all are known."""
    try:
        check_names(values, struct, of=of or "at its top level")
    except WireError as error:
        return error.detail
    for field in msgspec.structs.fields(struct):
        inner = values.get(field.encode_name)
        if isinstance(inner, Mapping) and isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found = _unknown_name(inner, field.type, of=f"[{field.encode_name}]")
            if found is not None:
                return found
    return None


def _wrong_value(values: Mapping[str, object], struct: type[msgspec.Struct], error: str) -> str:
    matched = _PLACE.fullmatch(error)
    if matched is None:
        return error
    problem, place = matched.groups()
    *tables, name = re.sub(r"\[[^]]*\]", "", place).split(".")
    kind: inspect.Type = inspect.type_info(struct)
    value: object = values
    for key in (*tables, name):
        kind, value = _field(kind, key), value[key] if isinstance(value, Mapping) else None
    if isinstance(kind, inspect.StructType):
        if isinstance(value, Mapping):
            return f"[{name}]: {problem}"  # what the struct says itself of settings that do not go together
        return f"[{name}] is a table of settings, which stand below it, each in a line; here it is {_shown(value)}"
    return f"{''.join(f'[{table}] ' for table in tables)}{name} is {_shown(value)}; it must be {_allowed(kind)}"


def _field(kind: inspect.Type, name: str) -> inspect.Type:
    assert isinstance(kind, inspect.StructType)  # msgspec's place leads through tables alone
    return next(field.type for field in kind.fields if field.encode_name == name)


def _shown(value: object) -> str:
    """`value` as in TOML, near enough."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= _LONGEST else written[:_LONGEST] + "…"


def _allowed(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata(type=inner):
            return _allowed(inner)
        case inspect.UnionType(types=types):  # TOML has no null: a setting that may be None is left out
            return _either([_allowed(one) for one in types if not isinstance(one, inspect.NoneType)])
        case inspect.BoolType():
            return "true or false, without quotes"
        case inspect.IntType():
            return f"a whole number{_bounds(kind)}, without quotes"
        case inspect.FloatType():
            return f"a number{_bounds(kind)}, without quotes"
        case inspect.LiteralType(values=literals):
            return _either([json.dumps(one) for one in literals])
        case inspect.TupleType(item_types=items):
            return f"{len(items)} values in brackets with a comma between them, each {_allowed(items[0])}"
        case inspect.VarTupleType(item_type=item):
            return f"values in brackets with commas between them, each {_allowed(item)}"
        case _:
            return "text in quotes"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    lowest = f"above {kind.gt}" if kind.gt is not None else None if kind.ge is None else f"at least {kind.ge}"
    highest = f"below {kind.lt}" if kind.lt is not None else None if kind.le is None else f"at most {kind.le}"
    both = " and ".join(bound for bound in (lowest, highest) if bound is not None)
    return f", {both}" if both else ""


def _either(choices: Sequence[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
