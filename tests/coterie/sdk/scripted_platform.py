"""A platform that answers as it is told to, without a server."""

from collections import defaultdict, deque

import httpx
import msgspec

from coterie.sdk.platform import Platform
from coterie.sdk.rest import Rest

Answer = httpx.Response | httpx.TransportError
PROBLEM = {"type": "about:blank", "title": "", "status": 0, "fields": {}}


class ScriptedPlatform:
    """Answers each request with the next answer that is there for it, and the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.bodies: list[bytes] = []
        self.slept_s = 0.0
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        rest = Rest("http://platform", "secret", transport=httpx.MockTransport(self._answer), sleep=self._sleep)
        self.platform = Platform(rest)

    def answers(self, request: str, *answers: object, status: int = 200) -> None:
        """``answers("GET pairs/1/", pair, ...)``: JSON, or an error to raise."""
        self._answers[request] += [
            answer
            if isinstance(answer, (httpx.TransportError, httpx.Response))
            else httpx.Response(status, json=answer)
            for answer in answers
        ]

    def refuses(self, request: str, code: str, detail: str, *, status: int, **fields: object) -> None:
        """With a problem, as the platform writes it."""
        self.answers(request, {**PROBLEM, "code": code, "detail": detail, "fields": fields}, status=status)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        name = f"{request.method} {request.url.path.removeprefix('/api/')}"
        assert request.headers["Authorization"] == "Bearer secret"
        self.asked.append(name)
        self.bodies.append(request.read())
        waiting = self._answers[name]
        assert waiting, f"nothing was said about {name}"
        answer = waiting.popleft() if len(waiting) > 1 else waiting[0]
        if isinstance(answer, httpx.TransportError):
            raise answer
        return httpx.Response(answer.status_code, content=answer.content)

    def _sleep(self, seconds: float) -> None:
        self.slept_s += seconds

    def json(self, request: str) -> object:
        """What the last such request carried."""
        places = [place for place, asked in enumerate(self.asked) if asked == request]
        return msgspec.json.decode(self.bodies[places[-1]])
