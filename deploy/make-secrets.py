"""Makes the secrets of a platform, once: ``python3 deploy/make-secrets.py [DIRECTORY]``. What is there stays."""

import os
import secrets
import sys
from pathlib import Path


def make(directory: Path) -> list[str]:
    """Write those that are missing; their names. Containers of any user read them, nobody else enters the directory."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    postgres, redis = _kept(directory, "postgres_password"), _kept(directory, "redis_password")
    wanted = {
        "postgres_password": postgres,
        "redis_password": redis,
        "database_url": f"postgresql://coterie:{postgres}@postgres:5432/coterie",
        "redis_url": f"redis://:{redis}@redis:6379/0",
        "secret_key": secrets.token_hex(48),
        "signing_key": secrets.token_hex(32),
        "device_ca_key": secrets.token_hex(32),
        "s3_secret": secrets.token_hex(32),
    }
    made = []
    for name, content in wanted.items():
        try:
            descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
        made.append(name)
    return made


def _kept(directory: Path, name: str) -> str:
    path = directory / name
    return path.read_text() if path.exists() else secrets.token_hex(24)


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "secrets"
    print(f"made in {place}: {', '.join(make(place)) or 'nothing, all are there'}")
