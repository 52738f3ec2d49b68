"""Has the platform offer an int8 form of a version: ``python -m tests.phone.offer_form VERSION [broken]``.

The settings come from the environment, as the platform's own do. The form may lose what it likes, for the model has
hardly learned; a broken one is a graph that no runtime loads.
"""

import sys
import tempfile
from pathlib import Path

import django

SAMPLES = 300


def offer(version_id: str, *, broken: bool) -> None:
    """Django is set up."""
    import numpy as np
    from django.utils import timezone

    from coterie.cloud.quantise import quantise_stored
    from coterie.cloud.quantise_job import QuantiseArguments
    from coterie.registry.content import BLOBS
    from coterie.registry.models import ModelVersion, Variant
    from coterie.registry.services import record_variant, store_file
    from tests.system.model import samples

    version, now = ModelVersion.objects.select_related("pair__predict", "parameters").get(pk=version_id), timezone.now()
    assert version.pair.predict is not None, "the pair is ready"
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        x, y = samples(SAMPLES, seed=21)
        np.savez(directory / "samples.npz", x=x, y=y)
        form = directory / "int8.onnx"
        result = quantise_stored(
            QuantiseArguments(
                model=version.pair.model_spec(),
                predict=str(BLOBS.local_path(version.pair.predict.pk, directory)),
                parameters=str(BLOBS.local_path(version.parameters.pk, directory)),
                dataset=str(directory / "samples.npz"),
                output=str(form),
                max_loss_points=100.0,
            ),
            lambda _progress: None,
        )
        if broken:
            form.write_bytes(b"no graph")
        graph = store_file(path=form, now=now)
    record_variant(version=version, name=Variant.Name.INT8, graph=graph, refused=None, measured=result, now=now)


if __name__ == "__main__":
    django.setup()
    offer(sys.argv[1], broken=sys.argv[2:] == ["broken"])
