"""The part of the model that a device trains: all of it, a head of the classes that it has seen, or the head alone."""

from dataclasses import dataclass

from coterie_wire.bundle import ModelSpec
from coterie_wire.codec import Tensors
from coterie_wire.heads import mask_unseen, output_layer, take_over
from coterie_wire.local import Scope


@dataclass(frozen=True)
class Customised:
    """One device's model in one assignment. Methods raise WireError ``plan.no_head``."""

    model: ModelSpec
    scope: Scope
    classes: tuple[int, ...]
    """Those that its output layer has; empty where it has all."""

    def begin(self, received: Tensors) -> Tensors:
        """What training starts from: the rows of classes that are new to the device are the platform's."""
        return mask_unseen(received, output_layer(self.model), self.classes) if self.classes else received

    def still(self) -> frozenset[str]:
        """The names of the parameters and statistics that no step changes."""
        if self.scope.body == "trained":
            return frozenset()
        return frozenset(tensor.name for tensor in self.model.version) - set(output_layer(self.model))

    def end(self, received: Tensors, trained: Tensors) -> Tensors:
        """`trained`, and what was received wherever nothing was trained."""
        classes = self.classes if self.scope.head == "seen" else ()
        return take_over(received, trained, self.model, self.scope, classes)
