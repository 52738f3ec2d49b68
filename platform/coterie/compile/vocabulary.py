"""The operators that an uploaded program may call: arithmetic on tensors; nothing that reads files or memory."""

_ATEN = """
__and__ __lshift__ __or__ __rshift__ __xor__ _adaptive_avg_pool2d _assert_scalar _assert_tensor_metadata _log_softmax
_native_batch_norm_legit_functional _softmax _to_copy _unsafe_view _upsample_nearest_exact1d _upsample_nearest_exact2d
_upsample_nearest_exact3d _weight_norm abs absolute acos acosh adaptive_avg_pool1d adaptive_avg_pool2d
adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d add addbmm addcdiv addcmul addmm addmv
addr affine_grid_generator alias all alpha_dropout amax amin aminmax any arange arccos arcsin arctan argmax argmin
argsort asin asinh atan atan2 atanh atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d avg_pool3d baddbmm batch_norm
bernoulli bilinear binary_cross_entropy binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor block_diag bmm broadcast_tensors broadcast_to cartesian_prod cat cdist ceil
celu channel_shuffle chunk clamp clamp_max clamp_min clip clone col2im column_stack concat constant_pad_nd contiguous
conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution copy copysign cos cosh
cosine_embedding_loss cosine_similarity count_nonzero cross cross_entropy_loss ctc_loss cummax cummin cumprod cumsum
cumulative_trapezoid deg2rad detach diagonal diff div divide dot dropout dsplit dstack einsum elu embedding empty
empty_like eq erf erfc exp exp2 expand expand_as expm1 eye feature_alpha_dropout feature_dropout fft_fftshift
fft_ifftshift fill flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac full full_like gather
ge gelu ger glu gradient greater grid_sampler grid_sampler_2d group_norm gru gru_cell gt hardshrink hardsigmoid
hardswish hardtanh heaviside hinge_embedding_loss hsplit hstack huber_loss hypot im2col index index_add index_copy
index_fill index_put index_select inner instance_norm isclose isfinite isin isinf isnan isneginf isposinf isreal kl_div
kron kthvalue l1_loss layer_norm ldexp le leaky_relu lerp less lift_fresh_copy linalg_cross linalg_matrix_norm
linalg_matrix_power linalg_norm linalg_vecdot linalg_vector_norm linear linspace log log10 log1p log2 log_sigmoid
log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp lstm
lstm_cell lt mH mT margin_ranking_loss masked_fill matmul matrix_H max max_pool1d max_pool1d_with_indices max_pool2d
max_pool2d_with_indices max_pool3d maximum mean median meshgrid min minimum mish mm moveaxis movedim mse_loss msort mul
multi_head_attention_forward multi_margin_loss multilabel_margin_loss multiply mv nan_to_num nansum narrow
native_batch_norm native_dropout native_group_norm native_layer_norm ne neg negative new_empty new_full new_ones
new_zeros nll_loss nll_loss_nd norm numpy_T one_hot ones ones_like outer pad pairwise_distance permute pixel_shuffle
pixel_unshuffle poisson_nll_loss positive pow prelu prod quantile rad2deg rand rand_like randn randn_like ravel
reciprocal reflection_pad1d reflection_pad2d reflection_pad3d relu relu6 remainder renorm repeat repeat_interleave
replication_pad1d replication_pad2d replication_pad3d reshape reshape_as rms_norm rnn_relu rnn_relu_cell rnn_tanh
rnn_tanh_cell roll rot90 round rrelu rsqrt rsub scaled_dot_product_attention scatter scatter_add scatter_reduce select
select_scatter selu sgn sigmoid sign signbit silu sin sinc sinh slice slice_scatter smooth_l1_loss soft_margin_loss
softmax softmin softplus softshrink sort special_entr special_expm1 special_logit special_ndtr special_xlog1py split
split_with_sizes sqrt square squeeze stack std std_mean sub subtract sum sum_to_size swapaxes sym_size t take_along_dim
tan tanh tensor_split tensordot threshold tile to topk transpose trapezoid trapz tril tril_indices triplet_margin_loss
triu triu_indices true_divide trunc type_as unbind unflatten unfold unsafe_chunk unsafe_split unsqueeze
upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
upsample_trilinear3d var var_mean vdot view view_as vsplit vstack where xlogy zero zeros zeros_like
"""
ATEN = frozenset(_ATEN.split())
"""By name, for all overloads, in place or not; those that cannot be compiled are refused later."""

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


def is_allowed(target: str) -> bool:
    """Whether `target`, as a serialised program names it, may be called."""
    match target.split("."):
        case ["torch", "ops", "aten", name, _]:
            return name in ATEN or name.removesuffix("_") in ATEN
        case ["_operator", name]:
            return name in SIZES
        case _:
            return False
