"""Bring a model to a platform from a script or a notebook: ``from coterie import sdk`` (install ``coterie[sdk]``)."""

from coterie.offline.check import Checked
from coterie.sdk.checking import check
from coterie.sdk.errors import (
    EvaluationFailed,
    InvalidPlan,
    JobFailed,
    NotOne,
    NoVersion,
    OtherModule,
    Refused,
    Rejected,
    SdkError,
    Unreachable,
)
from coterie.sdk.federation import Federation
from coterie.sdk.plans import plan, presets
from coterie.sdk.platform import Platform, connect
from coterie.sdk.records import Dataset, Evaluation, Pair, Round, SimulationRun, Version
from coterie.sdk.simulating import (
    ComparedWays,
    Proposed,
    Simulated,
    SimulatedUsers,
    Swept,
    compare_ways,
    propose_plans,
    simulate,
    simulate_fleet,
    sweep,
)
from coterie.sdk.table import Table
from coterie_wire.length import Length

__all__ = [
    "Checked",
    "ComparedWays",
    "Dataset",
    "Evaluation",
    "EvaluationFailed",
    "Federation",
    "InvalidPlan",
    "JobFailed",
    "Length",
    "NoVersion",
    "NotOne",
    "OtherModule",
    "Pair",
    "Platform",
    "Proposed",
    "Refused",
    "Rejected",
    "Round",
    "SdkError",
    "Simulated",
    "SimulatedUsers",
    "SimulationRun",
    "Swept",
    "Table",
    "Unreachable",
    "Version",
    "check",
    "compare_ways",
    "connect",
    "plan",
    "presets",
    "propose_plans",
    "simulate",
    "simulate_fleet",
    "sweep",
]
