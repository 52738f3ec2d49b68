"""One call of another program, over within a deadline whatever that program does."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import closing
from functools import partial

import httpx

from coterie.webhooks.addresses import Target, resolve

DEADLINE_S = 10.0
"""For everything together: name resolution, connecting, sending, and the head of the answer."""


def call(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allowed_hosts: Collection[str],
    deadline_s: float = DEADLINE_S,
) -> int:
    """POST to exactly the address that was checked, and return the HTTP status; the answer's body is not read.

    Redirects are not followed. Raises AddressRefused, httpx.HTTPError, httpx.InvalidURL or TimeoutError.
    """
    # Not asyncio.run, which at its end waits for the thread that resolves a name, however long that takes.
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(asyncio.wait_for(_call(url, body, headers, allowed_hosts), deadline_s))


async def _call(url: str, body: bytes, headers: Mapping[str, str], allowed_hosts: Collection[str]) -> int:
    look_up = partial(resolve, url, allowed_hosts=allowed_hosts)
    # Resolved each time: the addresses of a name change.
    target: Target = await asyncio.get_running_loop().run_in_executor(None, look_up)
    host = f"[{target.address}]" if ":" in target.address else target.address
    name = target.host if target.port in (80, 443) else f"{target.host}:{target.port}"
    # The deadline around this call limits the whole: httpx's own limits restart with each byte that arrives.
    async with (
        httpx.AsyncClient(timeout=None, follow_redirects=False, trust_env=False) as client,  # noqa: S113
        client.stream(
            "POST",
            f"{target.scheme}://{host}:{target.port}{target.path}",
            content=body,
            headers={**headers, "Host": name},
            extensions={"sni_hostname": target.host},
        ) as answer,
    ):
        return answer.status_code
