"""What is published carries the built console: nothing is packed without it."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "platform/coterie/gateway/static/console/index.html"


class BuiltConsole(BuildHookInterface[None]):
    """Stops a build, other than that of an editable installation, where the console is missing."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:  # noqa: ARG002 - hatchling's signature
        """Raises FileNotFoundError, which says what to do."""
        if version != "editable" and not Path(self.root, PAGE).is_file():
            raise FileNotFoundError(
                f"{PAGE} is missing: the console has not been built. Run `make console` first (Node 20 or newer)."
            )
