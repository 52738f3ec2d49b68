"""The work of job `bootstrap`: train the cloud model on its initial data set (Colla, stage 1), in PyTorch."""

from collections.abc import Callable

from coterie.child.job import ReportProgress, load_work
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.computing import translated_errors
from coterie.cloud.strategies import parse_strategy


def bootstrap_stored(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Train by the strategy, keep the epoch that is best on the validation samples, and write its parameters.

    Raises MalformedDataset, Diverged, WorkersDied, NoGpu, GpuFull, CannotCompile, or what `load_upload` and
    `CloudProgram` raise.
    """
    train: Callable[[BootstrapArguments, ReportProgress], BootstrapResult] = load_work(
        parse_strategy(arguments.strategy).work
    )
    with translated_errors():
        return train(arguments, report)
