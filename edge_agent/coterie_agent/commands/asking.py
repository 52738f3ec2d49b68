"""Asks the owner at the terminal."""

import sys

from coterie_agent.commands import Arguments


def may_ask(arguments: Arguments) -> bool:
    """Whether somebody is at a terminal, and the answer is not for a program."""
    return not arguments.json and sys.stdin.isatty()


def confirms(question: str) -> bool:
    """Whether the user at the terminal answers yes."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
