"""A host that trains needs `pip install 'coterie[cluster]'`: nothing that only other extras bring."""

import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec

from tests.coterie.cloud.training import arguments_of, write_job

ROOT = Path(__file__).parents[2]
MODULES = {
    "coterie[demo]": "sklearn",
    "coterie[oidc]": "mozilla_django_oidc",
    "coterie[recipes]": "PIL",
    "coterie[s3]": "obstore",
    "coterie[simulation]": "matplotlib",
    "coterie[telemetry]": "opentelemetry",
    "coterie[wandb]": "wandb",
    "coterie[ray]": "ray",
}
"""Of each other extra, one that nothing else brings."""
TRAIN = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[2].split(",")))  # None: importing it raises ImportError
import msgspec
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments
told = []
bootstrap_stored(msgspec.json.decode(sys.argv[1], type=BootstrapArguments), told.append)
print(len(told))
"""


def test_the_extra_brings_the_platform_and_no_other_one() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras["cluster"] == ["coterie[platform]"]
    assert not MODULES.keys() & {*extras["platform"], *extras["sdk"]}
    assert {f"coterie[{name}]" for name in extras} - {"coterie[cluster]", "coterie[platform]", "coterie[sdk]"} == {
        *MODULES,
        "coterie[dev]",
    }


def test_it_trains_without_what_other_extras_bring(tmp_path: Path) -> None:
    write_job(tmp_path)
    job = msgspec.json.encode(arguments_of(tmp_path, {"kind": "one_process"}, epochs=2)).decode()
    path = ":".join(str(ROOT / source) for source in ("platform", "edge_agent"))
    command = [sys.executable, "-c", TRAIN, job, ",".join(MODULES.values())]
    ran = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": path}, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "2"), ran.stderr
