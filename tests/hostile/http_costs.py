"""Sends requests over HTTPS to an API server in this process, and measures what each costs: a program with its own limits.

python -m tests.hostile.http_costs DATA prints a line of JSON for each case. The server has the main thread for itself.
"""

from __future__ import annotations

import asyncio
import datetime
import http.client
import json
import pathlib
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from tests.embedded.apiserver.http.running_cluster import RunningApi, running_api
from tests.embedded.resilience import response_checks
from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile import costly_http
from tests.hostile.costly_requests import NAMESPACE
from tests.hostile.request_costs import MAX_BYTES, Cost, memory, reset_peak

from traincrew.embedded.pki import issuer
from traincrew.embedded.pki.certificate_files import AUTHORITY

GROUPS = 2_500
CASES: tuple[Callable[[], Iterator[RawRequest]], ...] = (
    costly_http.headers, costly_http.targets, costly_http.tokens, costly_http.impersonation,
    costly_http.definitions, costly_http.documents,
)  # fmt: skip
CERTIFICATES = "certificates"
NAMES = (CERTIFICATES, *(case.__name__ for case in CASES))


class _Client:
    def __init__(self, api: RunningApi, certificate: str = "") -> None:
        """certificate: the file of a client certificate, in place of the token."""
        self._address = api.url.removeprefix("https://")
        self._headers = {"Host": self._address} | (
            {} if certificate else {"Authorization": f"Bearer {api.control_plane.admin_token}"}
        )
        self._context = ssl.create_default_context(cadata=api.control_plane.pki.authority.decode())
        if certificate:
            self._context.load_cert_chain(certificate)
        self._clock = time.pthread_getcpuclockid(threading.main_thread().ident or 0)
        self._connection = http.client.HTTPSConnection("")

    def _connected(self) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=120)
        connection.connect()
        return connection

    def measure(self, name: str, requests: Iterable[RawRequest]) -> Cost:
        cost = Cost(name, 0, [], 0.0, 0.0, "")
        for request in requests:
            encoded = self._encoded(request)
            if len(encoded) > MAX_BYTES:
                continue
            reset_peak()
            before, started = memory("VmRSS"), time.clock_gettime(self._clock)
            problem = self._problem(encoded, request.method)
            shown = encoded[:200].decode("latin-1")
            cost = cost.plus(shown, problem, time.clock_gettime(self._clock) - started, memory("VmHWM") - before)
        return cost

    def message(self, path: str) -> str:
        """Of a Status."""
        connection = self._connected()
        connection.request("GET", path)
        return str(json.load(connection.getresponse())["message"])

    def _encoded(self, request: RawRequest) -> bytes:
        sent = {**self._headers, **request.headers}
        if request.body:
            sent["Content-Length"] = str(len(request.body))
        lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{key}: {value}" for key, value in sent.items()), "", ""]
        return "\r\n".join(lines).encode() + request.body

    def _problem(self, encoded: bytes, method: str) -> str:
        """On a new connection if the server has closed the last one."""
        if self._connection.sock is None:
            self._connection = self._connected()
        try:
            self._connection.sock.sendall(encoded)
            response = http.client.HTTPResponse(self._connection.sock, method=method)
            response.begin()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            # The server may reject a request, and close the connection, before all of it is sent.
            return "" if isinstance(error, ConnectionError | ssl.SSLEOFError) else repr(error)
        if response.will_close:
            self._connection.close()
        return response_checks.problem(response.status, body, response.headers.get("Content-Type", ""))[:500]


def _certificate(pki: pathlib.Path, groups: int) -> str:
    """Of a user of many groups. OpenSSL accepts 100 kB."""
    order = issuer.CertificateRequest("someone", tuple(f"group-{index}" for index in range(groups)))
    pem = issuer.certificate((pki / AUTHORITY).read_bytes(), order, datetime.datetime.now(datetime.UTC))
    path = pki.parent / "client.pem"
    path.write_bytes(pem)
    return str(path)


def _send_all(api: RunningApi) -> None:
    user = _Client(api, _certificate(api.control_plane.pki.directory, GROUPS))
    assert 'User "someone" cannot list resource' in user.message(f"{NAMESPACE}/pods")
    print(json.dumps(user.measure(CERTIFICATES, costly_http.certificates())), flush=True)
    client = _Client(api)
    for case in CASES:
        print(json.dumps(client.measure(case.__name__, case())), flush=True)


async def _run(data: pathlib.Path) -> None:
    async with running_api(data, controllers=False) as api:
        await asyncio.to_thread(_send_all, api)


if __name__ == "__main__":
    asyncio.run(_run(pathlib.Path(sys.argv[1])))
