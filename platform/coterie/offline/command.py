"""``coterie compile``: what a platform would say of a model, without a platform."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec
from rich.console import Console

from coterie.child.job import Progress
from coterie.core.errors import CoterieError, Field
from coterie.offline.check import MOST_SAMPLES, REPORT, Checked, check_programs
from coterie.offline.description import describe
from coterie.offline.progress import ProgressLine
from coterie.offline.recipes import CHOICES, read_recipe, with_options
from coterie_wire.errors import WireError

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, as shells give it."""


class Refusal(msgspec.Struct, frozen=True):
    """What ``--json`` prints of a model that is refused."""

    code: str
    detail: str
    fields: dict[str, Field] = {}


def main(argv: Sequence[str], *, prog: str) -> NoReturn:
    """Check what `argv` names. Exits with 0, with 1 if the model is refused, with 2 if the arguments are wrong."""
    parser = _parser(prog)
    given = parser.parse_args(argv)
    _check_paths(parser, given)
    try:
        with ProgressLine.wanted(sys.stderr.isatty()) as line:
            checked = _check(given, line)
    except CoterieError as error:
        _refuse(prog, Refusal(error.code, str(error), dict(error.fields)), as_json=given.json)
    except WireError as error:
        _refuse(prog, Refusal(error.code, error.detail), as_json=given.json)
    except KeyboardInterrupt:
        sys.stderr.write(f"{prog}: ended before it was done; nothing is written\n")
        sys.exit(INTERRUPTED)
    if given.json:
        sys.stdout.write(msgspec.json.encode(checked.result).decode() + "\n")
    else:
        console = Console()
        console.print(describe(checked.result.model, checked.result.report))
        if given.out is not None:
            console.print(f"\nGraphs, parameters and {REPORT} are in {given.out}.", highlight=False)
    sys.exit(0)


def _check(given: argparse.Namespace, line: ProgressLine) -> Checked:
    recipe = {} if given.recipe is None else read_recipe(given.recipe)
    kinds = {choice.slot: kind for choice in CHOICES if (kind := getattr(given, choice.slot)) is not None}

    def show(progress: Progress) -> None:
        line.show(f"{progress.stage} ({progress.done + 1} of {progress.total})")

    return check_programs(
        device=given.model,
        cloud=given.cloud,
        loss=given.loss_program,
        recipe=with_options(recipe, kinds, given.set),
        batch_size=given.batch_size,
        out=given.out,
        on_progress=show,
    )


def _refuse(prog: str, refusal: Refusal, *, as_json: bool) -> NoReturn:
    if as_json:
        sys.stdout.write(msgspec.json.encode(refusal).decode() + "\n")
    sys.stderr.write(f"{prog}: {refusal.detail} [{refusal.code}]\n")
    sys.exit(1)


def _check_paths(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    for path in (given.model, given.cloud, given.loss_program, given.recipe):
        if path is not None and not path.is_file():
            parser.error(f"there is no file {path}")
    if given.out is not None and not given.out.is_dir():
        if given.out.exists():
            parser.error(f"{given.out} is no directory")
        if not given.out.absolute().parent.is_dir():
            parser.error(f"there is no directory {given.out.absolute().parent} to make {given.out.name} in")
    if not 1 <= given.batch_size <= MOST_SAMPLES:
        parser.error(f"--batch-size goes from 1 to {MOST_SAMPLES}")


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Compile a device model as a platform does, train it for some steps in a confined process, and "
        "tell what it takes here and what it would take of devices. Needs neither a platform nor a network.",
        epilog="A refusal names its code, the operator, the module and what to write instead; the exit status is 1.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.pt2", help="the device model, written by torch.export.save")
    parser.add_argument("--cloud", type=Path, metavar="CLOUD.pt2", help="the cloud model, which must fit to it")
    parser.add_argument("--loss-program", type=Path, metavar="LOSS.pt2", help="a loss of your own, of kind custom")
    parser.add_argument("--recipe", type=Path, metavar="FILE", help="a recipe, TOML or JSON; what follows overrides it")
    for choice in CHOICES:
        kinds = sorted(choice.kinds)
        parser.add_argument(f"--{choice.slot}", choices=kinds, metavar="KIND", help=f"one of {', '.join(kinds)}")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a setting of the recipe, e.g. trains.rank=4 or clipping=true; may be given several times",
    )
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="samples a step (default: %(default)s)")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"write graphs, parameters and {REPORT} there")
    parser.add_argument("--json", action="store_true", help="answer in JSON, for programs")
    return parser
