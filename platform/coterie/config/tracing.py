"""Exports spans to an OpenTelemetry collector, where the settings say so (ADR 73).

Everything else, such as the endpoint and sampling, the SDK reads from the standard ``OTEL_*`` variables.
"""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from coterie.core.tracing import Kind, Span, Value, send_spans_to

try:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

SERVICE = "coterie"


def begin_tracing(process: str) -> None:
    """Send this process's spans from now on, under the service ``coterie-PROCESS`` unless ``OTEL_SERVICE_NAME`` is set.

    Does nothing without ``COTERIE_TELEMETRY=otlp``. Raises ImproperlyConfigured where the extra is not installed.
    """
    if settings.TELEMETRY != "otlp":
        return
    if not IS_INSTALLED:
        raise ImproperlyConfigured("COTERIE_TELEMETRY=otlp needs coterie[telemetry]: pip install 'coterie[telemetry]'")
    tracing = OpenTelemetry(BatchSpanProcessor(OTLPSpanExporter()), process=process)
    send_spans_to(tracing)
    atexit.register(end_tracing, tracing)


def end_tracing(tracing: "OpenTelemetry") -> None:
    """Send pending spans, and no more."""
    send_spans_to(None)
    tracing.close()


class OpenTelemetry:
    """A `coterie.core.tracing.Tracer` on the SDK."""

    def __init__(self, processor: "SpanProcessor", *, process: str) -> None:
        # The environment's resource attributes take precedence over those given here only if they are merged last.
        given = Resource({"service.name": f"{SERVICE}-{process}"})
        detected = Resource.create()
        named = not str(detected.attributes["service.name"]).startswith("unknown_service")
        self._provider = TracerProvider(resource=given.merge(detected) if named else detected.merge(given))
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(SERVICE)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, *, kind: Kind, parent: str | None, attributes: Mapping[str, Value]) -> Iterator[Span]:
        """The block; an exception is recorded by its class only, since sentences may quote anything."""
        context = None if parent is None else self._propagator.extract({"traceparent": parent})
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=trace.SpanKind[kind.upper()],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as running:
            try:
                yield _Running(running)
            except Exception as error:
                running.set_attribute("error.type", type(error).__qualname__)
                running.set_status(trace.StatusCode.ERROR)
                raise

    def add(self, name: str, *, began_ns: int, ended_ns: int) -> None:
        """Add a span that another process has timed."""
        self._tracer.start_span(name, start_time=began_ns).end(end_time=ended_ns)

    def traceparent(self) -> str | None:
        """The running span's ``traceparent`` for other processes."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get("traceparent")

    def close(self) -> None:
        """Send pending spans."""
        self._provider.shutdown()


class _Running:
    def __init__(self, running: "trace.Span") -> None:
        self._running = running

    def set_attribute(self, name: str, value: Value) -> None:
        """Add an attribute."""
        self._running.set_attribute(name, value)
