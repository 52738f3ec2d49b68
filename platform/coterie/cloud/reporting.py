"""The report on a pair that a pre-flight accepts, measured in a process without PyTorch."""

from pathlib import Path

from coterie.child.run import run_child
from coterie.cloud.preflight_job import LIMITS, PreflightArguments
from coterie.cloud.strategy import Splits
from coterie.compile.compiled import CompiledModel
from coterie.compile.device_classes import estimate_devices
from coterie.compile.graph_facts import measure_gflops, operators_of
from coterie.compile.pair_report import PairReport
from coterie.compile.step_cost_job import JOB as MEASURE
from coterie.compile.step_cost_job import MeasureArguments


def report_pair(
    arguments: PreflightArguments,
    compiled: CompiledModel,
    *,
    cloud_parameters: int | None,
    splits: Splits | None,
    teacher_problem: str | None,
) -> PairReport:
    """Measure the files that the pre-flight has written. Raises OutOfMemory, OutOfTime or Crashed."""
    frozen = arguments.frozen if compiled.frozen else None
    measure = MeasureArguments(
        compiled.spec, arguments.train_step, arguments.parameters, frozen, ranges=dict(compiled.ranges)
    )
    measured, gflops = run_child(MEASURE, measure, limits=LIMITS), measure_gflops()
    return PairReport(
        device_parameters=sum(compiled.parameters[spec.name].size for spec in compiled.spec.parameters),
        cloud_parameters=cloud_parameters,
        teacher_problem=teacher_problem,
        cloud_splits=None if splits is None else splits.modules,
        cloud_obstacle="" if splits is None else splits.obstacle,
        operators=operators_of(compiled.train_step),
        train_step_bytes=len(compiled.train_step),
        predict_bytes=len(compiled.predict),
        parameters_bytes=Path(arguments.parameters).stat().st_size,
        frozen_bytes=0 if frozen is None else Path(frozen).stat().st_size,
        step_s=measured.step_s,
        step_memory_bytes=measured.step_memory_bytes,
        process_memory_bytes=measured.process_memory_bytes,
        gflops=gflops,
        devices=estimate_devices(
            step_s=measured.step_s, process_memory_bytes=measured.process_memory_bytes, gflops=gflops
        ),
    )
