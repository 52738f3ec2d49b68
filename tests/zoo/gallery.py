"""Operators one by one: each a function of a tensor, by the name it has in PyTorch, with the shape it takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

F = nn.functional
PLANE = (2, 6, 7)
LINE = (3, 8)
VOLUME = (2, 4, 5, 6)
VECTOR = (6,)


@dataclass(frozen=True)
class Case:
    """`take` maps [batch, *shape] to any float tensor with a leading batch axis."""

    take: Callable[[Tensor], Tensor]
    shape: tuple[int, ...] = VECTOR


def on(shape: tuple[int, ...], **takes: Callable[[Tensor], Tensor]) -> dict[str, Case]:
    return {name: Case(take, shape) for name, take in takes.items()}


def kernel(*shape: int) -> Tensor:
    """Fixed weights."""
    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape).sin()


def whole(x: Tensor) -> Tensor:
    """Whole numbers on both sides of 0."""
    return (x.detach() * 4).long()


ELEMENTWISE = on(
    VECTOR,
    bitwise=lambda x: torch.where((x > 0) & (x < 1) | (x < -1) ^ (x > 2), x, 0.1 * x),
    bits=lambda x: x * (((whole(x) & 6 | whole(x) ^ 3) << 1 >> 2) % 5).float(),
    bits_of_numbers=lambda x: x * ((~whole(x) << (whole(x) & 1)) >> 1).float(),
    abs=torch.abs,
    acos=lambda x: torch.acos(x.tanh() * 0.9),
    acosh=lambda x: torch.acosh(x.abs() + 1.5),
    add=lambda x: torch.add(x, x, alpha=2),
    addcdiv=lambda x: torch.addcdiv(x, x, x * x + 1, value=0.5),
    addcmul=lambda x: torch.addcmul(x, x, x, value=0.5),
    asin=lambda x: torch.asin(x.tanh() * 0.9),
    asinh=torch.asinh,
    atan=torch.atan,
    atan2=lambda x: torch.atan2(x, x.flip(1) + 0.1),
    atanh=lambda x: torch.atanh(x.tanh() * 0.9),
    ceil=lambda x: x * torch.ceil(x),
    celu=lambda x: F.celu(x, 1.3),
    clamp=lambda x: torch.clamp(x, -0.5, 0.7),
    clamp_tensors=lambda x: torch.clamp(x, min=x.flip(1), max=x.abs() + 0.3),
    cos=torch.cos,
    cosh=torch.cosh,
    deg2rad=torch.deg2rad,
    div=lambda x: x / (1 + x * x),
    div_floor=lambda x: x * torch.div(x, 0.3, rounding_mode="floor"),
    div_trunc=lambda x: x * torch.div(x, 0.3, rounding_mode="trunc"),
    elu=lambda x: F.elu(x, 0.7),
    erf=torch.erf,
    erfc=torch.erfc,
    exp=torch.exp,
    exp2=torch.exp2,
    expm1=torch.expm1,
    floor=lambda x: x * torch.floor(x),
    floor_divide=lambda x: x * torch.floor_divide(x.detach(), 0.3),
    fmod=lambda x: torch.fmod(x, 0.4),
    frac=torch.frac,
    gelu=F.gelu,
    gelu_tanh=lambda x: F.gelu(x, approximate="tanh"),
    glu=F.glu,
    hardshrink=F.hardshrink,
    hardsigmoid=F.hardsigmoid,
    hardswish=F.hardswish,
    hardtanh=lambda x: F.hardtanh(x, -0.4, 0.6),
    heaviside=lambda x: x * torch.heaviside(x.detach(), torch.tensor(0.5)),
    hypot=lambda x: torch.hypot(x, x.flip(1) + 3),
    isfinite=lambda x: x * torch.isfinite(x).float(),
    isinf=lambda x: x * (~torch.isinf(x)).float(),
    isnan=lambda x: x * (~torch.isnan(x)).float(),
    leaky_relu=lambda x: F.leaky_relu(x, 0.2),
    lerp=lambda x: torch.lerp(x, x.flip(1), 0.3),
    lerp_tensor=lambda x: torch.lerp(x, x.flip(1), x.sigmoid()),
    log=lambda x: torch.log(x.abs() + 0.5),
    log10=lambda x: torch.log10(x.abs() + 0.5),
    log1p=lambda x: torch.log1p(x.abs()),
    log2=lambda x: torch.log2(x.abs() + 0.5),
    logaddexp=lambda x: torch.logaddexp(x, x.flip(1)),
    log_sigmoid=F.logsigmoid,
    logical=lambda x: torch.where(torch.logical_and(x > -1, torch.logical_or(x < 0, ~(x > 0.5))), x, x * 2),
    logical_xor=lambda x: torch.where(torch.logical_xor(x > 0, x < 0.5), x, x * 2),
    logit=lambda x: torch.logit(x.sigmoid()),
    masked_fill=lambda x: x.masked_fill(x > 0.3, 0.3),
    maximum=lambda x: torch.maximum(x, x.flip(1) * 2),
    minimum=lambda x: torch.minimum(x, x.flip(1) * 2),
    mish=F.mish,
    nan_to_num=torch.nan_to_num,
    neg=torch.neg,
    pow_number=lambda x: torch.pow(x.abs() + 0.5, 1.7),
    pow_square=lambda x: x**2,
    pow_cube=lambda x: x**3,
    pow_root=lambda x: (x.abs() + 0.5) ** 0.5,
    pow_of_number=lambda x: 1.5**x,
    pow_tensor=lambda x: (x.abs() + 0.5) ** x,
    prelu=lambda x: F.prelu(x, torch.tensor([0.2])),
    reciprocal=lambda x: torch.reciprocal(x.abs() + 0.5),
    relu=F.relu,
    relu6=F.relu6,
    remainder=lambda x: torch.remainder(x, 0.4),
    round=lambda x: x * torch.round(x),
    rsqrt=lambda x: torch.rsqrt(x.abs() + 0.5),
    rsub=lambda x: 1 - x,
    selu=F.selu,
    sigmoid=torch.sigmoid,
    sign=lambda x: x * torch.sign(x),
    silu=F.silu,
    sin=torch.sin,
    sinc=lambda x: torch.sinc(x + 4),
    sinh=torch.sinh,
    softplus=lambda x: F.softplus(x, beta=2.0, threshold=2.0),
    softshrink=F.softshrink,
    softsign=F.softsign,
    sqrt=lambda x: torch.sqrt(x.abs() + 0.5),
    square=torch.square,
    tan=lambda x: torch.tan(x * 0.3),
    tanh=torch.tanh,
    tanhshrink=F.tanhshrink,
    threshold=lambda x: F.threshold(x, 0.1, -0.3),
    trunc=lambda x: x * torch.trunc(x),
    where=lambda x: torch.where(x > 0, x, x * 0.1),
    xlogy=lambda x: torch.xlogy(x, x.abs() + 0.5),
)

REDUCTIONS = on(
    LINE,
    all=lambda x: x * (x > -9).all(dim=2, keepdim=True),
    amax=lambda x: x.amax(dim=(1, 2)),
    amin=lambda x: x.amin(dim=1),
    any=lambda x: x * (x > 0).any(dim=2, keepdim=True),
    argmax=lambda x: x * x.argmax(dim=2, keepdim=True),
    argmin=lambda x: x * x.argmin(dim=2, keepdim=True),
    count_nonzero=lambda x: x * torch.count_nonzero(x > 0, dim=2).unsqueeze(2),
    cosine_similarity=lambda x: F.cosine_similarity(x, x.flip(1), dim=2),
    cummax=lambda x: torch.cummax(x, dim=2).values,
    cumprod=lambda x: torch.cumprod(x + 2, dim=2),
    cumsum=lambda x: torch.cumsum(x, dim=2),
    diff=lambda x: torch.diff(x, dim=2),
    log_softmax=lambda x: F.log_softmax(x, dim=1),
    logcumsumexp=lambda x: torch.logcumsumexp(x, dim=2),
    logsumexp=lambda x: torch.logsumexp(x, dim=(1, 2)),
    max_all=lambda x: x * x.max(),
    max_dim=lambda x: x.max(dim=2).values,
    mean=lambda x: x.mean(dim=(1, 2)),
    median=lambda x: x.median(dim=2).values,
    min_all=lambda x: x * x.min(),
    min_dim=lambda x: x.min(dim=1).values,
    aminmax=lambda x: torch.stack(torch.aminmax(x, dim=2), dim=2),
    norm=lambda x: torch.linalg.vector_norm(x, dim=2),
    quantile=lambda x: x - torch.quantile(x, 0.3, dim=2, keepdim=True),
    quantiles=lambda x: torch.quantile(x, torch.tensor([0.1, 0.5, 0.9]), dim=2).permute(1, 2, 0),
    weight_norm=lambda x: F.linear(x, torch._weight_norm(kernel(4, 8), kernel(4, 1), 0)),
    weight_norm_learned=lambda x: torch._weight_norm(x.mean(0), kernel(3, 1), 0) * x,
    norm_one=lambda x: torch.linalg.vector_norm(x, ord=1, dim=2),
    normalize=lambda x: F.normalize(x, dim=2),
    pairwise_distance=lambda x: F.pairwise_distance(x.flatten(1), x.flatten(1).flip(1)),
    prod=lambda x: x.prod(dim=1),
    softmax=lambda x: F.softmax(x, dim=2),
    softmin=lambda x: F.softmin(x, dim=2),
    sort=lambda x: x.sort(dim=2).values * torch.arange(8),
    sort_descending=lambda x: x.sort(dim=2, descending=True).values * torch.arange(8),
    std=lambda x: x.std(dim=2),
    sum=lambda x: x.sum(dim=(1, 2)),
    topk=lambda x: x.topk(3, dim=2).values * torch.arange(3),
    topk_smallest=lambda x: x.topk(3, dim=1, largest=False).values,
    var=lambda x: x.var(dim=(1, 2), correction=0),
    var_mean=lambda x: torch.cat(torch.var_mean(x, dim=2), dim=1),
)

SHAPES = on(
    PLANE,
    as_chunks=lambda x: torch.cat([part * place for place, part in enumerate(x.chunk(3, dim=2), 1)], dim=2),
    block_diag=lambda x: x @ torch.block_diag(kernel(3, 3), kernel(4, 4)),
    broadcast_to=lambda x: x[:, :, :1].broadcast_to(x.shape[0], 2, 5, 7) * kernel(2, 5, 7),
    channel_shuffle=lambda x: F.channel_shuffle(x.repeat(1, 2, 1, 1), 2) * kernel(4, 6, 7),
    diagonal=lambda x: x.diagonal(dim1=2, dim2=3),
    expand=lambda x: x.unsqueeze(1).expand(-1, 3, -1, -1, -1) * kernel(3, 2, 6, 7),
    flip=lambda x: x.flip(1, 3) * kernel(2, 6, 7),
    movedim=lambda x: x.movedim(1, 3) * kernel(6, 7, 2),
    narrow=lambda x: x.narrow(2, 1, 3),
    one_hot=lambda x: x.flatten(1) @ F.one_hot(torch.arange(84) % 5, 5).to(x.dtype),
    pad_circular=lambda x: F.pad(x, (1, 2, 2, 1), mode="circular") * kernel(2, 9, 10),
    pad_constant=lambda x: F.pad(x, (1, 2, 0, 1), value=0.5),
    pad_negative=lambda x: F.pad(x, (-1, 2, 1, -2)),
    pad_reflect=lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect") * kernel(2, 9, 10),
    pad_replicate=lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate") * kernel(2, 9, 10),
    permute=lambda x: x.permute(0, 3, 1, 2) * kernel(7, 2, 6),
    pixel_shuffle=lambda x: F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2) * kernel(1, 12, 14),
    pixel_unshuffle=lambda x: F.pixel_unshuffle(x[..., :6], 2) * kernel(8, 3, 3),
    repeat=lambda x: x.repeat(1, 2, 1, 3) * kernel(4, 6, 21),
    repeat_interleave=lambda x: x.repeat_interleave(2, dim=2) * kernel(2, 12, 7),
    roll=lambda x: x.roll((1, -2), (2, 3)) * kernel(2, 6, 7),
    rot90=lambda x: torch.rot90(x, 1, (2, 3)) * kernel(2, 7, 6),
    select=lambda x: x[:, 1, -2],
    slices=lambda x: x[:, :, 1:5:2, ::3],
    slice_written=lambda x: torch.slice_scatter(x, x[:, :, :2] * 3, dim=2, start=2, end=4),
    slice_written_in_steps=lambda x: torch.slice_scatter(x, x[:, :, :3] * 3, dim=2, start=0, end=6, step=2),
    split=lambda x: torch.cat([part * place for place, part in enumerate(x.split([1, 3, 2], dim=2), 1)], dim=2),
    squeeze=lambda x: x[:, :, :1].squeeze(2),
    stack=lambda x: torch.stack([x, x * 2], dim=2),
    swapaxes=lambda x: x.swapaxes(1, 2) * kernel(6, 2, 7),
    tile=lambda x: x.tile(1, 1, 2, 1) * kernel(2, 12, 7),
    tril=lambda x: x.tril(1),
    triu=lambda x: x.triu(-1),
    unbind=lambda x: sum(part * place for place, part in enumerate(x.unbind(2), 1)),
    unflatten=lambda x: x.unflatten(2, (2, 3)) * kernel(2, 2, 3, 7),
    unfold=lambda x: x.unfold(3, 3, 2) * kernel(2, 6, 3, 3),
    written_in_place=lambda x: x * _mask(),
)


def _mask() -> Tensor:
    mask = torch.ones(6, 7)
    mask[0, 1:3] = 0.5
    mask[1] *= 2
    mask[..., 2] += mask[..., 3]
    return mask


INDEXING = on(
    PLANE,
    gather=lambda x: x.gather(2, (torch.arange(42).reshape(1, 1, 6, 7) % 6).expand(x.shape[0], 2, 6, 7)),
    index=lambda x: x[:, :, [0, 5, 5, 2]],
    index_add=lambda x: x.index_add(2, torch.tensor([1, 1, 4]), x[:, :, :3]),
    index_batch=lambda x: x[torch.arange(x.shape[0]), :, torch.arange(x.shape[0]) % 3],
    index_copy=lambda x: x.index_copy(2, torch.tensor([1, 4]), x[:, :, :2] * 2),
    index_fill=lambda x: x.index_fill(2, torch.tensor([1, 4]), 0.5),
    index_negative=lambda x: x[:, :, [-1, -2]],
    index_of_triangle=lambda x: x[:, :, *torch.cat([torch.triu_indices(6, 7, 1), torch.tril_indices(6, 5, -1)], 1)],
    index_of_two=lambda x: x[:, :, [0, 5, 2], [1, 1, 6]],
    index_of_two_apart=lambda x: x[:, [0, 1, 1], :, [3, 3, 0]].transpose(0, 1),
    index_spread=lambda x: x[:, :, torch.tensor([[0], [3]]), torch.tensor([1, 2, 2])],
    index_select=lambda x: x.index_select(3, torch.tensor([6, 0, 0])),
    index_written=lambda x: x.index_put((torch.tensor([0]), torch.tensor([1])), torch.tensor(2.0)),
    index_summed=lambda x: x.index_put(
        (torch.arange(x.shape[0]), torch.ones(x.shape[0], dtype=torch.int64)), x[:, 0] * 3, accumulate=True
    ),
    scatter=lambda x: x.scatter(2, torch.zeros_like(x[:, :, :1], dtype=torch.int64), x[:, :, 2:3]),
    scatter_number=lambda x: x.scatter(2, torch.ones_like(x[:, :, :1], dtype=torch.int64), 0.5),
    scatter_sum=lambda x: x.scatter_add(2, torch.ones_like(x, dtype=torch.int64), x),
    gather_sorted=lambda x: x.gather(2, x.argsort(dim=2)) * kernel(2, 6, 7),
)

MATRICES = on(
    LINE,
    addmm=lambda x: torch.addmm(kernel(4), x.flatten(1), kernel(24, 4), beta=0.5, alpha=2),
    baddbmm=lambda x: torch.baddbmm(x[:, :, :3], x, x.transpose(1, 2), beta=0.5, alpha=0.3),
    bilinear=lambda x: F.bilinear(x, x.flip(2), kernel(4, 8, 8), kernel(4)),
    bmm=lambda x: torch.bmm(x, x.transpose(1, 2)),
    cdist=lambda x: torch.cdist(x, kernel(4, 8)),
    cdist_of_the_batch=lambda x: torch.cdist(x.flatten(1), kernel(4, 24)),
    kron=lambda x: x @ torch.kron(kernel(2, 2), kernel(4, 3)),
    fliplr=torch.fliplr,
    transposed=lambda x: x.mT @ x,
    cross=lambda x: torch.linalg.cross(x, x.flip(2), dim=1),
    dot=lambda x: (x * kernel(3, 8)).sum(dim=(1, 2)),
    einsum=lambda x: torch.einsum("bij,jk,bik->bi", x, kernel(8, 5), x[:, :, :5]),
    eye=lambda x: x @ (torch.eye(8, 5) + torch.eye(8)[:, :5]),
    linear=lambda x: F.linear(x, kernel(5, 8), kernel(5)),
    matmul=lambda x: x @ kernel(8, 4),
    matmul_vector=lambda x: x @ kernel(8),
    outer=lambda x: x.unsqueeze(3) * x.unsqueeze(2),
    tensordot=lambda x: torch.tensordot(x, kernel(3, 8, 2), dims=([1, 2], [0, 1])),
)

CONVOLUTIONS = {
    **on(
        LINE,
        conv1d=lambda x: F.conv1d(x, kernel(4, 3, 3), kernel(4), stride=2, padding=1),
        conv1d_same=lambda x: F.conv1d(x, kernel(4, 3, 3), padding="same"),
        conv_transpose1d=lambda x: F.conv_transpose1d(x, kernel(3, 2, 3), stride=2, output_padding=1),
    ),
    **on(
        PLANE,
        conv2d=lambda x: F.conv2d(x, kernel(4, 2, 3, 2), stride=(2, 1), padding=(1, 0)),
        conv2d_along_columns=lambda x: F.conv2d(x, kernel(4, 2, 3, 1), kernel(4), padding=(2, 0), dilation=(2, 1)),
        conv2d_depthwise=lambda x: F.conv2d(x, kernel(4, 1, 3, 3), stride=2, groups=2),
        conv2d_dilated=lambda x: F.conv2d(x, kernel(3, 2, 2, 3), dilation=(2, 1), stride=(1, 2)),
        conv2d_padded_by_wrapping=lambda x: F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), kernel(3, 2, 3, 3)),
        conv_transpose2d=lambda x: F.conv_transpose2d(x, kernel(2, 3, 3, 3), stride=(2, 1), padding=1, dilation=(1, 2)),
        conv_transpose2d_grouped=lambda x: F.conv_transpose2d(x, kernel(2, 2, 3, 3), stride=2, groups=2),
        fold=lambda x: F.fold(x.flatten(2).repeat(1, 2, 1)[..., :30], (6, 7), (2, 2)),
        unfold=lambda x: F.unfold(x, (3, 2), padding=(1, 0), stride=(2, 1)),
    ),
    **on(
        VOLUME,
        conv3d=lambda x: F.conv3d(x, kernel(3, 2, 2, 3, 3), stride=(1, 2, 1), padding=(0, 1, 1)),
        conv_transpose3d=lambda x: F.conv_transpose3d(x, kernel(2, 2, 2, 2, 2), stride=2),
    ),
}

POOLS = {
    **on(
        LINE,
        adaptive_avg_pool1d=lambda x: F.adaptive_avg_pool1d(x, 3),
        adaptive_max_pool1d=lambda x: F.adaptive_max_pool1d(x, 3),
        avg_pool1d=lambda x: F.avg_pool1d(x, 3, stride=2, padding=1),
        lp_pool1d=lambda x: F.lp_pool1d(x.abs() + 0.1, 2.0, 3),
        max_pool1d=lambda x: F.max_pool1d(x, 3, stride=2, padding=1),
        interpolate_linear=lambda x: F.interpolate(x, size=13, mode="linear"),
        interpolate_nearest_1d=lambda x: F.interpolate(x, scale_factor=1.7),
    ),
    **on(
        PLANE,
        adaptive_avg_pool2d=lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
        adaptive_max_pool2d=lambda x: F.adaptive_max_pool2d(x, (4, 3)),
        avg_pool2d=lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
        avg_pool2d_divided=lambda x: F.avg_pool2d(x, 2, divisor_override=3),
        avg_pool2d_uncounted=lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        lp_pool2d=lambda x: F.lp_pool2d(x.abs() + 0.1, 2.0, 2),
        max_pool2d=lambda x: F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
        interpolate_bicubic=lambda x: F.interpolate(x, size=(9, 10), mode="bicubic"),
        interpolate_bilinear=lambda x: F.interpolate(x, scale_factor=(2, 1.5), mode="bilinear"),
        interpolate_corners=lambda x: F.interpolate(x, size=(11, 4), mode="bilinear", align_corners=True),
        interpolate_exact=lambda x: F.interpolate(x, size=(9, 5), mode="nearest-exact"),
        interpolate_nearest=lambda x: F.interpolate(x, scale_factor=2),
        interpolate_smaller=lambda x: F.interpolate(x, size=(4, 5)),
        affine_grid=lambda x: F.grid_sample(
            x, F.affine_grid(x[:, 0, :2, :3].tanh(), (x.shape[0], 2, 4, 5), align_corners=False), align_corners=False
        ),
        grid_sample=lambda x: F.grid_sample(x, kernel(1, 4, 5, 2).expand(x.shape[0], 4, 5, 2), align_corners=False),
    ),
    **on(
        VOLUME,
        adaptive_avg_pool3d=lambda x: F.adaptive_avg_pool3d(x, (2, 3, 2)),
        adaptive_max_pool3d=lambda x: F.adaptive_max_pool3d(x, (2, 3, 2)),
        avg_pool3d=lambda x: F.avg_pool3d(x, 2, padding=1, ceil_mode=True),
        avg_pool3d_divided=lambda x: F.avg_pool3d(x, 2, divisor_override=5),
        max_pool3d=lambda x: F.max_pool3d(x, (2, 3, 2), stride=2, padding=1),
        interpolate_trilinear=lambda x: F.interpolate(x, size=(5, 3, 8), mode="trilinear"),
        interpolate_nearest_3d=lambda x: F.interpolate(x, scale_factor=2),
    ),
}

NORMS = {
    **on(
        PLANE,
        group_norm=lambda x: F.group_norm(x.repeat(1, 2, 1, 1), 2, kernel(4), kernel(4)),
        instance_norm=lambda x: F.instance_norm(x, weight=kernel(2), bias=kernel(2)),
        layer_norm=lambda x: F.layer_norm(x, (6, 7), kernel(6, 7), kernel(6, 7)),
        local_response_norm=lambda x: F.local_response_norm(x.repeat(1, 2, 1, 1), 3),
        rms_norm=lambda x: F.rms_norm(x, (7,), kernel(7)),
    ),
    **on(
        LINE,
        attention=lambda x: F.scaled_dot_product_attention(x, x.flip(2), x * 2),
        attention_masked=lambda x: F.scaled_dot_product_attention(x, x.flip(2), x * 2, kernel(3, 3)),
        attention_causal=lambda x: F.scaled_dot_product_attention(x, x.flip(2), x * 2, is_causal=True),
        attention_grouped=lambda x: F.scaled_dot_product_attention(
            x.unsqueeze(1).repeat(1, 2, 1, 1), x.unsqueeze(1), x.unsqueeze(1), enable_gqa=True
        ),
        embedding=lambda x: F.embedding(x.argmax(dim=2), kernel(8, 4)) * x[:, :, :4],
    ),
}

LOSSES = on(
    VECTOR,
    binary_cross_entropy=lambda x: F.binary_cross_entropy(x.sigmoid(), x.flip(1).sigmoid(), reduction="none"),
    binary_cross_entropy_logits=lambda x: F.binary_cross_entropy_with_logits(x, x.flip(1).sigmoid(), reduction="none"),
    cross_entropy=lambda x: F.cross_entropy(x, x.flip(1).argmax(dim=1), reduction="none", label_smoothing=0.1),
    huber=lambda x: F.huber_loss(x, x.flip(1), reduction="none", delta=0.7),
    kl_div=lambda x: F.kl_div(x.log_softmax(dim=1), x.flip(1).softmax(dim=1), reduction="none"),
    l1=lambda x: F.l1_loss(x, x.flip(1) * 2, reduction="none"),
    mse=lambda x: F.mse_loss(x, x.flip(1), reduction="none"),
    smooth_l1=lambda x: F.smooth_l1_loss(x, x.flip(1), reduction="none"),
    gaussian_nll=lambda x: F.gaussian_nll_loss(x, x.flip(1), x.exp(), reduction="none"),
    multi_margin=lambda x: F.multi_margin_loss(x, x.flip(1).argmax(dim=1), reduction="none").unsqueeze(1),
    multilabel_soft_margin=lambda x: F.multilabel_soft_margin_loss(x, x.flip(1).sigmoid(), reduction="none").unsqueeze(
        1
    ),
)

GALLERY: Mapping[str, Mapping[str, Case]] = {
    "elementwise": ELEMENTWISE,
    "reductions": REDUCTIONS,
    "shapes": SHAPES,
    "indexing": INDEXING,
    "matrices": MATRICES,
    "convolutions": CONVOLUTIONS,
    "pools": POOLS,
    "norms": NORMS,
    "losses": LOSSES,
}
