"""A server on loopback that sends files by ranges, counts the bytes, and can misbehave."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EXTRA_BYTES = 1 << 16  # sent at once


class Web(ThreadingHTTPServer):
    """Files by their path, and how they are sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.sent = 0  # bytes of files
        self.ranges = True  # whether files are sent by ranges
        self.statuses = dict[str, int]()  # HTTP status of files that are not sent
        self.fails = 0  # number of next requests whose connections break
        self.extra = 0  # bytes sent after each range
        self.breaks_at = dict[str, int]()  # by file, the first byte at which connections break
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the client closes."""


class _Handler(BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *args: Any) -> None:
        pass

    def _answer(self, body: bool) -> None:
        web = self.server
        path = self.path.partition("?")[0]
        data = web.files.get(path)
        status = web.statuses.get(path, 200)
        requested = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if data is None or status != 200:
            self.send_response(404 if status == 200 else status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        part = data
        start = 0
        extra = 0
        if requested and web.ranges:
            start, last = map(int, requested.groups())
            extra = web.extra
            part = data[start : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("ETag", f'"{hash(data):x}"')
        self.send_header("Content-Length", str(len(part) + extra))
        self.end_headers()
        if body:
            if web.fails or start + len(part) > web.breaks_at.get(path, len(data)):
                web.fails = max(web.fails - 1, 0)
                part = part[: len(part) // 2]
                self.close_connection = True
            self.wfile.write(part)
            web.sent += len(part)
            for _ in range(0, extra, EXTRA_BYTES):
                self.wfile.write(bytes(EXTRA_BYTES))
                web.sent += EXTRA_BYTES


@contextmanager
def serving() -> Iterator[Web]:
    """Serve while the context lasts."""
    with Web() as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()
