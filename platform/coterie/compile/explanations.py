"""Advice for the messages with which PyTorch rejects a model."""

import re

OWN_GRADIENT = (
    "torch.export leaves the gradient of {0} out, a torch.autograd.Function; write what it computes with operators, "
    "and a straight-through estimator as x + (f(x) - x).detach()"
)
EXPLANATIONS = {
    r"\.numpy\(\)": "it turns tensors into NumPy arrays, where no graph can follow; compute with torch",
    r"(\w+) is a torch\.autograd\.Function": OWN_GRADIENT,
    r"modified by an inplace operation": (
        "a tensor is overwritten that the gradient still needs; write y = y + 1 in place of y += 1, "
        "torch.where(…) in place of y[…] = 0, and read a copy of a buffer, buffer.clone(), before it is written"
    ),
    r"uninitialized parameter": "call the model on the example once, so that its lazy layers learn their sizes",
    r"cuda|CUDA|\bmps\b|\bxpu\b": "it moves to a device; leave .cuda() and .to(device) out, and export model.cpu()",
    r"__format__": "it writes numbers out; leave print and format out of the model",
    r"functions with out=|\.out\b": (
        "it writes into a tensor by out=; use what the function gives (coterie.sdk exports spectral_norm so)"
    ),
    r"aten\._?ctc_loss": (
        "ctc_loss takes lengths as tensors, which are known for each sample: torch.full((x.shape[0],), frames) and "
        "(targets != 0).sum(dim=1)"
    ),
    r"batched == nullptr|vmap|BatchedTensor": (
        "torch.vmap leaves no graph; write the batch's axis out, with broadcasting or torch.einsum"
    ),
    r"[Ss]parse": "use dense tensors",
    r"INTERNAL ASSERT": "PyTorch itself cannot trace it; write it with other operators",
    r"derivative for (?:aten::)?(\w+) is not implemented": (
        "{0} has no gradient; say .detach() of what needs none, and write the rest with functions that have one"
    ),
}
SHAPES = re.compile(
    r"reduction dim|must match|is invalid for input|cannot be multiplied|expected .* to have|size mismatch"
)
MAX_QUOTED = 200


def explain(words: str) -> str:
    """The problem and its remedy, for PyTorch's message `words`, of which only those about shapes are quoted."""
    for pattern, advice in EXPLANATIONS.items():
        if found := re.search(pattern, words):
            return advice.format(*found.groups())
    quoted = _with_names(words)[:MAX_QUOTED]
    if SHAPES.search(words):
        return f"shapes do not fit ({quoted}): see that the model runs on the example, and on a batch of another size"
    return (
        f"PyTorch stops with {quoted!r}: see that the model runs on the example, and on a batch of another size; then "
        "write what stands there with other operators"
    )


def _with_names(words: str) -> str:
    """Dynamic sizes by names that people know."""
    symbols = set(re.findall(r"\bs\d+\b", words))
    return re.sub(r"\bs\d+\b", "batch" if len(symbols) == 1 else "batch or length", words.strip().rstrip("."))
