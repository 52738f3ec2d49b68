"""What the agent takes of a device: memory idle and training, disk, and time to start."""

import hashlib
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import torch

from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.demo.pair import IMAGE, DeviceModel
from coterie_wire.bundle import BlobRef, Manifest, new_signing_key, sign_manifest, verify_key_of
from coterie_wire.tensors import encode_tensors
from coterie_wire.version import PROTOCOL
from tests.benchmarks.report import Figure
from tests.coterie_agent.bundles import Bundle
from tests.coterie_agent.fake_platform import PLAN, TOKEN, FakePlatform, fake_platform

ROOT = Path(__file__).parents[2]
EDGE_AGENT = ROOT / "edge_agent"
SAMPLES = 1000
MEGA = 1e6
READY = {"charging": "yes", "network": "wifi", "idle": "yes"}
ONE_EPOCH = {**PLAN, "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.05}}
LONG = {**PLAN, "local": {"kind": "sgd", "epochs": 1000, "learning_rate": 0.001}}
IMPORT_RUNS = 5
SAMPLED_S = 10
INSTALLER = ("pip", "setuptools", "_distutils_hack", "pkg_resources")


def measure() -> list[Figure]:
    return [*_memory_and_start(), *_imports(), _installed_size()]


def _memory_and_start() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory, fake_platform(_demo_bundle()) as platform:
        home = Path(directory)
        _prepare(home, platform)
        with _running(home) as process:
            platform.wait_for(lambda: platform.check_ins)
            idle = _peak_rss(process, seconds=3)
            yield _target("demo CNN", "RSS idle", idle / MEGA, "MB")
            cpu = process.cpu_times()
            time.sleep(SAMPLED_S)
            used = process.cpu_times()
            share = (used.user + used.system - cpu.user - cpu.system) / SAMPLED_S
            yield Figure("idle", "processor", 100 * share, "% of a core")
            for case, name in (("first round, model downloaded", "first"), ("later round, model there", "later")):
                started = time.perf_counter()
                platform.assign(name, plan=ONE_EPOCH)
                platform.wait_for(lambda name=name: name in platform.accepted)
                yield Figure(case, "assignment to update accepted, 1 epoch", time.perf_counter() - started, "s")
            platform.assign("long", plan=LONG)
            platform.wait_for(lambda: _stage(platform) == "training")
            training = _peak_rss(process, seconds=SAMPLED_S)
            yield _target("demo CNN", "RSS training", training / MEGA, "MB", target=90)


def _imports() -> Iterator[Figure]:
    bare = _seconds("pass")
    for command in ("status", "run"):
        yield Figure(command, "import time", 1000 * (_seconds(f"import coterie_agent.commands.{command}") - bare), "ms")


def _installed_size() -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        python = Path(directory) / "bin" / "python"
        install = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            ROOT / "constraints.txt",
        ]
        subprocess.run([*install, EDGE_AGENT], check=True)
        (site,) = Path(directory).glob("lib/python*/site-packages")
        size = sum(
            path.stat().st_size
            for part in site.iterdir()
            if not part.name.startswith(INSTALLER)
            for path in (part.rglob("*") if part.is_dir() else (part,))
            if path.is_file()
        )
    return _target("pip install", "installed size", size / MEGA, "MB", target=160)


def _demo_bundle() -> Bundle:
    torch.set_num_threads(1)
    compiled = compile_model(export_module(DeviceModel(), (torch.zeros(2, *IMAGE),)), batch_size=32)
    contents = (compiled.train_step, compiled.predict, encode_tensors(compiled.parameters))
    refs = [BlobRef(hashlib.sha256(content).hexdigest(), len(content)) for content in contents]
    manifest = Manifest(
        protocol=PROTOCOL,
        pair="demo",
        version="v1",
        number=1,
        model=compiled.spec,
        labels=tuple(str(digit) for digit in range(compiled.spec.classes)),
        train_step=refs[0],
        predict=refs[1],
        parameters=refs[2],
    )
    key = new_signing_key()
    blobs = {ref.sha256: content for ref, content in zip(refs, contents, strict=True)}
    return Bundle(manifest, sign_manifest(manifest, key), verify_key_of(key), blobs)


def _prepare(home: Path, platform: FakePlatform) -> None:
    home.joinpath("agent.toml").write_text('conditions_file = "conditions.json"\nconsent.more = "accept"\n')
    home.joinpath("conditions.json").write_text(json.dumps(READY))
    rng = np.random.default_rng(0)
    x = rng.random((SAMPLES, *IMAGE), dtype=np.float32)
    np.savez(home / "samples.npz", x=x, y=rng.integers(0, 10, SAMPLES))
    subprocess.run(
        [*_agent(home), "join", platform.url, TOKEN, "--yes"], check=True, cwd=EDGE_AGENT, stdout=subprocess.DEVNULL
    )
    ingest = [*_agent(home), "ingest", str(home / "samples.npz")]
    subprocess.run(ingest, check=True, cwd=EDGE_AGENT, stdout=subprocess.DEVNULL)


@contextmanager
def _running(home: Path) -> Iterator[psutil.Process]:
    with subprocess.Popen([*_agent(home), "run"], cwd=EDGE_AGENT, stderr=subprocess.DEVNULL) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def _agent(home: Path) -> list[str]:
    return [sys.executable, "-m", "coterie_agent", "--home", str(home)]


def _stage(platform: FakePlatform) -> str | None:
    progress = platform.check_ins[-1].progress
    return progress.stage if progress else None


def _peak_rss(process: psutil.Process, *, seconds: float) -> int:
    until = time.monotonic() + seconds
    peak = 0
    while time.monotonic() < until:
        peak = max(peak, process.memory_info().rss)
        time.sleep(0.05)
    return peak


def _seconds(code: str) -> float:
    """The quickest of some runs: what the program takes when nothing else does."""
    durations: list[float] = []
    for _ in range(IMPORT_RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=EDGE_AGENT)
        durations.append(time.perf_counter() - started)
    return min(durations)


def _target(case: str, metric: str, value: float, unit: str, *, target: float | None = None) -> Figure:
    if target is None:
        return Figure(case, metric, value, unit)
    return Figure(case, metric, value, unit, against=f"target <= {target:g} {unit}", ratio=target / value)
