"""An ONNX graph in onnxruntime, configured for small devices."""

import ctypes
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache

import numpy as np
import onnxruntime as ort

from coterie_agent.errors import AgentError
from coterie_wire.tensors import Array

OUTSIDE_A_TABLE = re.compile(r"idx=(-?\d+) must be within the inclusive range \[-\d+,(\d+)\]")
"""Of onnxruntime, where a whole number of a sample, as of a word, chooses a row that a table does not have."""


class Graph:
    """A graph ready to run, whose inputs and outputs are those of the contract in `coterie_wire.bundle.ModelSpec`."""

    def __init__(self, content: bytes, *, inputs: frozenset[str], outputs: frozenset[str], threads: int) -> None:
        """Raises AgentError ``model.contract`` or ``model.broken``."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # it plans for the peak of every step at once
        options.log_severity_level = 4  # errors reach us as exceptions
        # Between two operators a thread spins, since waking it takes longer (two threads were slower than one);
        # not for long, since others may need the processor, and never between two steps.
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        options.add_session_config_entry("session.intra_op.spin_duration_us", "50")
        options.add_session_config_entry("session.force_spinning_stop", "1")
        options.add_session_config_entry("session.use_env_allocators", "1")
        _share_arena()
        try:
            self._session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise AgentError("model.broken", f"onnxruntime does not load the graph: {error}") from error
        _give_back_memory()
        _check("inputs", inputs, frozenset(value.name for value in self._session.get_inputs()))
        _check("outputs", outputs, frozenset(value.name for value in self._session.get_outputs()))

    def run(self, outputs: Sequence[str], feeds: Mapping[str, ort.OrtValue]) -> list[ort.OrtValue]:
        """The named outputs; nothing is copied.

        Raises AgentError ``data.does_not_fit`` or ``model.broken``.
        """
        try:
            values: list[ort.OrtValue] = self._session.run_with_ort_values(outputs, feeds)
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise _failure(error, [tensor.numpy() for tensor in feeds.values()]) from error
        return values

    def bind(self, inputs: Mapping[str, ort.OrtValue], outputs: Mapping[str, ort.OrtValue]) -> ort.IOBinding:
        """What `run_bound` reads and writes; further inputs can be bound to it before each run."""
        binding = self._session.io_binding()
        for name, tensor in inputs.items():
            binding.bind_ortvalue_input(name, tensor)
        for name, tensor in outputs.items():
            binding.bind_ortvalue_output(name, tensor)
        return binding

    def run_bound(self, binding: ort.IOBinding, given: Collection[Array] = ()) -> None:
        """Writes the outputs bound; what else the graph gives is dropped. `given` are bound inputs made of samples.

        Raises AgentError ``data.does_not_fit`` or ``model.broken``.
        """
        try:
            self._session.run_with_iobinding(binding)
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise _failure(error, given) from error


def _failure(error: Exception, given: Collection[Array]) -> AgentError:
    """Why a run failed; whole numbers that were `given` and that the model has no row for are no fault of the graph."""
    outside = OUTSIDE_A_TABLE.search(str(error))
    whole = [array for array in given if np.issubdtype(array.dtype, np.integer)]
    if outside is None or not any((array == int(outside[1])).any() for array in whole):
        return AgentError("model.broken", f"the graph failed: {error}")
    found, last = outside.groups()
    return AgentError("data.does_not_fit", f"a sample holds the whole number {found}, the model knows 0 to {last}")


def value(array: Array) -> ort.OrtValue:
    """`array` for a graph; on the processor both share the memory."""
    return ort.OrtValue.ortvalue_from_numpy(np.asarray(array, order="C"))


def room(shape: Sequence[int]) -> ort.OrtValue:
    """Memory for a float32 tensor of `shape`, aligned as onnxruntime expects; its content is undefined."""
    return ort.OrtValue.ortvalue_from_shape_and_type(list(shape), np.float32)


@cache
def _share_arena() -> None:
    """One memory arena for all sessions, which grows by exactly what is requested.

    Measured on a small CNN: each session's own, which doubles, takes 3 MB more; none at all makes a step half slower.
    """
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    same_as_requested = {"arena_extend_strategy": 1}
    ort.create_and_register_allocator(memory, ort.OrtArenaCfg(same_as_requested))


def _give_back_memory() -> None:
    """Return memory used while loading to the system, which the C library would keep (3 MB here; glibc only)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _check(what: str, expected: frozenset[str], found: frozenset[str]) -> None:
    if expected != found:
        wrong = ", ".join(sorted(expected ^ found)[:5])
        raise AgentError("model.contract", f"the graph's {what} are not those that the manifest announces: {wrong}")
