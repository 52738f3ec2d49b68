"""The files that the platform and the workers of a launched gang write into their shared directory."""

from pathlib import Path

import msgspec

from coterie.child.job import Failure, Progress, Result
from coterie.cloud.bootstrap_job import BootstrapArguments

INSTRUCTIONS, PROGRESS, OUTCOME, PARAMETERS = "told.json", "progress.jsonl", "outcome-{number}.json", "parameters"


class GangInstructions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Written by the platform before the gang starts."""

    training: BootstrapArguments
    """Its files are in the directory, its checkpoints in the one above."""
    secret: str
    """Authenticates the workers to each other."""


Outcome = Result | Failure
"""Written by each worker when it ends."""
Line = Progress
"""Written by the first worker, one a line."""


def write_whole(path: Path, content: bytes) -> None:
    """Write atomically: nobody reads a part of it."""
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(content)
    draft.replace(path)
