"""Takes out of lines what must not leave the device: secrets, samples and their number, paths and addresses."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from coterie_wire.device_log import MAX_TEXT, LogLine

SECRET, ADDRESS, NUMBERS, FIGURE = "[secret]", "[address]", "[numbers]", "#"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_RANDOM = re.compile(rf"(?P<name>(?<![\w-]){_UUID}(?![\w-]))|[\w+-]{{24,}}={{0,2}}|[A-Za-z0-9+/]{{40,}}={{0,2}}")
"""Long runs that no word is made of: credentials, tokens, keys. Devices, rounds and versions are named by UUIDs."""
_WORD = re.compile(r"[a-z]+(?:[_-][a-z]+)*|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*")
"""What people have written: identifiers of code, slugs and file names without a digit."""
_ADDRESS = re.compile(r"(?<![\w.])(?!127\.)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|\[[0-9A-Fa-f:]{2,45}\]")
"""Of the owner's network; this device's own loopback says nothing."""
_URL_SECRET = re.compile(r"(?<=://)[^/\s@]+@|(?<=[?&#])[^\s&#]+")
"""Who signs in by a URL, and what is asked for in one."""
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_VALUES = re.compile(rf"{_NUMBER}(?:[\s,;]+{_NUMBER}){{2,}}")
"""Three numbers or more in a row: values of a sample, counts by class."""
_SAMPLES = re.compile(rf"{_NUMBER}(?=\s+samples?\b)")
_FIGURE = re.compile(rf"(?<![\w.-]){_NUMBER}(?![\w-])")


class Redactor:
    """Takes out what must not leave; `figures`: leave in numbers of what the device measures, that no plan hides."""

    def __init__(self, *, secrets: Sequence[str], homes: Sequence[Path], figures: bool) -> None:
        self._secrets = [secret for secret in secrets if secret]
        self._homes = [str(home) for home in homes if home != home.parent]
        self._figures = figures

    def redacted(self, line: LogLine) -> LogLine:
        """The line as it may leave."""
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
