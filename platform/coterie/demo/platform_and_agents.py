"""The demo's platform, ready, with an operator signed in; and the agents that join it."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from coterie.accounts.selectors import operator_named
from coterie.accounts.services import sign_in_path
from coterie.demo.api import Api, token_of
from coterie.demo.devices import DemoDevice
from coterie.demo.screen import Screen
from coterie.demo.server import DemoServer


@contextmanager
def platform_ready(
    *, state: Path, port: int, screen: Screen, environment: Mapping[str, str]
) -> Iterator[tuple[str, Api]]:
    """A platform's address and an operator's session, until the block ends. Raises ServerFailed or ApiFailed."""
    with DemoServer(port=port, log=state / "platform.log", environment=environment) as server:
        server.wait_until_ready()
        assert server.operator is not None, "a fresh platform names its first operator"
        name, password = server.operator.name, Path(server.operator.password_file).read_text()
        screen.open_at(server.url + sign_in_path(operator=operator_named(name)))
        with Api(server.url, token=token_of(server.url, operator=name, password=password)) as api:
            yield server.url, api


def join_all(
    joining: Mapping[str, Sequence[DemoDevice]], url: str, tokens: Mapping[str, str], ending: threading.Event
) -> None:
    """Enrol and start devices, given by tag with the token that lets them in, until `ending` is set."""
    for tag, devices in joining.items():
        for device in devices:
            if ending.is_set():
                return
            device.join(url, tokens[tag])
            device.start()
