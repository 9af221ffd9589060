"""A little receiver of OTLP over HTTP: keeps what it is sent, or misbehaves."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver:
    """What arrived. `status` is what it answers; while `held` is clear it does not answer."""

    def __init__(self) -> None:
        self.status = 200
        self.held = threading.Event()
        self.held.set()
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.spans: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.metrics: dict[str, list[Any]] = {}
        self.url = ""

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path.endswith("/v1/traces"):
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(attributes(group.resource))
                self.spans += [span for scope in group.scope_spans for span in scope.spans]
        else:
            assert path.endswith("/v1/metrics"), path
            for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in group.scope_metrics:
                    for metric in scope.metrics:
                        kind = getattr(metric, metric.WhichOneof("data"))
                        self.metrics[metric.name] = list(kind.data_points)

    def wait_for(self, name: str, count: int = 1, seconds: float = 30) -> list[Any]:
        """The spans of that name, once there are so many."""
        deadline = time.monotonic() + seconds
        while len(found := [span for span in self.spans if span.name == name]) < count:
            assert time.monotonic() < deadline, [span.name for span in self.spans]
            time.sleep(0.02)
        return found

    def wait_for_metric(self, name: str, seconds: float = 30) -> list[Any]:
        """The data points of a metric."""
        deadline = time.monotonic() + seconds
        while name not in self.metrics:
            assert time.monotonic() < deadline, list(self.metrics)
            time.sleep(0.02)
        return self.metrics[name]


def attributes(holder: Any) -> dict[str, Any]:
    """The attributes of a span or a resource as a dictionary."""
    return {one.key: _value(one.value) for one in holder.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port, until the block ends."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.held.wait(60)
            receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            if receiver.status == 200:
                receiver.take(self.path, body)
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        receiver.held.set()
        server.shutdown()
        server.server_close()
        thread.join()
