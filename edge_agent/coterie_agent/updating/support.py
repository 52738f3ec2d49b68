"""Whether this device can install another release of the agent, and why not."""

import sys
from importlib.util import find_spec

from coterie_agent.config import UpdateSettings
from coterie_agent.home import Home
from coterie_agent.versions.state import Versions
from coterie_wire.conditions import Reason
from coterie_wire.updating import TakesUpdates

OFF = Reason("updates.off", "its owner wants no updates of the agent (agent.toml, [updates])")
NO_ROOT = Reason(
    "updates.no_root",
    "it joined before the platform had releases; its owner can name their keys: coterie-agent updates --trust FILE",
)
OTHERWISE = Reason(
    "updates.otherwise_installed",
    "its agent came with a package of the system or a container image; update that",
)
NO_TUF = Reason("updates.no_client", "its agent was installed without coterie-agent[updates]")


def takes_updates(home: Home, settings: UpdateSettings) -> TakesUpdates:
    """The capability as reported to the platform."""
    return TakesUpdates(refuses=why_not(home, settings))


def why_not(home: Home, settings: UpdateSettings) -> Reason | None:
    """Why no other release is installed on this device; None: one may be."""
    if settings.take == "off":
        return OFF
    is_beside = bool(Versions(home.versions).own())  # this agent was itself installed as an update
    if not is_beside and (sys.prefix == sys.base_prefix or find_spec("pip") is None):
        return OTHERWISE
    if find_spec("tuf") is None:
        return NO_TUF
    return None if home.update_root.exists() else NO_ROOT
