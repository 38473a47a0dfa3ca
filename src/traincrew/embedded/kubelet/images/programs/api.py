"""A minimal API client for pods. It uses no HTTP library, because importing one takes longer than a request."""

import os
import socket
import ssl
import time

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
RETRY_SECONDS = 20.0
"""Refused connections are retried for so many seconds, because the API server may be restarting."""


class CommandError(Exception):
    """The message is written to standard error. The code is the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class ApiAccess:
    def __init__(self, host: str, port: int, token: str, authority: str, namespace: str) -> None:
        self.host, self.port, self.token, self.namespace = host, port, token, namespace
        self.authority = authority
        """The certificate of the authority in PEM; empty: the system's trusted certificates."""


def in_cluster_access() -> ApiAccess:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    if not host or not os.path.exists(f"{ACCOUNT}/token"):
        raise CommandError("error: no API server configured: the service account token or KUBERNETES_SERVICE_HOST is missing")
    port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    return ApiAccess(host, port, _read("token"), _read("ca.crt"), _read("namespace") or "default")


def _read(name: str) -> str:
    try:
        with open(f"{ACCOUNT}/{name}", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


def quoted(text: str) -> str:
    """Percent-encodes a part of a URL. (Importing urllib takes as long as a request.)"""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(text))


def query(pairs: list[tuple[str, str]]) -> str:
    return "&".join(f"{name}={quoted(value)}" for name, value in pairs)


def connect(access: ApiAccess) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if access.authority:
        context.load_verify_locations(cadata=access.authority + "\n")
    else:
        context.load_default_certs()
    plain = _dial(access)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        return context.wrap_socket(plain, server_hostname=access.host)
    except (ssl.SSLError, OSError) as error:
        raise CommandError(f"Unable to connect to the server: {getattr(error, 'reason', None) or error}") from None


def _dial(access: ApiAccess) -> socket.socket:
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return socket.create_connection((access.host, access.port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                where = f"{access.host}:{access.port}"
                message = f"The connection to the server {where} was refused - did you specify the right host or port?"
                raise CommandError(message) from None
            time.sleep(0.2)
        except OSError as error:
            raise CommandError(f"Unable to connect to the server: {error}") from None


def request_head(access: ApiAccess, path: str, more: str, method: str = "GET") -> bytes:
    where = f"[{access.host}]" if ":" in access.host else access.host
    lines = f"{method} {path} HTTP/1.1\r\nHost: {where}:{access.port}\r\nUser-Agent: kubectl/traincrew\r\n"
    bearer = f"Authorization: Bearer {access.token}\r\n" if access.token else ""
    return f"{lines}{bearer}{more}\r\n".encode()


def read_response(stream: ssl.SSLSocket) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers, and the part of the body that arrived with them."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = stream.recv(65536)
        if not piece:
            raise CommandError("Unable to connect to the server: EOF")
        received += piece
    first, _, rest = received.partition(b"\r\n\r\n")
    lines = first.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(lines[0].split()[1]), headers, rest


def get(access: ApiAccess, path: str, accept: str = "application/json") -> tuple[int, bytes]:
    with connect(access) as stream:
        stream.sendall(request_head(access, path, f"Accept: {accept}\r\nConnection: close\r\n"))
        status, headers, body = read_response(stream)
        pieces = [body]
        try:
            while piece := stream.recv(65536):
                pieces.append(piece)
        except ssl.SSLEOFError:
            pass  # the parser of the body detects truncation
    body = b"".join(pieces)
    return status, _unchunked(body) if "chunked" in headers.get("transfer-encoding", "") else body


def _unchunked(body: bytes) -> bytes:
    pieces: list[bytes] = []
    while True:
        size, _, body = body.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if not length:
            return b"".join(pieces)
        pieces.append(body[:length])
        body = body[length + 2 :]


def status_error(status: int, body: bytes) -> CommandError:
    """The error message of a Status object, as kubectl prints it."""
    import json

    try:
        text = json.loads(body)
        reason, message = text["reason"], text["message"]
    except (ValueError, KeyError, TypeError):
        return CommandError(f"Error from server: {status} {body[:300].decode(errors='replace')}".rstrip())
    if status == 401:
        return CommandError("error: You must be logged in to the server (Unauthorized)")
    return CommandError(f"Error from server ({reason}): {message}")
