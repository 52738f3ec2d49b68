"""What the page on the network may ask of the agent: what the owner sees and says, and nothing that programs do."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from coterie_agent.label_api import LabelApi, LabelView
from coterie_agent.link.http import RecordSent
from coterie_agent.owner_api import OwnerApi
from coterie_agent.site import RequestError, Route

SHOWN = "sample shown on a phone"
"""What the journal calls it."""


def network_routes(
    owner: OwnerApi, labels: LabelApi, *, show_samples: bool, record_sent: RecordSent
) -> Mapping[str, Route]:
    """By method and path; without `show_samples` nothing that shows one."""
    asking = labels.page_routes()
    shown = ShownSamples(record_sent)
    kept = {path: shown.counting(route) if show_samples else _keep for path, route in asking.items()}
    return {**owner.routes(), **kept}


@dataclass
class ShownSamples:
    """Counts each sample as sent when the page first has it, and not at each look of the page."""

    record_sent: RecordSent
    _latest: int | None = None

    def counting(self, route: Route) -> Route:
        """The same route."""

        def counted(body: bytes) -> msgspec.Struct | msgspec.Raw:
            answer = route(body)
            question = answer.question if isinstance(answer, LabelView) else None
            if question is not None and question.id != self._latest:
                self.record_sent(SHOWN, len(msgspec.json.encode(question)))
                self._latest = question.id
            return answer

        return counted


def _keep(_: bytes) -> msgspec.Struct:
    """Raises RequestError ``page.keeps_samples``."""
    detail = "samples are shown on the device alone (agent.toml, [page], show_samples)"
    raise RequestError(HTTPStatus.FORBIDDEN, "page.keeps_samples", detail)
