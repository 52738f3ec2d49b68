"""What to write instead of operators that no device can train."""

from collections.abc import Mapping

_ADVICE: Mapping[str, str] = {
    "nonzero nonzero_static argwhere masked_select masked_scatter unique_dim _unique _unique2 unique_consecutive "
    "bincount": (
        "how many elements it gives depends on the data; keep all elements and weigh them by a mask, "
        "with torch.where or a product"
    ),
    "item _local_scalar_dense is_nonzero equal allclose": (
        "it takes a number out of a tensor, where no graph can follow; keep it a tensor of shape [], "
        "and use torch.where in place of if"
    ),
    "cond while_loop scan map": (
        "a graph takes no branches; compute both sides and choose with torch.where, and unroll loops of fixed length"
    ),
    "wrap_with_set_grad_enabled": (
        "compute it without torch.no_grad and say .detach() of what needs no gradient, or export with coterie.sdk"
    ),
    "wrap_with_autocast": "graphs compute in float32; leave torch.autocast out",
    "lazy_load_decompositions _vmap_increment_nesting _vmap_decrement_nesting _add_batch_dim _remove_batch_dim": (
        "torch.vmap leaves no graph; write the batch's axis out, with broadcasting or torch.einsum"
    ),
    "fft_fft fft_ifft fft_rfft fft_irfft fft_fft2 fft_rfft2 fft_irfft2 fft_fftn fft_rfftn stft istft _fft_r2c _fft_c2r "
    "_fft_c2c": "multiply by a buffer of cosines and one of sines, which is what a Fourier transform of fixed size is",
    "view_as_complex view_as_real complex polar real imag conj angle": (
        "graphs know no complex numbers; keep real and imaginary parts as two tensors"
    ),
    "linalg_inv linalg_inv_ex linalg_solve linalg_solve_ex linalg_det linalg_slogdet linalg_svd svd linalg_eigh "
    "linalg_eig linalg_qr linalg_cholesky linalg_cholesky_ex cholesky linalg_lstsq linalg_pinv linalg_matrix_exp "
    "inverse det slogdet logdet _linalg_svd _linalg_eigh _linalg_det _linalg_solve_ex": (
        "devices factorise no matrices; compute it beforehand and keep it in a buffer, or learn the product itself"
    ),
    "_ctc_loss ctc_loss nll_loss nll_loss_nd nll_loss2d cross_entropy_loss": (
        "a loss does not belong in the model; let the model give logits, and choose the loss beside it"
    ),
    "nms roi_align roi_pool": (
        "choosing boxes does not belong in the model; let it give boxes and scores, and choose after predicting"
    ),
    "max_unpool2d max_unpool3d": "use nn.Upsample or a transposed convolution",
    "fractional_max_pool2d fractional_max_pool3d": "its windows are random; use nn.MaxPool2d or nn.AdaptiveMaxPool2d",
    "embedding_bag _embedding_bag _embedding_bag_forward_only": (
        "give it bags of one size, [batch, words], filled up with its padding_idx, where coterie.sdk exports it"
    ),
    "_pdist_forward pdist": "use torch.cdist",
    "searchsorted bucketize histc": ("compare with every boundary and add up: (x.unsqueeze(-1) > boundaries).sum(-1)"),
    "grid_sampler_3d": "sample planes with the axes of depth and channels joined",
    "rand rand_like multinomial randperm normal poisson randint randn randn_like uniform exponential rrelu "
    "rrelu_with_noise": (
        "what it draws is not known in service; use nn.Dropout, or multiply by x.new_empty(shape).bernoulli_(share) or "
        "(torch.rand(shape) < share).float(), or add torch.randn_like(x), of which the mean is taken in service; or "
        "give the noise as an input"
    ),
    "lgamma digamma polygamma i0 special_i0e special_i1 erfinv special_erfcx": (
        "ONNX has no such function; approximate it by a polynomial"
    ),
    "cummax cummin": "its places are not told; use its values alone",
    "as_strided as_strided_ as_strided_scatter": "look at the tensor by index, slice, permute and reshape",
    "quantize_per_tensor quantize_per_channel fake_quantize_per_tensor_affine dequantize": (
        "give the model in float32; what is frozen is stored in int8 by the compiler"
    ),
    "to_sparse _sparse_mm sparse_mask": "use dense tensors",
    "sym_numel sym_stride sym_storage_offset": "take sizes from x.shape",
}

DEFAULT = (
    "it is none of the operators that a model may use; write it with functions of each element, matrix products, "
    "convolutions, sums and indices"
)


def advise(operator: str) -> str | None:
    """What to write instead of an operator, named like ``nonzero.default`` or ``aten.nonzero.default``; or None."""
    parts = (part.removesuffix("_") for part in operator.split("."))
    return next((ADVICE[part] for part in parts if part in ADVICE), None)


ADVICE: Mapping[str, str] = {name: advice for names, advice in _ADVICE.items() for name in names.split()}
"""By the operator's name without namespace and overload."""
