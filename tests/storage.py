"""An S3 server on loopback that counts the bytes it sends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Storage:
    """A file system with an empty bucket, ``s3://bucket``.

    ``sent`` counts the bytes of objects that were sent, to any process.
    """

    def __init__(self, system: Any, server: Any) -> None:
        self.system = system
        self.sent = 0
        self._app, server.app = server.app, self._counting

    def _counting(self, environ: Any, start: Any) -> Iterator[bytes]:
        is_object = environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"].count("/") > 1
        for part in self._app(environ, start):
            self.sent += len(part) * is_object
            yield part


@contextmanager
def storing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    """Serve while the context lasts; environment variables contain the address."""
    import s3fs
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    url = "http://{}:{}".format(*moto.get_host_and_port())
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    system.mkdir("bucket")
    yield Storage(system, moto._server)
    system.rm("bucket", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()
    moto.stop()
