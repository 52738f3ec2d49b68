"""Where bytes lie is a matter of the environment alone."""

from pathlib import Path

import msgspec
import pytest
from django.core.files.storage import StorageHandler

from coterie.config.env import Env
from coterie.config.stores import stored_in
from coterie.storage.files import DurableFileSystemStorage
from coterie.storage.objects import ObjectStorage

SCALED = {
    "COTERIE_MODE": "scaled",
    "COTERIE_DATABASE_URL": "postgresql://u:p@h/n",
    "COTERIE_REDIS_URL": "redis://h",
    "COTERIE_SECRET_KEY": "s",
    "COTERIE_SIGNING_KEY": "00" * 32,
}
BUCKET = {"COTERIE_S3_BUCKET": "coterie", "COTERIE_S3_KEY_ID": "k", "COTERIE_S3_SECRET": "s"}


def store(environ: dict[str, str], state: Path) -> object:
    return StorageHandler({"default": stored_in("blobs", Env.read(environ), state)})["default"]


def test_a_bucket_takes_the_place_of_a_directory(tmp_path: Path) -> None:
    files, objects = store(SCALED, tmp_path), store(SCALED | BUCKET, tmp_path)
    assert isinstance(files, DurableFileSystemStorage) and isinstance(objects, ObjectStorage)
    assert files.place("ab/c") == objects.place("ab/c") == "blobs/ab/c"


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        (BUCKET, "scaled mode"),
        (SCALED | BUCKET | {"COTERIE_S3_SECRET": ""}, "belong together"),
        (SCALED | {"COTERIE_DOWNLOADS": "presigned"}, "needs COTERIE_S3_BUCKET"),
        (SCALED | BUCKET | {"COTERIE_S3_ENDPOINT": "s3.example"}, "COTERIE_S3_ENDPOINT must look like"),
        (SCALED | {"COTERIE_SECRET_KEY_FILE": "/x"}, "both set"),
        ({"COTERIE_SECRET_KEY_FILE": "/missing"}, "COTERIE_SECRET_KEY_FILE: "),
        ({"COTERIE_MODE_FILE": "/x"}, "unknown variables: COTERIE_MODE_FILE"),
    ],
)
def test_what_does_not_fit_is_said(environ: dict[str, str], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        Env.read(environ)


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("kept apart\n")
    given = {name: value for name, value in SCALED.items() if name != "COTERIE_SECRET_KEY"}
    env = Env.read(given | {"COTERIE_SECRET_KEY_FILE": str(tmp_path / "secret")})
    assert env.secret_key == "kept apart"
