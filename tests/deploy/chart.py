"""Renders the chart: as much of Helm's templates as it uses, and anything else is an error.

Helm is large, and is asked apart from the suite: `test_helm` has it render the same (`make check-chart`).
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "coterie"
RELEASE, REVISION = "fleet", 3
TAG = re.compile(r"(\s*)\{\{(-?)\s*(.*?)\s*(-?)\}\}(\s*)", re.DOTALL)
# Any: values of YAML.
Values = Mapping[str, Any]


def rendered(**overrides: Any) -> list[dict[str, Any]]:
    """The objects of a release with values of the chart's own and these instead, a dot for each level of the name."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for name, value in overrides.items():
        *path, last = name.split("__")
        place = values
        for key in path:
            place = place[key]
        place[last] = value
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    data = {
        "Values": values,
        "Chart": {"AppVersion": about["appVersion"]},
        "Release": {"Name": RELEASE, "Revision": REVISION},
    }
    renderer = _Renderer()
    renderer.render((CHART / "templates" / "_helpers.tpl").read_text(), data)
    texts = (renderer.render(path.read_text(), data) for path in sorted((CHART / "templates").glob("*.yaml")))
    return [found for text in texts for found in yaml.safe_load_all(text) if found]


class _Renderer:
    """Go's templates in small: values, strings, if, range over pairs, define, include, and four functions."""

    def __init__(self) -> None:
        self._defined: dict[str, list[str]] = {}

    def render(self, text: str, data: Values) -> str:
        return self._block(iter(_tokens(text)), data, {})[0]

    def _block(self, tokens: Iterator[str], data: Values, names: Values) -> tuple[str, str]:
        """What comes until the end of the block, and the word that ended it."""
        out = []
        for token in tokens:
            if not token.startswith("{{"):
                out.append(token)
                continue
            word, _, rest = token[2:].partition(" ")
            if word in ("end", "else"):
                return "".join(out), word
            if word in ("if", "range", "define"):
                out.append(self._compound(word, rest, list(_inner(tokens)), data, names))
            elif word != "/*":
                out.append(_text(self._value(token[2:], data, names)))
        return "".join(out), ""

    def _compound(self, word: str, rest: str, inner: list[str], data: Values, names: Values) -> str:
        if word == "define":
            self._defined[shlex.split(rest)[0]] = inner
            return ""
        if word == "if":
            return self._block(iter(inner), data, names)[0] if self._value(rest, data, names) else ""
        pair, _, over = rest.partition(":=")
        key, value = (name.strip() for name in pair.split(","))
        rows = self._value(over.strip(), data, names).items()
        return "".join(self._block(iter(inner), data, {**names, key: k, value: v})[0] for k, v in sorted(rows))

    def _value(self, expression: str, data: Values, names: Values) -> Any:
        first, *functions = (part.strip() for part in expression.split("|"))
        value = self._call(first, data, names)
        for function in functions:
            name, *given = shlex.split(function)
            value = self._piped(name, [self._call(one, data, names) for one in given], value)
        return value

    def _call(self, expression: str, data: Values, names: Values) -> Any:
        if expression.startswith("include "):
            return self._block(iter(self._defined[shlex.split(expression)[1]]), data, names)[0]
        if expression.startswith("not "):
            return not self._call(expression.removeprefix("not ").strip(), data, names)
        if expression.startswith("toYaml "):
            return yaml.safe_dump(self._call(expression.removeprefix("toYaml ").strip(), data, names)).rstrip("\n")
        if expression.startswith("$"):
            return names[expression]
        if expression.isdigit():
            return int(expression)
        assert expression.startswith("."), f"the test knows no {expression!r}"
        found: Any = data
        for key in expression[1:].split("."):
            found = found[key]  # KeyError: the values do not have it
        return found

    @staticmethod
    def _piped(name: str, given: list[Any], value: Any) -> Any:
        if name == "quote":
            return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        if name == "default":
            return value or given[0]
        assert name == "nindent", f"the test knows no function {name!r}"
        return "\n" + "\n".join(" " * given[0] + line for line in str(value).splitlines())


def _tokens(text: str) -> list[str]:
    """Texts, and tags as ``{{`` and what they say; hyphens have eaten the space beside them."""
    tokens, at = [], 0
    for found in TAG.finditer(text):
        before, left, says, right, after = found.groups()
        tokens += [text[at : found.start()] + ("" if left else before), "{{" + says]
        at = found.end() if right else found.end() - len(after)
    return [*tokens, text[at:]]


def _inner(tokens: Iterator[str]) -> Iterator[str]:
    """Those until the end of the block that has begun."""
    depth = 1
    for token in tokens:
        word = token[2:].partition(" ")[0] if token.startswith("{{") else ""
        depth += (word in ("if", "range", "define")) - (word == "end")
        if not depth:
            return
        yield token
    raise AssertionError("a block without an end")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
