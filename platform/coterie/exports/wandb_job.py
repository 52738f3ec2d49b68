"""Job `wandb`: rounds as steps of runs of Weights & Biases, by its own library, in a child that ends with its service.

The library takes 62 MB on the disk, starts a service in Go, and reads settings from the environment and from files of
the user; in a child it finds those alone that stand here, and none of the platform's secrets. There is no other way
in that its documentation describes.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from coterie.child.files import WritePath
from coterie.child.job import ChildJob, Limits, ReportProgress
from coterie.exports.errors import NotTaken
from coterie.exports.interface import RoundFact

if TYPE_CHECKING:
    import wandb

HOST = "coterie"
"""Instead of the machine's name."""
INIT_S = 30.0
"""For a server to answer."""


class WandbProject(msgspec.Struct, frozen=True):
    """Where rounds go."""

    folder: WritePath
    """In which runs are written; those that are written offline stay there until somebody sends them."""
    mode: Literal["online", "offline"]
    project: str
    entity: str
    """Team or user that the project belongs to; blank: the key's own."""
    url: str
    """Of the server."""
    key: str
    """Blank: nothing is sent."""


class Rounds(msgspec.Struct, frozen=True):
    """Those of one call of the exporter."""

    rounds: tuple[RoundFact, ...]
    place: WandbProject


class RoundsStored(msgspec.Struct, frozen=True):
    """Every round of the call was stored."""

    steps: int
    """That their runs did not have."""


JOB = ChildJob(
    module=__name__, work=f"{__name__}:keep_rounds", arguments=Rounds, result=RoundsStored, errors=(NotTaken,)
)
LIMITS = Limits(wall_s=50, cpu_s=100)
"""An exporter ends within a minute."""


def keep_rounds(given: Rounds, report: ReportProgress) -> RoundsStored:  # noqa: ARG001 - as each job's work
    """Log them in a run for each federation, which has the federation's ID. Raises NotTaken."""
    os.environ["WANDB_ERROR_REPORTING"] = "false"  # noqa: TID251 - it else tells its maker of its failures
    from wandb import errors

    federations = dict.fromkeys(fact.federation for fact in given.rounds)
    try:
        Path(given.place.folder).mkdir(parents=True, exist_ok=True)
        steps = [_log([fact for fact in given.rounds if fact.federation == one], given.place) for one in federations]
    except (errors.Error, OSError) as error:
        raise NotTaken(exporter="wandb", why=f"{type(error).__name__}: {error}") from error
    return RoundsStored(sum(steps))


def _log(rounds: Sequence[RoundFact], place: WandbProject) -> int:
    """A run's steps only grow: a round that it has a step for, or is past, changes nothing."""
    import wandb

    first = rounds[0]
    with wandb.init(
        id=first.federation,
        name=first.slug,
        project=place.project,
        entity=place.entity or None,
        dir=place.folder,
        config={"federation": first.federation},
        resume="allow",
        settings=_settings(place),
    ) as run:
        new = [fact for fact in rounds if fact.number >= run.step]
        for fact in new:
            run.log({**fact.figures, "published": int(fact.state == "published")}, step=fact.number)
            if fact.version is not None:
                run.summary.update({"version": msgspec.structs.asdict(fact.version)})
    return len(new)


def _settings(place: WandbProject) -> "wandb.Settings":
    """What is sent are rounds, and nothing of the machine, its programs or what they print."""
    import wandb

    return wandb.Settings(
        mode=place.mode,
        base_url=place.url,
        api_key=place.key or None,
        init_timeout=INIT_S,
        host=HOST,
        silent=True,
        console="off",
        disable_git=True,
        disable_code=True,
        save_code=False,
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )
