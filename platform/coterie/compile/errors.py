"""Why a model cannot be compiled, or an upload not be read."""

from coterie.core.errors import CoterieError, ErrorKind


class UnsupportedOperator(CoterieError):
    """Fields: operator (``aten.fft_rfft.default``), module (its path, empty for the model), line, place, reason."""

    code = "compile.unsupported_operator"
    kind = ErrorKind.INVALID
    sentence = "Operator {operator} in {place} cannot be compiled: {reason}."


class RunningStatistics(CoterieError):
    """Fields: module, line, place."""

    code = "compile.running_statistics"
    kind = ErrorKind.INVALID
    sentence = (
        "In {place} are no running statistics that travel: use BatchNorm with track_running_stats=True, or "
        "GroupNorm, LayerNorm or InstanceNorm without them."
    )


class MutatedState(CoterieError):
    """Fields: name (of the buffer or the input), module, line, place."""

    code = "compile.mutated_state"
    kind = ErrorKind.INVALID
    sentence = (
        "The model changes {name!r} while it computes, in {place}. It may change float32 buffers, each as a whole, as "
        "averages: self.{name}.mul_(0.9).add_(0.1 * new.detach()). Count in float32, and write no part of a buffer and "
        "no input."
    )


class FixedBatch(CoterieError):
    """Fields: name (of the input)."""

    code = "compile.fixed_batch"
    kind = ErrorKind.INVALID
    sentence = (
        "Input {name!r} was exported with a fixed batch size: export with dynamic_shapes that make the leading axis "
        "of every input the same torch.export.Dim."
    )


class BatchOutOfRange(CoterieError):
    """Fields: batch_size, smallest, largest."""

    code = "compile.batch_out_of_range"
    kind = ErrorKind.INVALID
    sentence = "The model was exported for batches of {smallest} to {largest} samples, not of {batch_size}."


class UnboundedLength(CoterieError):
    """Fields: longest (that can be had)."""

    code = "compile.unbounded_length"
    kind = ErrorKind.INVALID
    sentence = (
        "The model takes samples of any length, and devices must know the longest: export the axis with "
        "torch.export.Dim('length', min=…, max=…), with a max of at most {longest}."
    )


class UnsupportedSignature(CoterieError):
    """Fields: found."""

    code = "compile.unsupported_signature"
    kind = ErrorKind.INVALID
    sentence = (
        "A model takes float32, int64, int32, uint8 or bool tensors with a leading batch axis, and perhaps one more "
        "dynamic axis, of the same length in all that have it; it gives one float32 tensor [batch, ...], or several "
        "for a loss of its own; this one: {found}."
    )


class LossMismatch(CoterieError):
    """Fields: loss, wanted, found."""

    code = "compile.loss_mismatch"
    kind = ErrorKind.INVALID
    sentence = "Loss {loss} takes {wanted}; the model gives {found}: choose the loss of the model's task in its recipe."


class UnsupportedLoss(CoterieError):
    """Fields: found, module, line, place."""

    code = "compile.unsupported_loss"
    kind = ErrorKind.INVALID
    sentence = (
        "A loss program takes the model's output and the target, both with a dynamic leading batch axis, and gives "
        "float32 [batch], for each sample a number that depends on that sample alone; in {place}: {found}."
    )


class NoCurvature(CoterieError):
    """Fields: loss."""

    code = "compile.no_curvature"
    kind = ErrorKind.INVALID
    sentence = (
        "Optimiser second_order sums second derivatives, and of the loss {loss} none are known: take cross_entropy "
        "without class weights, binary_cross_entropy or mean_squared_error."
    )


class NothingTrains(CoterieError):
    """Fields: names (of the model's parameters, the first ones)."""

    code = "compile.nothing_trains"
    kind = ErrorKind.INVALID
    sentence = (
        "No parameter is trained: the model has {names}, and the recipe's patterns match none that has requires_grad."
    )


class UnsupportedParameter(CoterieError):
    """Fields: name, found."""

    code = "compile.unsupported_parameter"
    kind = ErrorKind.INVALID
    sentence = "Parameter {name!r} is {found}; parameters are finite float32, as after model.float()."


class ExportFailed(CoterieError):
    """Fields: module (path in the model), line (of its code, as far as known), place, detail (what to do about it)."""

    code = "compile.export_failed"
    kind = ErrorKind.INVALID
    sentence = "The export fails in {place}: {detail}."


class PackedSequences(CoterieError):
    """Fields: module (path in the model), line, place."""

    code = "compile.packed_sequences"
    kind = ErrorKind.INVALID
    sentence = (
        "Of packed sequences a model may make what nn.LSTM, nn.GRU and nn.RNN read and pad_packed_sequence fills up "
        "again, where coterie.sdk exports it; what else {place} does with them has a size that depends on the data. "
        "Take the number of words from lengths, and each sample's last state from what the layer gives, or by index: "
        "states[torch.arange(lengths.shape[0]), lengths - 1]."
    )


class DataDependent(CoterieError):
    """Fields: module, line, place."""

    code = "compile.data_dependent"
    kind = ErrorKind.INVALID
    sentence = (
        "What {place} computes depends on the data, and a graph takes no branches: compute both sides and choose with "
        "torch.where, unroll loops of fixed length, and keep lengths and the like tensors, without .item(), .tolist()."
    )


class BatchBecameConstant(CoterieError):
    """Fields: module, line, place, detail (what was found to hold)."""

    code = "compile.batch_became_constant"
    kind = ErrorKind.INVALID
    sentence = (
        "Only some sizes of batch, the first axis of every input, work in {place}: {detail}. Take the size from "
        "x.shape[0] and not from len(x), ask nothing about it, do not loop over it, and reshape with a -1 in its place."
    )


class LengthBecameConstant(CoterieError):
    """Fields: module, line, place, detail (what was found to hold)."""

    code = "compile.length_became_constant"
    kind = ErrorKind.INVALID
    sentence = (
        "The model works for some lengths of samples only: {place}, {detail}. Take the length from x.shape, ask "
        "nothing about it, and do not loop over it (nn.LSTM, nn.GRU and nn.RNN may); or export the axis with a fixed "
        "size."
    )


class NoGradient(CoterieError):
    """Fields: detail (what to do about it), module, line, place."""

    code = "compile.no_gradient"
    kind = ErrorKind.INVALID
    sentence = "The gradient cannot be traced; at fault is {place}: {detail}."


class NotTrainable(CoterieError):
    """Fields: detail."""

    code = "compile.not_trainable"
    kind = ErrorKind.INVALID
    sentence = "The compiled model does not train: {detail}."


class PaddingCounts(CoterieError):
    """Fields: padding (the number that whole numbers are filled up with), module, line, place."""

    code = "compile.padding_counts"
    kind = ErrorKind.INVALID
    sentence = (
        "What the model says of a short sample changes when it is filled up to a longer one of its batch, int64 "
        "and int32 with {padding} and all else with 0; it is first seen in what {place} gives. Mask what is filled up, "
        "for example by (words != {padding}), before sums, means, maxima and attention, and give layers that read "
        "backwards pack_padded_sequence(x, (words != {padding}).sum(1), batch_first=True, enforce_sorted=False), whose "
        "states pad_packed_sequence(states, batch_first=True, total_length=words.shape[1]) gives back. Or export it "
        "without a length and fill each sample up to one size yourself: what fills it up is then a part of the sample."
    )


class SamplesMixed(CoterieError):
    """Fields: module, line, place."""

    code = "compile.samples_mixed"
    kind = ErrorKind.INVALID
    sentence = (
        "What the model says of a sample depends on the other samples of its batch; it is first seen in what {place} "
        "gives. Devices fill a last batch up and predict samples one by one, so compute over the axes of a sample and "
        "not over the first one, the batch: layers of attention, Transformers and recurrent layers take "
        "batch_first=True, and of a batch's statistics only those that batch normalisation keeps are known in service."
    )


class MalformedUpload(CoterieError):
    """Fields: detail."""

    code = "compile.malformed_upload"
    kind = ErrorKind.INVALID
    sentence = "The upload is not a file of torch.export.save: {detail}."


class UploadTooLarge(CoterieError):
    """Fields: found, limit (both with their unit)."""

    code = "compile.upload_too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "The upload holds {found}; at most {limit} are read."


class UnsafeUpload(CoterieError):
    """Fields: detail."""

    code = "compile.unsafe_upload"
    kind = ErrorKind.INVALID
    sentence = "The upload holds what could run code: {detail}. Export a plain model with torch.export.save."


ERRORS = (
    UnsupportedOperator,
    RunningStatistics,
    MutatedState,
    FixedBatch,
    BatchOutOfRange,
    UnboundedLength,
    UnsupportedSignature,
    LossMismatch,
    UnsupportedLoss,
    NoCurvature,
    NothingTrains,
    UnsupportedParameter,
    ExportFailed,
    DataDependent,
    BatchBecameConstant,
    LengthBecameConstant,
    NoGradient,
    NotTrainable,
    PaddingCounts,
    SamplesMixed,
    MalformedUpload,
    UploadTooLarge,
    UnsafeUpload,
)
