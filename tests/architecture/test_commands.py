"""The commands that the documents tell people to type are there: by name, subcommand and options."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from coterie.cli.command import coterie
from tests.architecture.test_links import DOCUMENTS
from tests.system.processes import ROOT

END = {"|", ">", ">>", "<", "&&", "||", ";", "&"}
"""What the shell reads for itself."""


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each command of the platform in blocks and spans of code."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    for line in (*lines, *spans):
        found = re.search(r"(?:^|[;&|(] ?|\$ )(?:\.venv/bin/)?coterie ((?![A-Z]).*)$", line)
        if found is None:
            continue
        written = found[1]
        if written.count("'") % 2:  # the end of a command in quotes: sh -c '…'
            written = written.rpartition("'")[0]
        words = shlex.split(written, comments=True)
        ends_at = next((place for place, word in enumerate(words) if word in END or word[0] == "("), len(words))
        yield words[:ends_at]


def complaint(words: list[str]) -> str | None:
    """Why the command would be refused; None: it would not, or not before it is given what stands in place of names."""
    command: click.Command = coterie
    context = click.Context(command, info_name="coterie")
    while isinstance(command, click.Group) and words and words[0][0] not in "-[…":
        found = command.get_command(context, words[0])
        if found is None:
            return f"no command {words[0]!r}"
        command, words = found, words[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    if command.context_settings.get("ignore_unknown_options"):
        return None  # a command of Django's reads what follows
    known = {name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    unknown = sorted(given - known)
    return f"no option {', '.join(unknown)}" if unknown else None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_are_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    refused = {shlex.join(words): why for words in commands_of(text) if (why := complaint(words)) is not None}
    assert refused == {}


def test_a_command_an_option_and_a_subcommand_that_are_not_there_are_seen() -> None:
    prose = "Say `coterie rounds`, `coterie blobs --damaged true` or `coterie devices lose`.\n"
    block = "```\ncoterie doctor --state DIR   # it\nx | coterie dance\n```\n"
    assert [complaint(words) for words in commands_of(prose + block)] == [
        None,
        "no command 'dance'",
        None,
        "no option --damaged",
        "no command 'lose'",
    ]
