"""Adds the pairs of recipes to a platform, their device models compiled as it does it: ``python -m tests.phone.seed``.

The settings come from the environment, as the platform's own do; printed is each pair's identity, by its recipe's name.
"""

import sys
import tempfile
from importlib import import_module
from pathlib import Path

import django
import msgspec

RECIPES = ("har", "photos", "next_word", "trees")
"""Those that take what a phone has data of its own for, and one whose versions are solved."""


def seed(name: str) -> str:
    """A ready pair with a first device version, drawn by a seed; Django is set up."""
    import torch  # only now: Django comes first
    from django.utils import timezone

    from coterie.compile.compiled import compile_model
    from coterie.compile.program import export_module
    from coterie.compile.recipe import parse_recipe
    from coterie.registry.models import Blob, ModelPair, ModelVersion, Role
    from coterie.registry.services import publish_version, store_file
    from coterie_recipes import load
    from coterie_wire.tensors import encode_tensors

    now, recipe = timezone.now(), load(name)
    models = import_module(recipe.models)
    torch.manual_seed(1)
    program = export_module(models.DeviceModel(), (models.example(),))
    compiled = compile_model(program, parse_recipe(dict(recipe.training)), batch_size=recipe.batch_size)

    def keep(content: bytes) -> Blob:
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(content)
            return store_file(path=Path(file.name), now=now)

    unused, parameters = keep(b"a program that nobody opens"), keep(encode_tensors(dict(compiled.parameters)))
    pair = ModelPair.objects.create(
        name=recipe.title,
        slug=name.replace("_", "-"),
        state=ModelPair.State.READY,
        labels=list(recipe.classes),
        batch_size=recipe.batch_size,
        device_program=unused,
        cloud_program=unused,
        spec=msgspec.to_builtins(compiled.spec),
        initial_parameters=parameters,
        created_at=now,
        train_step=keep(compiled.train_step),
        predict=keep(compiled.predict),
    )
    publish_version(
        pair_id=pair.pk,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.DISTILLATION,
        parent=None,
        parameters=parameters,
        metrics={},
        now=now,
    )
    return str(pair.pk)


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(msgspec.json.encode({name: seed(name) for name in RECIPES}).decode())
