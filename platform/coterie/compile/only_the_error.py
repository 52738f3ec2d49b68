"""What PyTorch logs and prints of an export that fails, beside the error that it raises, from which our sentence is."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from torch.export import _trace

LOGGERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")


@contextmanager
def only_the_error() -> Iterator[None]:
    """Within the block, PyTorch tells no traceback of an operator and no graph as far as it was traced."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(_is_detail)
    _trace.__dict__["print"] = lambda *_, **__: None  # in the place of the built-in one
    try:
        yield
    finally:
        _trace.__dict__.pop("print", None)
        for logger in loggers:
            logger.removeFilter(_is_detail)


def _is_detail(record: logging.LogRecord) -> bool:
    """Whether somebody has asked for it, by ``TORCH_LOGS``."""
    return record.levelno < logging.WARNING
