"""A recipe's files, written out: where an engineer goes on with models, plan and data of his own."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import msgspec
import numpy as np

from coterie.child.job import ReportProgress
from coterie.recipes.errors import DirectoryExists
from coterie.recipes.export import ExportArguments, Exported
from coterie.recipes.shipped import PLAN, PRETRAINING_PLAN
from coterie_learning.random import derive_seed
from coterie_recipes import Recipe, load
from coterie_recipes.recipe import Person, Samples

SCENARIO = """\
# {title}: one device a person. coterie simulate {plan} --scenario {here}
title = "{title}"
devices = {people}
window = 1000

[stream]
kind = "users"
file = {samples}
input = "{input}"
classes = {classes}
dtype = "{dtype}"

[learner]
kind = "pair"
file = {device}
batch_size = {batch_size}
"""


def write_pair(recipe: Recipe, directory: Path, *, seed: int) -> Mapping[str, Path]:
    """``device.pt2`` and ``cloud.pt2`` in `directory`, by role, with initial parameters drawn from `seed`."""
    import torch  # only now: it takes seconds to import

    from coterie.compile.program import export_module

    models = import_module(recipe.models)
    written = {}
    for role, module in (("device", models.DeviceModel), ("cloud", models.CloudModel)):
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(seed, role))
            written[role] = directory / f"{role}.pt2"
            torch.export.save(export_module(module(), (models.example(),)), written[role])
    return written


def export(arguments: ExportArguments, _report: ReportProgress) -> Exported:
    """`write_pair` as a job."""
    written = write_pair(load(arguments.recipe), Path(arguments.directory), seed=arguments.seed)
    return Exported(device=str(written["device"]), cloud=str(written["cloud"]))


def write_recipe(
    recipe: Recipe,
    directory: Path,
    *,
    seed: int,
    people: Mapping[str, Person],
    cloud: Sequence[Person],
    held_out: Sequence[Person],
) -> Sequence[Path]:
    """Everything that a federation of `people` begins with, in the new `directory`.

    ``devices/`` has what each device is given with ``coterie-agent ingest``; the platform gets the samples of `cloud`
    for the bootstrap and those of `held_out` to judge versions by. ``pretraining/`` has the plan, the devices' samples
    and those held out of the federation before, where the recipe pre-trains. Raises DirectoryExists.
    """
    if directory.exists():
        raise DirectoryExists(path=str(directory))
    (directory / "devices").mkdir(parents=True)
    pair = write_pair(recipe, directory, seed=seed)
    written = [*pair.values()]
    training = directory / "training.json"
    training.write_bytes(msgspec.json.format(msgspec.json.encode(recipe.training), indent=2) + b"\n")
    plan = directory / PLAN
    plan.write_bytes((recipe.directory / PLAN).read_bytes())
    written += [training, plan]
    for name, part in (("cloud", cloud), ("held-out", held_out)):
        written.append(write_samples(directory / f"{name}.npz", together([one.train for one in part])))
    for name, person in people.items():
        write_samples(directory / "devices" / f"{name}.npz", person.train)
    written.append(directory / "devices")
    if recipe.pretraining is not None:
        written.append(_write_pretraining(recipe, directory / "pretraining", people=people, held_out=held_out))
    if recipe.is_simulated:
        written += _write_scenario(recipe, directory, people, device=pair["device"])
    return written


def _write_pretraining(
    recipe: Recipe, directory: Path, *, people: Mapping[str, Person], held_out: Sequence[Person]
) -> Path:
    (directory / "devices").mkdir(parents=True)
    (directory / PLAN).write_bytes((recipe.directory / PRETRAINING_PLAN).read_bytes())
    write_samples(directory / "held-out.npz", together([one.pretrained_on for one in held_out]))
    for name, person in people.items():
        write_samples(directory / "devices" / f"{name}.npz", person.pretrained_on)
    return directory


def write_samples(path: Path, samples: Samples) -> Path:
    """An NPZ file that platform and agents read."""
    np.savez(path, x=samples.x, y=samples.y)
    return path


def together(parts: Sequence[Samples]) -> Samples:
    """All samples of `parts`, which are not none, in their order."""
    return Samples(np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts]))


def _write_scenario(recipe: Recipe, directory: Path, people: Mapping[str, Person], *, device: Path) -> Sequence[Path]:
    """A simulation of `people`, who meet their samples in the order of time, the test's at the end."""
    whole = [together([one.train, one.test]) for one in people.values()]
    samples = directory / "samples.npz"
    all_of_them = together(whole)
    users = np.repeat(np.arange(len(whole)), [len(one.y) for one in whole])
    np.savez(samples, x=all_of_them.x, y=all_of_them.y, user=users)
    scenario = directory / "scenario.toml"
    text = SCENARIO.format(
        title=recipe.title,
        plan=directory / "plan.toml",
        here=scenario,
        people=len(whole),
        samples=_quoted(samples.absolute()),
        input=recipe.input,
        classes=len(recipe.classes),
        dtype="int64" if all_of_them.x.dtype.kind == "i" else "float32",
        device=_quoted(device.absolute()),
        batch_size=recipe.batch_size,
    )
    tomllib.loads(text)  # a path that does not survive it must not be found out later
    scenario.write_text(text, encoding="utf-8")
    return samples, scenario


def _quoted(path: Path) -> str:
    return msgspec.json.encode(str(path)).decode()  # a basic string of TOML is written as one of JSON
