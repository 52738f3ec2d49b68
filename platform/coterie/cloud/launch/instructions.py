"""What the platform and the workers of a launched gang write into the directory that they share."""

from pathlib import Path

import msgspec

from coterie.child.job import Failure, Progress, Result
from coterie.cloud.bootstrap_job import BootstrapArguments

TOLD, PROGRESS, OUTCOME, PARAMETERS = "told.json", "progress.jsonl", "outcome-{number}.json", "parameters"


class GangInstructions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By the platform, before the gang starts."""

    training: BootstrapArguments
    """Its files are in the directory, its checkpoints in the one above."""
    secret: str
    """Under which the workers meet."""


Outcome = Result | Failure
"""By each worker when it ends."""
Line = Progress
"""By the first, one a line."""


def write_whole(path: Path, content: bytes) -> None:
    """So that nobody reads a part of it."""
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(content)
    draft.replace(path)
