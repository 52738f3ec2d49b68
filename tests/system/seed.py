"""Prepare a platform without PyTorch, and print who may use it: ``python -m tests.system.seed DIRECTORY PAIRS SIDE``.

The settings come from the environment, as the platform's own do. DIRECTORY is for files that are needed on the way; the
models are for images of SIDE by SIDE pixels.
"""

import sys
from pathlib import Path

import django
import msgspec
import numpy as np

HELD_OUT_BYTES = 17_000_000
"""So much that merges are done in child processes, however small the model."""


class Seeded(msgspec.Struct, frozen=True):
    """What a test needs to know of a prepared state."""

    token: str
    """Of an operator, for the REST API."""
    pairs: tuple[str, ...]
    """Ready model pairs; their device models' first versions are equal."""
    held_out: str
    """A large data set that measures them."""


def seed(directory: Path, *, pairs: int, side: int) -> Seeded:
    """Tables, an operator, a data set and model pairs with a first device version each; Django is set up."""
    from django.core.management import call_command
    from django.utils import timezone

    from coterie.accounts.services import create_operator, issue_token
    from coterie.registry.models import ModelPair, ModelVersion, Role
    from coterie.registry.services import add_dataset, publish_version, store_file
    from coterie_wire.tensors import encode_tensors
    from tests.coterie_agent.bundles import predict_graph, train_step_graph
    from tests.system.model import LABELS, samples, spec_with, tensors

    now, spec = timezone.now(), spec_with(side)
    call_command("migrate", verbosity=0)
    operator, _ = create_operator(username="tester")

    def keep(content: bytes) -> object:
        path = directory / "kept"
        path.write_bytes(content)
        return store_file(path=path, now=now)

    graphs = {"train_step": keep(train_step_graph(spec)), "predict": keep(predict_graph(spec))}
    program, parameters = keep(b"a program that nobody opens"), keep(encode_tensors(tensors(0, spec=spec)))
    x, y = samples(1 + HELD_OUT_BYTES // (4 * side * side), seed=99, side=side)
    np.savez(directory / "held-out.npz", x=x, y=y)
    made = []
    for number in range(pairs):
        pair = ModelPair.objects.create(
            name=f"pair {number}",
            slug=f"pair-{number}",
            state=ModelPair.State.READY,
            labels=list(LABELS),
            batch_size=spec.batch_size,
            device_program=program,
            cloud_program=program,
            spec=msgspec.to_builtins(spec),
            initial_parameters=parameters,
            created_at=now,
            **graphs,
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
        made.append(str(pair.pk))
    return Seeded(
        token=issue_token(operator=operator, name="system tests", now=now).secret,
        pairs=tuple(made),
        held_out=str(add_dataset(name="held out", path=directory / "held-out.npz", now=now).pk),
    )


if __name__ == "__main__":
    django.setup()
    folder, wanted, pixels = sys.argv[1:]
    sys.stdout.write(msgspec.json.encode(seed(Path(folder), pairs=int(wanted), side=int(pixels))).decode())
