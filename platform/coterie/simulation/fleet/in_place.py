"""A train step that runs repeatedly on the same arrays, without allocation, binding or copying between steps."""

from collections.abc import Mapping

import numpy as np
import onnxruntime

from coterie_wire.tensors import Array, Float32


class InPlace:
    """Double buffering: inputs and outputs of a step are swapped after each."""

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        given: Mapping[str, Array],
        begun: Mapping[str, Float32],
        outputs: Mapping[str, str],
        losses: Float32,
    ) -> None:
        """`given` and `begun` are the inputs by name: the caller writes into the first, and steps write the others.

        `outputs` has the name of the output that each of `begun` is after a step; `losses` is where the losses go.
        """
        self.state: Mapping[str, Float32] = begun
        """What the next step begins with."""
        self._session, self._given, self._outputs, self._losses = session, given, outputs, losses
        after: Mapping[str, Float32] = {name: np.empty_like(one) for name, one in begun.items()}
        self._turns = (self._binding(begun, after), after), (self._binding(after, begun), begun)

    def run(self) -> None:
        """One step."""
        (binding, self.state), later = self._turns
        self._session.run_with_iobinding(binding)
        self._turns = later, (binding, self.state)

    def _binding(self, before: Mapping[str, Float32], after: Mapping[str, Float32]) -> onnxruntime.IOBinding:
        """The binding does not own the arrays: this object does."""
        binding = self._session.io_binding()
        for name, array in {**self._given, **before}.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for name, array in {"loss": self._losses, **{self._outputs[name]: after[name] for name in after}}.items():
            binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        return binding
