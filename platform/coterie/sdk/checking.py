"""Checks a model on this machine as a platform would."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor, nn

from coterie.child.job import Progress
from coterie.core.errors import CoterieError
from coterie.offline.check import Checked, check_programs
from coterie.offline.progress import ProgressLine
from coterie.sdk.errors import Rejected
from coterie.sdk.exporting import Example, LossFunction, recipe_with_loss, write_programs
from coterie_wire.errors import WireError
from coterie_wire.length import Length


def check(
    device: nn.Module,
    example: Example,
    *,
    cloud: nn.Module | None = None,
    recipe: Mapping[str, object] | None = None,
    length: Length | None = None,
    loss: LossFunction | None = None,
    target: Tensor | None = None,
    batch_size: int = 32,
    out: Path | None = None,
    progress: bool = True,
) -> Checked:
    """Compile and run `device` on this machine as a platform does; with `cloud`, check that both fit together.

    The arguments are those of `Platform.publish`; `out` is a directory for graphs, parameters and report. Raises
    Rejected.
    """
    models = {"device": device} if cloud is None else {"device": device, "cloud": cloud}
    with tempfile.TemporaryDirectory(prefix="coterie-export-") as directory, ProgressLine.wanted(progress) as line:
        paths = write_programs(
            Path(directory), models, example, length=length, loss=loss, target=target, show=line.show
        )

        def show(reported: Progress) -> None:
            line.show(f"{reported.stage} ({reported.done + 1} of {reported.total})")

        try:
            return check_programs(
                device=paths["device"],
                cloud=paths.get("cloud"),
                loss=paths.get("loss"),
                recipe=recipe_with_loss(recipe, loss),
                batch_size=batch_size,
                out=out,
                on_progress=show,
            )
        except CoterieError as error:
            raise Rejected(error.code, str(error), error.fields) from error
        except WireError as error:
            raise Rejected(error.code, error.detail) from error
