"""An ONNX graph in onnxruntime, configured for small devices."""

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from coterie_agent.errors import AgentError

Array = NDArray[np.float32] | NDArray[np.int64] | NDArray[np.int8]


class Graph:
    """A graph ready to run, whose inputs and outputs are those of the contract in `coterie_wire.bundle.ModelSpec`."""

    def __init__(self, content: bytes, *, inputs: frozenset[str], outputs: frozenset[str], threads: int) -> None:
        """Raises AgentError ``model.contract`` or ``model.broken``."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # it plans for the peak of every step at once
        options.log_severity_level = 4  # errors reach us as exceptions
        options.add_session_config_entry(
            "session.intra_op.allow_spinning", "0"
        )  # a waiting thread must not burn battery
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

        Raises AgentError ``model.broken``.
        """
        try:
            values: list[ort.OrtValue] = self._session.run_with_ort_values(outputs, feeds)
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise AgentError("model.broken", f"the graph failed: {error}") from error
        return values


def value(array: Array) -> ort.OrtValue:
    """`array` for a graph; on the processor both share the memory."""
    return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


@cache
def _share_arena() -> None:
    """One arena for all sessions that grows by what is asked.

    Measured on a small CNN: each session's own, which doubles, takes 3 MB more; none at all makes a step half slower.
    """
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    same_as_requested = {"arena_extend_strategy": 1}
    ort.create_and_register_allocator(memory, ort.OrtArenaCfg(same_as_requested))


def _give_back_memory() -> None:
    """What loading took to optimise the graph, the C library would keep; glibc can be asked for it (3 MB here)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _check(what: str, expected: frozenset[str], found: frozenset[str]) -> None:
    if expected != found:
        wrong = ", ".join(sorted(expected ^ found)[:5])
        raise AgentError("model.contract", f"the graph's {what} are not those that the manifest announces: {wrong}")
