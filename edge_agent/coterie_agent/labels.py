"""For programs on this device: hand the running agent what was seen, and what its owner may be asked about.

from coterie_agent.labels import Labels

labels = Labels()
labels.observe(features_of(photo), y=album)             # the owner has filed the photo: its label is implied
labels.ask_label(features_of(photo), shown="14:05")     # nobody knows: the owner may be asked on the device's page
"""

import http.client
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import msgspec

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import DEFAULT_HOME, Home
from coterie_agent.label_api import Waiting
from coterie_agent.local_api import Added
from coterie_agent.loopback import Address
from coterie_wire.errors import UNREADABLE
from coterie_wire.messages import Problem
from coterie_wire.structs import from_json

T = TypeVar("T", bound=msgspec.Struct)
Features = Sequence[float] | Mapping[str, Sequence[float]]
"""One sample, flattened in the order of the model's inputs, or by their names."""
_TIMEOUT_S = 30.0


class Labels:
    """The agent that lives in `home`; any thread may use it.

    Methods raise AgentError: with the code of the agent's answer, e.g. ``ingest.wrong_width``, or
    ``local_api.not_running``.
    """

    def __init__(self, home: Path = DEFAULT_HOME) -> None:
        self._file = Home(home.expanduser()).local_api

    def observe(self, x: Features, y: float | Sequence[float]) -> int:
        """Keep a sample whose class or target `y` the program saw happen; how many samples there are then."""
        return self._post("/observe", {"samples": [{"x": x, "y": y}]}, Added).samples

    def ask_label(self, x: Features, *, shown: str = "") -> int:
        """Keep a sample whose label nobody has said; how many of these there are then.

        `shown` is what the owner sees of it where it is no picture, 400 characters at most.
        """
        return self._post("/ask-label", {"samples": [{"x": x, "shown": shown}]}, Waiting).unlabelled

    def _post(self, path: str, body: object, kind: type[T]) -> T:
        try:
            address = from_json(self._file.read_bytes(), Address)
            connection = http.client.HTTPConnection(address.url.removeprefix("http://"), timeout=_TIMEOUT_S)
            try:
                headers = {"Authorization": f"Bearer {address.token}"}
                connection.request("POST", path, msgspec.json.encode(body), headers)
                answer = connection.getresponse()
                content = answer.read()
            finally:
                connection.close()
            if answer.status == HTTPStatus.OK:
                return from_json(content, kind)
            problem = from_json(content, Problem)
        except (OSError, http.client.HTTPException, *UNREADABLE) as error:
            detail = f"the agent does not answer: {error}; start it with: coterie-agent run"
            raise AgentError("local_api.not_running", detail, exit_code=Exit.REFUSED) from error
        raise AgentError(problem.code, problem.detail, exit_code=Exit.REFUSED)
