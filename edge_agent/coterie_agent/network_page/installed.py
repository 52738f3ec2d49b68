"""Checks that the packages for the page on the network are installed."""

import importlib.util

from coterie_agent.errors import AgentError, Exit

_NEEDED = ("cryptography", "segno")


def check_installed() -> None:
    """Raises AgentError ``page.not_installed``."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        detail = f"the page on the network needs {' and '.join(missing)}: pip install 'coterie-agent[page]'"
        raise AgentError("page.not_installed", detail, exit_code=Exit.BAD_CONFIG)
