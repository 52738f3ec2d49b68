"""A real server that answers samples as the platform does, or as a test tells it to."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from coterie_wire.fallback import AskPlatform, PlatformAnswer
from coterie_wire.messages import Problem
from coterie_wire.predictions import Prediction

PREDICTION = Prediction("red", 0, 0.9)


class Answers:
    """It answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[AskPlatform] = []
        self.credentials: list[str] = []
        self.problem: Problem | None = None
        self.predictions: tuple[Prediction, ...] | None = None
        self.goes = threading.Event()
        self.goes.set()
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = msgspec.json.decode(body, type=AskPlatform)
                answers.asked.append(message)
                answers.credentials.append(self.headers["Authorization"])
                assert answers.goes.wait(10)
                answer: msgspec.Struct | None = answers.problem
                if answer is None:
                    given = answers.predictions
                    answer = PlatformAnswer("c1", "cloud", given or (PREDICTION,) * len(message.samples))
                content = msgspec.json.encode(answer)
                self.send_response(200 if answers.problem is None else answers.problem.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
