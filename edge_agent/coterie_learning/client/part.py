"""The part of the model that a device trains: all of it, a head of the classes that it has seen, or the head alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from coterie_learning.heads import begin_rows, mask_unseen, masked_classes, output_layer, renew, restore_untrained
from coterie_learning.local import Scope
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors


@dataclass(frozen=True)
class TrainedPart:
    """One device's model in one assignment. Methods raise WireError ``plan.no_head``."""

    model: ModelSpec
    scope: Scope
    classes: tuple[int, ...]
    """Classes that its output layer has; empty where it has all."""

    @classmethod
    def of_device(cls, model: ModelSpec, scope: Scope, seen: Sequence[int]) -> Self:
        """The part trained by a device that has samples of the classes `seen`, ascending."""
        return cls(model, scope, () if scope.head == "all" else tuple(label for label in seen if label < model.classes))

    def begin(self, received: Tensors) -> Tensors:
        """The tensors that training starts from; rows of classes new to the device come from the received version."""
        return mask_unseen(received, output_layer(self.model), self.classes) if self.classes else received

    def go_on(self, own: Tensors, received: Tensors) -> Tensors:
        """The tensors that training starts from when it continues from the personal model `own`.

        Shared layers, and the rows of new classes, come from the `received` version.
        """
        own = renew(own, received, self.model, self.scope)
        if not self.classes:
            return own
        new = sorted(masked_classes(own, output_layer(self.model)) & set(self.classes))
        return self.begin(begin_rows(own, received, self.model, self.scope, new))

    def frozen(self) -> frozenset[str]:
        """The names of the parameters and statistics that no step changes."""
        if self.scope.body == "trained":
            return frozenset()
        return frozenset(tensor.name for tensor in self.model.version) - set(output_layer(self.model))

    def end(self, received: Tensors, trained: Tensors) -> Tensors:
        """`trained`, with the received values for everything that was not trained."""
        classes = self.classes if self.scope.head == "seen" else ()
        return restore_untrained(received, trained, self.model, self.scope, classes)
