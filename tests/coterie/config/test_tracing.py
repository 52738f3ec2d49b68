"""Traces across requests, tasks and children: what hangs together, and what is never told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from celery import Celery
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_django.fixtures import Settings

from coterie.child.run import run_child
from coterie.config import tracing
from coterie.config.celery import app as platform_app
from coterie.config.embedded_worker import EmbeddedWorker
from coterie.config.tracing import OpenTelemetry, begin_tracing, end_tracing
from coterie.core import tracing as core
from coterie.core.jobs import Job
from coterie.core.tracing import add_span, is_traced, send_spans_to, span, traceparent
from coterie.fleet.services import EnrolledDevice
from coterie.gateway.asgi import in_front_of
from coterie.gateway.http import Receive, Scope, Send
from coterie_wire.version import PROTOCOL
from tests.coterie.child.deeds import JOB, Arguments, Refused

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
WAIT_S = 10.0


class Collected:
    """Spans by name, once they have ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracing = OpenTelemetry(SimpleSpanProcessor(self._exporter), process="tests")

    def __getitem__(self, name: str) -> ReadableSpan:
        (found,) = [one for one in self.all() if one.name == name]
        return found

    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def collected() -> Iterator[Collected]:
    collected = Collected()
    send_spans_to(collected.tracing)
    yield collected
    end_tracing(collected.tracing)


def trace_of(one: ReadableSpan) -> str:
    assert one.context is not None
    return f"{one.context.trace_id:032x}"


def is_within(inner: ReadableSpan, outer: ReadableSpan) -> bool:
    assert outer.context is not None
    return inner.parent is not None and inner.parent.span_id == outer.context.span_id


@contextmanager
def site_client() -> Iterator[httpx.AsyncClient]:
    async def site(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    yield httpx.AsyncClient(transport=httpx.ASGITransport(in_front_of(site)), base_url="http://platform")


def test_nothing_is_made_where_nobody_wants_it() -> None:
    with span("anything", round=1) as nothing:
        nothing.set_attribute("status", 200)
        assert span("other") is span("another")
    add_span("late", began_ns=0, ended_ns=1)
    assert not is_traced()
    assert traceparent() is None


@pytest.mark.django_db(transaction=True)
async def test_a_devices_request_is_a_part_of_its_own_trace_and_names_nobody(
    collected: Collected, enrol: Callable[..., EnrolledDevice]
) -> None:
    from coterie.gateway.threads import in_thread

    device, credential = await in_thread(lambda: enrol("annas-phone"))
    with site_client() as http:
        answer = await http.post(
            "/device/v1/check-in",
            json={"protocol": PROTOCOL, "conditions": {}},
            headers={"Authorization": f"Bearer {credential}", "traceparent": PARENT},
        )
        assert answer.status_code == 200
        await http.get(f"/api/devices/{device.pk}/", headers={"traceparent": "00-nonsense"})
        await http.get("/people/anna")
    request = collected["POST /device/v1/check-in"]
    assert trace_of(request) == TRACE
    assert request.parent is not None and f"{request.parent.span_id:016x}" == "b7ad6b7169203331"
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/device/v1/check-in",
        "http.response.status_code": 200,
        "request_id": answer.headers["x-request-id"],
    }
    assert collected["GET /api/devices/"].parent is None
    assert collected["GET site"].parent is None
    everything = "".join(one.to_json() for one in collected.all())
    for secret in (str(device.pk), "anna", credential, "127.0.0.1"):
        assert secret not in everything


def test_a_childs_parts_are_within_the_span_of_who_waits_for_it(collected: Collected) -> None:
    with span("task"):
        run_child(JOB, Arguments("double", 21))
    child, load, work = (collected[f"child {JOB.name}{part}"] for part in ("", ": load", ": work"))
    assert is_within(child, collected["task"])
    assert is_within(load, child) and is_within(work, child)
    times = [child.start_time, load.start_time, load.end_time, work.start_time, work.end_time, child.end_time]
    assert times == sorted(times, key=lambda at: at or 0)


def test_what_is_raised_is_told_by_its_class_alone(collected: Collected) -> None:
    with pytest.raises(Refused):
        run_child(JOB, Arguments("refuse"))
    child = collected[f"child {JOB.name}"]
    assert child.attributes == {"error.type": "Refused"}
    assert not child.status.is_ok
    assert not child.events


@pytest.mark.django_db(transaction=True)
def test_a_task_is_a_part_of_what_has_sent_it_and_sweeps_are_none(collected: Collected, settings: Settings) -> None:
    app = Celery("traced", set_as_current=False, task_cls="coterie.config.watched_task:WatchedTask")
    app.conf.update(
        broker_url="memory://traced",
        broker_transport="coterie.config.event_transport.Transport",
        task_ignore_result=True,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=False,
        task_default_queue="traced",
    )
    app.set_default()
    app.set_current()
    settings.PERIODIC_TASKS = {"coterie.tests.sweep": 1.0}
    done = threading.Barrier(2)

    @app.task(name="coterie.tests.advance", shared=False)
    def advance(federation: str) -> None:
        with span("within"):
            pass

    @app.task(name="coterie.tests.sweep", shared=False)
    def sweep() -> None:
        with span("found"):
            pass

    @app.task(name="coterie.tests.last", shared=False)
    def last() -> None:
        done.wait(WAIT_S)

    worker = EmbeddedWorker(app)
    try:
        worker.start()
        with span("request"):
            Job("coterie.tests.advance").send(federation="f-1")
        app.send_task("coterie.tests.sweep")
        app.send_task("coterie.tests.last")
        done.wait(WAIT_S)
        assert worker.stop(within_s=WAIT_S)
    finally:
        platform_app.set_default()
        platform_app.set_current()
        connection.close()
    task = collected["tests.advance"]
    assert is_within(task, collected["request"])
    assert task.attributes == {"federation": "f-1"}
    assert is_within(collected["within"], task)
    assert collected["found"].parent is None
    assert "tests.sweep" not in {one.name for one in collected.all()}


class Collector:
    """Takes what OTLP over HTTP sends."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/traces"
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """The test says what went wrong."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize("name", ["", "my-coterie"])
def test_a_collector_gets_spans_where_the_settings_say_so(
    name: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    if name:
        monkeypatch.setenv("OTEL_SERVICE_NAME", name)
    settings.TELEMETRY = "otlp"
    try:
        begin_tracing("web")
        with span("round to open", round=3):
            pass
        begun = core._tracer
        assert isinstance(begun, OpenTelemetry)
        end_tracing(begun)
    finally:
        collector.close()
    (sent,) = collector.requests
    (of_process,) = sent.resource_spans
    about = {one.key: one.value.string_value for one in of_process.resource.attributes}
    assert about["service.name"] == (name or "coterie-web")
    (found,) = of_process.scope_spans[0].spans
    assert (found.name, found.attributes[0].key, found.attributes[0].value.int_value) == ("round to open", "round", 3)
    assert not is_traced()


def test_it_is_off_unless_set_and_says_what_is_missing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_tracing("web")
    assert not is_traced()
    settings.TELEMETRY = "otlp"
    monkeypatch.setattr(tracing, "IS_INSTALLED", False)
    with pytest.raises(ImproperlyConfigured, match="telemetry"):
        begin_tracing("web")
