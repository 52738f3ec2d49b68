"""Has the owner confirm that the device leaves the platform, after he has read what goes and what stays."""

import sys
from pathlib import Path

from coterie_agent.commands import Arguments
from coterie_agent.commands.asking import confirms, may_ask
from coterie_agent.errors import AgentError, Exit
from coterie_agent.link.failure import Unreachable
from coterie_agent.plural import plural


def confirm_parting(arguments: Arguments, at_platform: str, *, samples: int, root: Path) -> None:
    """Have the owner agree that the device leaves; ``--yes`` agrees without being asked, ``--force`` does not.

    `at_platform` says what becomes of the device there, `samples` is how many stay below `root`.
    Raises AgentError ``owner.nobody_to_ask`` or ``owner.declined``.
    """
    if arguments.yes:
        return
    for line in (
        at_platform,
        "Removed here: the credential, the models, what was learned and not sent yet, and your agreements.",
        f"Stays here: {plural(samples, 'sample')}, agent.toml, and the record of what was sent ({root}).",
        "It cannot be undone: to join again takes another token, and makes another device of it.",
    ):
        sys.stderr.write(line + "\n")
    command = f"coterie-agent {arguments.command}"
    if not may_ask(arguments):
        detail = f"nobody is at a terminal to agree to it, so nothing was done; in a script: {command} --yes"
        raise AgentError("owner.nobody_to_ask", detail, exit_code=Exit.USAGE)
    if not confirms("Go on?"):
        raise AgentError("owner.declined", "not agreed to: nothing was done", exit_code=Exit.USAGE)


def unanswered(error: Unreachable) -> Unreachable:
    """`error`, met while leaving, with what its owner can do."""
    return Unreachable(f"{error.detail}. Nothing was removed: try again, or with --force, which waits for no answer")
