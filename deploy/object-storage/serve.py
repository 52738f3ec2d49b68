"""OpenStack Swift on one disk, behind its S3 interface: four servers that are started, and end, together.

The directory `--root` holds everything; its file system must know extended attributes (ext4, xfs). The bucket is made
if it is not there. The secret is read from a file; the key's name is `fleet:platform`.
"""

import argparse
import getpass
import hashlib
import hmac
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

KEY_ID, REGION = "fleet:platform", "us-east-1"
KINDS = ("account", "container", "object")
STARTED_S = 60.0
STORAGE_SERVER = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
devices = {root}/node
mount_check = false
user = {user}
swift_dir = {root}
log_name = {kind}
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
PROXY_SERVER = """
[DEFAULT]
bind_ip = {host}
bind_port = {port}
workers = 0
user = {user}
swift_dir = {root}
log_name = proxy
[pipeline:main]
pipeline = catch_errors cache s3api tempauth bulk slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = {region}
[filter:tempauth]
use = egg:swift#tempauth
user_fleet_platform = {secret} .admin
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


def main() -> int:
    """Serve until a signal or the end of one server ends all; the status of the one that ended by itself."""
    given = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    programs = Path(sys.executable).parent
    secret = given.secret_file.read_text().strip()
    _prepare(given.root, programs, given.inner_port)
    servers: list[subprocess.Popen[bytes]] = []
    try:
        for number, kind in enumerate((*KINDS, "proxy")):
            text = PROXY_SERVER if kind == "proxy" else STORAGE_SERVER
            port = given.port if kind == "proxy" else given.inner_port + number
            file = given.root / f"{kind}.conf"
            file.touch(mode=0o600)
            file.write_text(
                text.format(
                    kind=kind,
                    host=given.host,
                    port=port,
                    root=given.root,
                    user=getpass.getuser(),
                    region=REGION,
                    secret=secret,
                )
            )
            servers.append(subprocess.Popen([programs / f"swift-{kind}-server", file]))
        _make_bucket(f"http://127.0.0.1:{given.port}/{given.bucket}", secret)
        while all(server.poll() is None for server in servers):
            time.sleep(0.5)
        return max(server.returncode or 1 for server in servers if server.poll() is not None)
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()


def signed(method: str, url: str, secret: str) -> dict[str, str]:
    """The headers of a request without a body under AWS Signature Version 4."""
    place, empty = urlsplit(url), hashlib.sha256(b"").hexdigest()
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{REGION}/s3/aws4_request"
    headers = {"host": place.netloc, "x-amz-content-sha256": empty, "x-amz-date": moment}
    names = ";".join(headers)
    canonical = "\n".join(
        [method, place.path, place.query, *(f"{name}:{value}" for name, value in headers.items()), "", names, empty]
    )
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for word in scope.split("/"):
        key = hmac.digest(key, word.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    credential = f"Credential={KEY_ID}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {credential}"}


def _prepare(root: Path, programs: Path, inner_port: int) -> None:
    """Rings of one disk, which are kept: whoever made them anew would lose the objects."""
    (root / "node" / "sda").mkdir(parents=True, exist_ok=True)
    hashed = root / "swift.conf"
    if not hashed.exists():
        hashed.write_text("[swift-hash]\nswift_hash_path_prefix = coterie\nswift_hash_path_suffix = objects\n")
    for number, kind in enumerate(KINDS):
        ring = root / f"{kind}.builder"
        if (root / f"{kind}.ring.gz").exists():
            continue
        for arguments in (
            ("create", "8", "1", "0"),
            ("add", f"r1z1-127.0.0.1:{inner_port + number}/sda", "1"),
            ("rebalance",),
        ):
            subprocess.run([programs / "swift-ring-builder", ring, *arguments], check=True, stdout=subprocess.DEVNULL)


def _make_bucket(url: str, secret: str) -> None:
    ends_at = time.monotonic() + STARTED_S
    while True:
        request = urllib.request.Request(url, method="PUT", headers=signed("PUT", url, secret))
        try:
            with urllib.request.urlopen(request, timeout=10):
                return
        except urllib.error.HTTPError as error:
            if error.code == 409:  # it is there
                return
            problem: OSError = error
        except OSError as error:
            problem = error
        if time.monotonic() > ends_at:
            raise problem
        time.sleep(0.2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--inner-port", type=int, default=6200, help="the first of three between the servers")
    parser.add_argument("--bucket", default="coterie")
    parser.add_argument("--secret-file", type=Path, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
