"""What is published carries the built console and the phone's page: nothing is packed without them."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = {part: f"platform/coterie/gateway/static/{part}/index.html" for part in ("console", "phone")}


class BuiltPages(BuildHookInterface[None]):
    """Stops a build, other than that of an editable installation, where one is missing."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:  # noqa: ARG002 - hatchling's signature
        """Raises FileNotFoundError, which says what to do."""
        for part, page in PAGES.items():
            if version != "editable" and not Path(self.root, page).is_file():
                raise FileNotFoundError(
                    f"{page} is missing: the {part} has not been built. Run `make {part}` first (Node 20 or newer)."
                )
