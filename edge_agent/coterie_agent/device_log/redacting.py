"""Redacts from log lines what must not leave the device: secrets, samples and their number, paths and addresses."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from coterie_wire.device_log import MAX_TEXT, LogLine

SECRET, ADDRESS, NUMBERS, FIGURE = "[secret]", "[address]", "[numbers]", "#"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_RANDOM = re.compile(rf"(?P<name>(?<![\w-]){_UUID}(?![\w-]))|[\w+-]{{24,}}={{0,2}}|[A-Za-z0-9+/]{{40,}}={{0,2}}")
"""Long random strings: credentials, tokens, keys. UUIDs, which name devices, rounds and versions, are kept."""
_WORD = re.compile(r"[a-z]+(?:[_-][a-z]+)*|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*")
"""Words written by people: identifiers of code, slugs and file names without a digit."""
_ADDRESS = re.compile(r"(?<![\w.])(?!127\.)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|\[[0-9A-Fa-f:]{2,45}\]")
"""Addresses of the owner's network; loopback addresses reveal nothing."""
_URL_SECRET = re.compile(r"(?<=://)[^/\s@]+@|(?<=[?&#])[^\s&#]+")
"""User names and passwords, and query values, in URLs."""
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_VALUES = re.compile(rf"{_NUMBER}(?:[\s,;]+{_NUMBER}){{2,}}")
"""Three or more numbers in a row: values of a sample, counts by class."""
_SAMPLES = re.compile(rf"{_NUMBER}(?=\s+samples?\b)")
_FIGURE = re.compile(rf"(?<![\w.-]){_NUMBER}(?![\w-])")


class Redactor:
    """Redacts lines; `figures`: keep measured numbers, where no plan hides them."""

    def __init__(self, *, secrets: Sequence[str], homes: Sequence[Path], figures: bool) -> None:
        self._secrets = [secret for secret in secrets if secret]
        self._homes = [str(home) for home in homes if home != home.parent]
        self._figures = figures

    def redacted(self, line: LogLine) -> LogLine:
        """The line, redacted."""
        return msgspec.structs.replace(line, text=self._redacted(line.text)[:MAX_TEXT])

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, SECRET)
        for home in self._homes:
            text = text.replace(home, "~")
        text = _ADDRESS.sub(ADDRESS, _URL_SECRET.sub(SECRET, text))
        text = _RANDOM.sub(lambda found: found[0] if found["name"] or _WORD.fullmatch(found[0]) else SECRET, text)
        text = _SAMPLES.sub(NUMBERS, _VALUES.sub(NUMBERS, text))
        return text if self._figures else _FIGURE.sub(FIGURE, text)
