"""What trees a version has, read from its parameters."""

import msgspec
import numpy as np
import pytest
from rest_framework.test import APIClient

from coterie.registry.ensembles import described
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.services import publish_version
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, encode_tensors
from tests.coterie.world import MODEL, START, keep, make_pair, make_version

pytestmark = pytest.mark.django_db
TREES, LEVELS, COLUMNS, BINS, OUTPUTS = 3, 3, 4, 8, 2
NODES, LEAVES = 2**LEVELS - 1, 2**LEVELS


def trees(splits: dict[tuple[int, int], int], begin: str = "") -> dict[str, Float32]:
    """Parameters of trees whose nodes, by tree and place in the heap, split by a column."""
    feature = np.zeros((TREES, NODES), np.float32)
    threshold = np.full((TREES, NODES), 3e38, np.float32)
    for place, column in splits.items():
        feature[place], threshold[place] = column, -1.5
    cells = LEAVES // 2 * COLUMNS * BINS
    named = {
        "feature": feature,
        "threshold": threshold,
        "value": np.zeros((TREES, LEAVES, OUTPUTS), np.float32),
        "base": np.zeros(OUTPUTS, np.float32),
        "edges": np.zeros((COLUMNS, BINS - 1), np.float32),
        "place": np.zeros(3, np.float32),
        "gradients": np.zeros((cells, OUTPUTS), np.float32),
        "curvatures": np.zeros((cells, OUTPUTS), np.float32),
    }
    return {f"{begin}{name}": tensor for name, tensor in named.items()}


GROWN = {(0, 0): 2, (0, 1): 0, (0, 4): 2, (1, 0): 1}


def published(tensors: dict[str, Float32]) -> ModelVersion:
    pair = make_pair()
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in sorted(tensors.items()))
    ModelPair.objects.filter(pk=pair.pk).update(
        spec=msgspec.to_builtins(msgspec.structs.replace(MODEL, parameters=specs, head=None))
    )
    return publish_version(
        pair_id=pair.pk,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.DISTILLATION,
        parent=None,
        parameters=keep(encode_tensors(tensors)),
        metrics={},
        now=START,
    )


def test_trees_are_counted_with_their_depth_leaves_and_columns(api: APIClient) -> None:
    version = published(trees(GROWN))
    assert api.get(f"/api/versions/{version.pk}/ensembles/").json() == [
        {
            "name": "",
            "trees": 3,
            "grown": 2,
            "levels": 3,
            "deepest": 3,
            "leaves": 4 + 2,
            "columns": [
                {"number": 2, "splits": 2, "first_levels": 1},
                {"number": 0, "splits": 1, "first_levels": 0},
                {"number": 1, "splits": 1, "first_levels": 1},
            ],
        }
    ]


def test_trees_that_are_a_part_of_a_model_have_its_name(api: APIClient) -> None:
    version = published({**trees({}, "left."), **trees(GROWN, "right.")})
    found = api.get(f"/api/versions/{version.pk}/ensembles/").json()
    assert [(one["name"], one["grown"], one["deepest"], one["leaves"]) for one in found] == [
        ("left", 0, 0, 0),
        ("right", 2, 3, 6),
    ]


def test_a_model_without_trees_has_none(api: APIClient) -> None:
    device, cloud = (make_version(make_pair(role), role=Role(role)) for role in ("device", "cloud"))
    for version in (device, cloud):
        assert api.get(f"/api/versions/{version.pk}/ensembles/").json() == []


def test_of_a_version_whose_parameters_are_gone_it_is_said(api: APIClient) -> None:
    version = published(trees(GROWN))
    version.parameters.removed_at = START
    version.parameters.save()
    answer = api.get(f"/api/versions/{version.pk}/ensembles/")
    assert (answer.status_code, answer.json()["code"]) == (410, "registry.version_removed")


@pytest.mark.parametrize("place", range(NODES))
def test_a_nodes_level_is_that_of_its_place_in_the_heap(place: int) -> None:
    found = described(trees({(0, place): 0}), "")
    assert found.deepest == (place + 1).bit_length()
