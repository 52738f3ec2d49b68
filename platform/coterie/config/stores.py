"""Where bytes are stored, by the environment: in a directory of the state, or in an object storage."""

from pathlib import Path

from coterie.config.env import Env


def stored_in(folder: str, env: Env, state: Path) -> dict[str, object]:
    """The entry of Django's ``STORAGES`` for the contents of `folder`."""
    if not env.s3_bucket:
        return {
            "BACKEND": "coterie.storage.files.DurableFileSystemStorage",
            "OPTIONS": {"location": state / folder, "file_permissions_mode": 0o600},
        }
    return {
        "BACKEND": "coterie.storage.objects.ObjectStorage",
        "OPTIONS": {
            "folder": folder,
            "bucket": env.s3_bucket,
            "prefix": env.s3_prefix.strip("/"),
            "endpoint": env.s3_endpoint,
            "public_endpoint": env.s3_public_endpoint,
            "region": env.s3_region,
            "key_id": env.s3_key_id,
            "secret": env.s3_secret,
        },
    }
