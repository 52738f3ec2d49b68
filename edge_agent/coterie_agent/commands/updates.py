"""``coterie-agent updates``: installed releases, outcomes of updates, and the owner's agreement to releases."""

from importlib.util import find_spec

import msgspec

from coterie_agent import VERSION
from coterie_agent.commands import Arguments, Output
from coterie_agent.config import load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.updating.consent import ReleaseConsent, agree, release_consent
from coterie_agent.updating.pinning import pin_update_root
from coterie_agent.updating.support import NO_TUF, why_not
from coterie_agent.versions.state import Ended, Versions
from coterie_wire.conditions import Reason
from coterie_wire.messages import MAX_ROOT_BYTES


class Updates(msgspec.Struct, frozen=True):
    """The releases of the agent on this device."""

    version: str
    former: str | None
    """The release to which the current one can be returned; blank: the one that the owner has installed; None: none."""
    refuses: Reason | None
    """Why no other release is installed; None: one may be."""
    word: ReleaseConsent
    """What the owner has agreed to."""
    ended: tuple[Ended, ...]


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``updates.not_pinned`` or ``config.invalid``."""
    home = Home(arguments.home)
    settings = load_config(home.config).updates
    try:
        if arguments.trust.name:
            pin_update_root(home, _root(arguments.trust.read_bytes()))
        if arguments.allow:
            agree(home, arguments.allow)
    except OSError as error:
        raise AgentError("updates.not_pinned", f"{error.filename}: {error.strerror}", exit_code=Exit.USAGE) from error
    state = Versions(home.versions).read_or_new()
    found = Updates(VERSION, state.former, why_not(home, settings), release_consent(home), state.ended)
    return Output(found, _lines(found))


def _root(content: bytes) -> bytes:
    """Raises AgentError ``updates.not_pinned``."""
    if find_spec("tuf") is None:
        raise AgentError("updates.not_pinned", NO_TUF.sentence, exit_code=Exit.USAGE)
    from tuf.api.exceptions import RepositoryError
    from tuf.api.metadata import Metadata, Root

    try:
        root = Metadata[Root].from_bytes(content[: MAX_ROOT_BYTES + 1])
        root.verify_delegate("root", root)
    except RepositoryError as error:
        detail = f"the file is no root of a repository of releases: {error}"
        raise AgentError("updates.not_pinned", detail, exit_code=Exit.USAGE) from error
    return content


def _lines(found: Updates) -> list[str]:
    lines = [f"agent {found.version}"]
    if found.former is not None:
        lines.append(f"before it: {found.former or 'the one that you have installed'}")
    if found.refuses is not None:
        lines.append(f"no other is installed: {found.refuses.sentence} [{found.refuses.code}]")
    if found.word.always:
        lines.append("you have agreed to all that are signed with the keys that this device trusts")
    elif found.word.versions:
        lines.append(f"you have agreed to: {', '.join(found.word.versions)}")
    for one in found.ended:
        why = "" if one.reason is None else f": {one.reason.sentence} [{one.reason.code}]"
        lines.append(f"{one.version}: {one.outcome.replace('_', ' ')}{why}")
    return lines
