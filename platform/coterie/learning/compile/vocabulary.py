"""The operators that an uploaded program may call: arithmetic on tensors; nothing that reads files or memory."""

_ATEN = """
_adaptive_avg_pool2d _assert_scalar _assert_tensor_metadata _log_softmax _native_batch_norm_legit_functional
_softmax _to_copy _unsafe_view abs acos adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d add add_ addmm
addmm_ alias alpha_dropout amax amin any arange argmax argmin argsort asin atan avg_pool1d avg_pool2d avg_pool3d
baddbmm batch_norm bilinear bitwise_and bitwise_not bitwise_or bmm broadcast_tensors broadcast_to cat ceil celu
channel_shuffle chunk clamp clamp_ clamp_max clamp_min clone concat constant_pad_nd contiguous conv1d conv2d conv3d
conv_transpose1d conv_transpose2d convolution copy copy_ cos cosh cosine_similarity cross cumsum detach detach_
diagonal div div_ dot dropout dropout_ einsum elu elu_ embedding empty empty_like eq erf erfc exp expand expand_as
expm1 feature_dropout flatten flip floor floor_divide fmod full full_like gather ge gelu glu group_norm gru gt
hardsigmoid hardsigmoid_ hardswish hardswish_ hardtanh hardtanh_ index index_add index_put index_select
instance_norm isinf isnan item layer_norm le leaky_relu leaky_relu_ lerp lift_fresh_copy linear linspace log log10
log1p log2 log_sigmoid log_softmax logical_and logical_not logical_or logical_xor logsumexp lstm lt masked_fill
masked_fill_ masked_select matmul max max_pool1d max_pool2d max_pool3d maximum mean min minimum mish mish_ mm
movedim mse_loss mul mul_ multi_head_attention_forward mv narrow native_batch_norm native_dropout native_group_norm
native_layer_norm ne neg new_empty new_full new_ones new_zeros nonzero norm numpy_T one_hot ones ones_like pad
permute pixel_shuffle pixel_unshuffle pow prelu prod rand rand_like randn randn_like reciprocal reflection_pad1d
reflection_pad2d relu relu6 relu6_ relu_ remainder repeat repeat_interleave replication_pad1d replication_pad2d
reshape reshape_as rms_norm rnn_relu rnn_tanh roll round rrelu rsqrt rsub scaled_dot_product_attention scatter
scatter_add select select_scatter selu selu_ sigmoid sigmoid_ sign silu silu_ sin sinh slice slice_scatter softmax
softplus softshrink sort split split_with_sizes sqrt square squeeze squeeze_ stack std sub sub_ sum swapaxes
sym_size t tan tanh tanh_ tensor_split threshold threshold_ tile to topk transpose transpose_ tril triu type_as
unbind unflatten unfold unsqueeze unsqueeze_ upsample_bilinear2d upsample_nearest2d var var_mean view view_as where
zeros zeros_like
"""
ATEN = frozenset(_ATEN.split())
"""By name, whatever the overload; those that do not compile are refused later."""

SIZES = frozenset(
    (
        "add",
        "sub",
        "mul",
        "floordiv",
        "mod",
        "neg",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "getitem",
        "truediv",
        "and_",
        "or_",
    )
)
"""Python's operators on sizes and tuples."""


def is_known(target: str) -> bool:
    """Whether `target`, as a serialised program names it, may be called."""
    match target.split("."):
        case ["torch", "ops", "aten", name, _]:
            return name in ATEN
        case ["_operator", name]:
            return name in SIZES
        case _:
            return False
