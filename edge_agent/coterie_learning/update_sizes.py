"""Predicted sizes of the updates of a plan."""

from coterie_learning.codec import Codec, PayloadBytes
from coterie_learning.heads import update_specs
from coterie_learning.local import Local
from coterie_learning.updates import DRAW_SPEC
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import running_statistics
from coterie_wire.tensors import encoded_bytes


def update_bytes(local: Local, codec: Codec, model: ModelSpec) -> PayloadBytes:
    """The size of an update of `model`: exact where the codec allows, else bounds and an estimate.

    Where devices have only some classes' rows in their output layers, it is that of a device with all classes.

    Raises WireError ``plan.no_head``.
    """
    scope = local.scope()
    classes = range(model.classes) if scope.head == "seen" else ()
    found = codec.payload_bytes(update_specs(model, scope, classes))
    statistics, parts = running_statistics(model), len(local.parts)
    beside = encoded_bytes(statistics) if statistics else 0
    if local.scalars:
        beside += encoded_bytes([TensorSpec(name, "float32", ()) for name in local.scalars])
    if scope.share < 1:
        beside += encoded_bytes([DRAW_SPEC])
    return PayloadBytes(*(beside + parts * size_bytes for size_bytes in found))
