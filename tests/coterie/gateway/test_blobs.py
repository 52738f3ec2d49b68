import hashlib
from pathlib import Path

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from coterie.registry.content import BLOBS
from tests.coterie.world import make_device, make_pair

pytestmark = pytest.mark.django_db(transaction=True)

GRAPH = bytes(range(256)) * 4096  # longer than one chunk
NAME = hashlib.sha256(GRAPH).hexdigest()
BEARER = {"Authorization": "Bearer kiosk"}


@pytest.fixture(autouse=True)
def _world() -> None:
    make_device("kiosk")
    make_pair(predict=GRAPH)


async def test_sends_a_graph_whole_and_says_that_it_never_changes(http: httpx.AsyncClient) -> None:
    answer = await http.get(f"blobs/{NAME}", headers=BEARER)
    assert answer.content == GRAPH
    assert answer.headers["etag"] == f'"{NAME}"'
    assert "immutable" in answer.headers["cache-control"]
    again = await http.get(f"blobs/{NAME}", headers={**BEARER, "If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_goes_on_where_a_download_broke(http: httpx.AsyncClient) -> None:
    headers = {**BEARER, "Range": "bytes=300000-", "If-Range": f'"{NAME}"'}
    answer = await http.get(f"blobs/{NAME}", headers=headers)
    assert (answer.status_code, answer.content) == (206, GRAPH[300_000:])
    assert answer.headers["content-range"] == f"bytes 300000-{len(GRAPH) - 1}/{len(GRAPH)}"
    other = await http.get(f"blobs/{NAME}", headers={**headers, "If-Range": '"other"'})
    assert (other.status_code, len(other.content)) == (200, len(GRAPH))
    behind = await http.get(f"blobs/{NAME}", headers={**BEARER, "Range": f"bytes={len(GRAPH)}-"})
    assert (behind.status_code, behind.json()["code"]) == (416, "gateway.range_not_satisfiable")


async def test_head_tells_the_size(http: httpx.AsyncClient) -> None:
    answer = await http.head(f"blobs/{NAME}", headers=BEARER)
    assert (answer.headers["content-length"], answer.content) == (str(len(GRAPH)), b"")


@pytest.mark.parametrize("sha256", [hashlib.sha256(b"device program").hexdigest(), "0" * 64, "..%2f..%2fsecret-key"])
async def test_what_devices_may_not_see_is_not_there(sha256: str, http: httpx.AsyncClient) -> None:
    answer = await http.get(f"blobs/{sha256}", headers=BEARER)
    assert answer.status_code == 404


async def test_damaged_files_are_not_sent_and_devices_are_told_to_come_again(http: httpx.AsyncClient) -> None:
    graph = b"a graph that the disk has damaged"
    await sync_to_async(make_pair)("damaged", predict=graph)
    sha256 = hashlib.sha256(graph).hexdigest()
    (Path(settings.STATE) / BLOBS.place(sha256)).write_bytes(graph.replace(b"disk", b"desk"))
    for _ in range(2):
        answer = await http.get(f"blobs/{sha256}", headers=BEARER)
        assert (answer.status_code, answer.json()["code"]) == (503, "registry.blob_damaged")
    BLOBS.delete(sha256)


async def test_strangers_are_refused(http: httpx.AsyncClient) -> None:
    assert (await http.get(f"blobs/{NAME}")).status_code == 401
