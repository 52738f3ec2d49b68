"""``coterie recipe``: tasks ready to run, on this machine, with made-up people or data of one's own."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.console import Console

from coterie.cli.failures import failures_shown
from coterie.core.json_out import HELP as JSON_HELP
from coterie.core.json_out import is_alone, write_json

if TYPE_CHECKING:
    from coterie_recipes import Recipe
    from coterie_recipes.recipe import Person


@click.command(short_help="Run a task that is ready: people, models, a plan, figures.")
@click.argument("name", required=False)
@click.option(
    "--data", type=click.Path(exists=True, path_type=Path), help="your data, in the format of its how-to page"
)
@click.option("--people", type=click.IntRange(2, 1000), help="made-up people who take part (default: the recipe's)")
@click.option("--rounds", type=click.IntRange(1, 1000), help="rounds (default: the recipe's)")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="decides all that is drawn")
@click.option("--json", "out", type=click.Path(dir_okay=False, path_type=Path), metavar="OUT", help=JSON_HELP)
@click.option("--write", type=click.Path(path_type=Path), metavar="DIR", help="write its files to DIR, and run nothing")
@failures_shown
def recipe(
    name: str | None,
    data: Path | None,
    people: int | None,
    rounds: int | None,
    seed: int,
    out: Path | None,
    write: Path | None,
) -> None:
    """Run the recipe NAME on this machine; without NAME, list what there is.

    A federation learns from people whose data differ, and is compared with each device alone and with all data in one
    place, on everybody's newest samples. `coterie demo --recipe NAME` runs it with a platform and real agents;
    docs/how-to/recipes has a page on each.
    """
    from coterie.offline.progress import ProgressLine
    from coterie.recipes.shipped import checked_recipe, expected_of, plan_of
    from coterie.recipes.table import list_table, score_table, scores_document, verdict
    from coterie.recipes.trial import RecipeTrial, untrained, worth_of_pretraining
    from coterie_recipes import NAMES, load

    console = Console(quiet=is_alone(out))
    if name is None:
        console.print(list_table([(one, expected_of(one)) for one in map(load, NAMES)]))
        return
    chosen = checked_recipe(name)
    expected = expected_of(chosen)
    if data is not None and people is not None:
        raise click.UsageError("--people is for made-up people; --data has people of its own")
    taking_part, new = _people(chosen, data, people, seed)
    if write is not None:
        _write(chosen, write, taking_part, new, made_up=data is None, seed=seed)
        return
    plan = plan_of(chosen, devices=len(taking_part))
    first = untrained(chosen, plan, seed=seed)
    trial = RecipeTrial(chosen, seed=seed, people=list(taking_part.values()), new=new, plan=plan, first=first)
    with ProgressLine.wanted(sys.stderr.isatty()) as line:
        found = trial.run(rounds=rounds or expected.rounds, report=line.show)
        as_shipped = data is None and people is None and rounds is None
        worth = (
            worth_of_pretraining(chosen, seed=seed, rounds=expected.rounds, report=line.show) if as_shipped else None
        )
    console.print(score_table(chosen, found.scores, expected if as_shipped else None))
    console.print(f"An update: {found.update_bytes:,} bytes. Models of their own answer on {found.personal_share:.0%}.")
    if found.original is not None and chosen.original is not None:
        before, after = found.original.before, found.original.after
        task = chosen.original.title
        console.print(f"The backbone's own task ({task}): {before:.3f} before, {after:.3f} with the version.")
    if worth is not None:
        console.print(
            f"Pre-training: {found.scores.federation:.3f} with it, {worth.without:.3f} without; "
            f"where every label is known, {worth.labelled:.3f} with it and {worth.labelled_without:.3f} without."
        )
    if as_shipped:
        console.print(verdict(found.scores, expected), soft_wrap=True)
        console.print(expected.says, soft_wrap=True)
    if out is not None:
        document = {
            "recipe": chosen.name,
            "seed": seed,
            "metric": chosen.metric,
            "scores": scores_document(found.scores),
            "by_round": found.by_round,
            "update_bytes": found.update_bytes,
            "personal_share": found.personal_share,
            "original": None if found.original is None else msgspec.structs.asdict(found.original),
            "pretraining": None if worth is None else msgspec.structs.asdict(worth),
        }
        write_json(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n", out)


def _people(
    chosen: "Recipe", data: Path | None, people: int | None, seed: int
) -> tuple[dict[str, "Person"], list["Person"]]:
    """Who takes part, by name, and who does not."""
    from coterie.recipes.trial import NEW, NEW_PEOPLE
    from coterie.recipes.users import read_people

    if data is None:
        drawn = {f"person-{one + 1}": chosen.draw(seed, one) for one in range(people or chosen.people)}
        return drawn, [chosen.draw(seed, NEW + one) for one in range(NEW_PEOPLE)]
    found = read_people(chosen, data)
    click.echo(
        f"{len(found.taking_part)} people take part, {len(found.new)} do not; {found.left_out} have too few samples."
    )
    return dict(found.taking_part), list(found.new)


def _write(
    chosen: "Recipe", directory: Path, people: dict[str, "Person"], new: list["Person"], *, made_up: bool, seed: int
) -> None:
    from coterie.recipes.trial import CLOUD
    from coterie.recipes.writing import write_recipe

    cloud = [chosen.draw(seed, CLOUD + one) for one in range(chosen.cloud_people)] if made_up else new
    for path in write_recipe(chosen, directory, seed=seed, people=people, cloud=cloud, held_out=new):
        click.echo(path)
    if chosen.is_simulated:
        click.echo(f"coterie simulate {directory / 'plan.toml'} --scenario {directory / 'scenario.toml'}")
    click.echo(f"coterie-agent ingest {directory / 'devices' / next(iter(people))}.npz")
