"""A party's half of the network, in onnxruntime: the graphs of an ordinary version of an ordinary pair."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from msgspec import UNSET

from coterie_agent.alliance.table import PeopleTable
from coterie_agent.errors import AgentError
from coterie_agent.training.graph import Graph, value
from coterie_agent.training.model import Model
from coterie_agent.training.trainer import train_graph
from coterie_learning.vertical.halves import Int64, Stepped
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import cut_inputs, predict_inputs, predict_outputs, step_state
from coterie_wire.tensors import Array, Float32, Tensors

_THREADS = 1
"""With more the order of sums, and so the bits, may depend on the processor."""
_ROWS = 256


class _Half:
    """The graphs, and what one step hands to the next."""

    def __init__(self, model: Model, table: PeopleTable, own: TensorSpec) -> None:
        """`own` is the input that takes the party's columns. Raises AgentError ``alliance.does_not_fit``."""
        spec = model.manifest.model
        _check(spec, own, table)
        self.batch_size = spec.batch_size
        self._spec, self._own, self._table = spec, own, table
        self._step = train_graph(model.train_step(), spec, threads=_THREADS)
        inputs, outputs = frozenset(predict_inputs(spec)), frozenset(predict_outputs(spec))
        self._predict = Graph(model.predict(), inputs=inputs, outputs=outputs, threads=_THREADS)
        parameters = model.parameters()
        first = {f"param.{name}": tensor for name, tensor in parameters.items()}
        self._carried: dict[str, Float32] = {
            tensor.name: first.get(tensor.name, np.zeros(tensor.shape, np.float32)) for tensor in step_state(spec)
        }
        frozen = model.frozen()
        self._fixed: Mapping[str, Array] = dict(frozen)

    def tensors(self) -> Tensors:
        """The parameters and what the optimiser remembers."""
        return dict(self._carried)

    def restore(self, tensors: Tensors) -> None:
        """Go on from these."""
        self._carried = {name: np.asarray(tensors[name], np.float32) for name in self._carried}

    def _columns(self, rows: Int64) -> Float32:
        return self._table.columns[rows].reshape(len(rows), *self._own.shape)

    def _outputs(self, rows: Int64, beside: Mapping[str, Float32]) -> Float32:
        named = {name: tensor for name, tensor in self._carried.items() if name in predict_inputs(self._spec)}
        found = []
        for first in range(0, len(rows), _ROWS):
            part = slice(first, first + _ROWS)
            given = {self._own.name: self._columns(rows[part]), **{name: one[part] for name, one in beside.items()}}
            feeds = {name: value(array) for name, array in {**given, **named, **self._fixed}.items()}
            (output,) = self._predict.run([self._spec.output.name], feeds)
            found.append(cast(Float32, output.numpy()).reshape(len(rows[part]), -1).copy())
        return np.concatenate(found) if found else np.zeros((0, 1), np.float32)

    def _learn(
        self, given: Mapping[str, Array], wanted: list[str], *, learning_rate: float, momentum: float
    ) -> list[Float32]:
        """One step; `given` are rows of a batch, which is filled up."""
        size = self._spec.batch_size
        count = len(next(iter(given.values())))
        filled = {
            name: np.concatenate([one, np.zeros((size - count, *one.shape[1:]), one.dtype)])
            for name, one in given.items()
        }
        weight = (np.arange(size) < count).astype(np.float32)
        known = {"learning_rate": learning_rate, "momentum": momentum}
        scalars = {name: np.float32(known.get(name, 0.0)) for name in self._spec.scalars}
        anchors = {f"anchor.{one.name}": self._carried[f"param.{one.name}"] for one in self._spec.parameters}
        arrays = {**filled, "sample_weight": weight, **scalars, **self._carried, **anchors, **self._fixed}
        names = [*wanted, *(f"next.{name}" for name in self._carried)]
        found = self._step.run(names, {name: value(np.asarray(array)) for name, array in arrays.items()})
        results = [cast(Float32, one.numpy()).copy() for one in found]
        for name, after in zip(self._carried, results[len(wanted) :], strict=True):
            if not np.isfinite(after).all():
                detail = "training has left the range of numbers; the alliance's learning rate is too high"
                raise AgentError("alliance.diverged", detail)
            self._carried[name] = after
        return results[: len(wanted)]


class OnnxLower(_Half):
    """The half of the party with columns alone."""

    def __init__(self, model: Model, table: PeopleTable) -> None:
        """Raises AgentError ``alliance.does_not_fit``."""
        super().__init__(model, table, model.manifest.model.inputs[0])
        if len(self._spec.inputs) != 1 or self._spec.task != "values" or self._spec.own_loss is not UNSET:
            raise _misfit("the half of the party with columns alone has one input and is trained by a given gradient")
        self.width = int(np.prod(self._spec.output.shape))

    def forward(self, rows: Int64) -> Float32:
        """What goes over the cut for `rows`, [rows, width]."""
        return self._outputs(rows, {})

    def backward(self, rows: Int64, gradient: Float32, *, learning_rate: float, momentum: float) -> None:
        """Learn from the `gradient` [rows, width] that came back, of one batch."""
        target = gradient.reshape(len(rows), *self._spec.output.shape)
        given = {self._own.name: self._columns(rows), self._spec.target.name: target}
        self._learn(given, ["loss"], learning_rate=learning_rate, momentum=momentum)


class OnnxUpper(_Half):
    """The half of the party with the labels."""

    def __init__(self, model: Model, table: PeopleTable, classes: tuple[str, ...]) -> None:
        """Raises AgentError ``alliance.does_not_fit`` or ``alliance.bad_table``."""
        spec = model.manifest.model
        at_cut = cut_inputs(spec)
        own = [tensor for tensor in spec.inputs if tensor not in at_cut]
        if len(at_cut) != 1 or len(own) != 1 or spec.task != "classes":
            raise _misfit(
                "the half of the party with the labels has two inputs, one of them its cut, and gives classes"
            )
        super().__init__(model, table, own[0])
        self._cut = at_cut[0]
        self.width = int(np.prod(self._cut.shape))
        self._labels = table.classes(classes)

    def step(self, rows: Int64, values: Float32, *, learning_rate: float, momentum: float) -> Stepped:
        """Learn from one batch, with the `values` [rows, width] that came over the cut."""
        given: dict[str, Array] = {
            self._own.name: self._columns(rows),
            self._cut.name: values.reshape(len(rows), *self._cut.shape),
            self._spec.target.name: self._labels[rows],
        }
        wanted = ["loss", f"gradient.{self._cut.name}"]
        loss, gradient = self._learn(given, wanted, learning_rate=learning_rate, momentum=momentum)
        each = gradient[: len(rows)].reshape(len(rows), -1) * np.float32(len(rows))
        return Stepped(float(loss), each)

    def predict(self, rows: Int64, values: Float32) -> Int64:
        """The class of each row, [rows]."""
        outputs = self._outputs(rows, {self._cut.name: values.reshape(len(rows), *self._cut.shape)})
        classes: Int64 = outputs.argmax(axis=1).astype(np.int64)
        return classes

    def labels(self) -> Int64:
        """Of all rows of the table; -1 where the label is not known."""
        return self._labels


def _check(spec: ModelSpec, own: TensorSpec, table: PeopleTable) -> None:
    if spec.seeded or spec.statistics or spec.length is not UNSET:
        raise _misfit("a half has no dropout, no batch statistics and no samples of several lengths")
    if int(np.prod(own.shape)) != len(table.names) or own.dtype != "float32":
        raise _misfit(
            f"it takes {own.dtype} {list(own.shape)}, and the table has {len(table.names)} columns of numbers"
        )


def _misfit(why: str) -> AgentError:
    return AgentError("alliance.does_not_fit", f"the alliance's model does not fit: {why}; tell its operator")
