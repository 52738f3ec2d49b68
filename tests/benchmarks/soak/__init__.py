"""Soak: whether a platform in scaled mode that works for hours holds as much at the end as after its first minutes.

Two web processes, a worker and a beat, with 300 sockets that come and go, check-ins, rounds back to back in two
federations, readers, a webhook and an exporter. What is kept for days is kept for minutes
(`tests.benchmarks.processes.short_retention`), so that each thing is removed as often as in weeks. Samples are appended
to ``build/bench/soak.jsonl``. ``SOAK_SECONDS`` shortens it.
"""

import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.report import DIRECTORY, Figure
from tests.benchmarks.soak.load import Load, receiver
from tests.benchmarks.soak.processes import Soaked, soaked
from tests.benchmarks.soak.sampling import Sample, Sampler, processor_s
from tests.benchmarks.soak.slopes import slope_of

SECONDS = 7200.0
EVERY_S, LEAST_SAMPLES = 10.0, 100
WARM_UP = 0.25
"""Of all the time; what comes before is in the samples and in no figure."""
DEVICES, SOCKETS = 600, 300
SAMPLES = DIRECTORY / "soak.jsonl"
NOT_SLOPES = ("processor", "bytes, MiB: index")


def measure() -> list[Figure]:
    seconds = float(os.environ.get("SOAK_SECONDS", SECONDS))
    with (
        tempfile.TemporaryDirectory() as directory,
        soaked(Path(directory), devices=DEVICES, awake=SOCKETS) as platform,
    ):
        load = Load(platform.urls, platform.seeded.token, devices=DEVICES, sockets=SOCKETS)
        samples = asyncio.run(_soak(platform, load, seconds))
    return figures(samples, load.done, load.problems)


async def _soak(platform: Soaked, load: Load, seconds: float) -> list[Sample]:
    ended = asyncio.Event()
    SAMPLES.parent.mkdir(parents=True, exist_ok=True)
    async with receiver(load) as hook:
        seeded = platform.seeded
        await asyncio.to_thread(load.begin, seeded.pairs, seeded.held_out, hook)
        playing = asyncio.create_task(load.play(ended))
        found = []
        with Sampler(platform) as sampler, SAMPLES.open("wb") as kept:
            while (sample := await asyncio.to_thread(sampler.sample)).at_s < seconds:
                found.append(sample)
                kept.write(msgspec.json.encode(sample) + b"\n")
                kept.flush()
                _tell(sample, load)
                await asyncio.wait([playing], timeout=min(EVERY_S, seconds / LEAST_SAMPLES))
                if playing.done():
                    break
        ended.set()
        await playing
    return found


def figures(samples: Sequence[Sample], done: Counter[str], problems: Counter[str]) -> list[Figure]:
    """What the samples say after the warm-up, a slope for each thing that was sampled."""
    steady = samples[int(WARM_UP * len(samples)) :]
    at_s = [sample.at_s for sample in steady]
    lasted_s = at_s[-1] - at_s[0]
    case = f"{at_s[-1] / 60:.0f} min, of which {lasted_s / 60:.0f} after the warm-up"
    taken_s = processor_s(steady[-1].values) - processor_s(steady[0].values)
    found = [Figure(case, "processor of the platform's processes", taken_s / lasted_s, "cores")]
    whole = f"{at_s[-1] / 60:.0f} min, the warm-up included"
    found += [Figure(whole, what, count, "times") for what, count in sorted(done.items())]
    found += [Figure(whole, f"failed: {what}", count, "times", "target 0") for what, count in sorted(problems.items())]
    for name in steady[-1].values:
        if not name.startswith(NOT_SLOPES):
            mean, per_hour, within = slope_of(at_s, [sample.values.get(name, 0.0) for sample in steady])
            found.append(Figure(name, "mean", mean, ""))
            found.append(Figure(name, "slope an hour", per_hour, "", f"± {within:.3g} (95 %)"))
    return found


def _tell(sample: Sample, load: Load) -> None:
    memory = " ".join(f"{value:.0f}" for name, value in sample.values.items() if name.startswith("memory"))
    did = f"{load.done.total()} done, {load.problems.total()} failed"
    sys.stderr.write(f"{sample.at_s:.0f} s: memory {memory} MiB, {processor_s(sample.values):.0f} s taken, {did}\n")
