"""Messages for requests without a response. They do not contain parts of the request or the proxy URL."""

from __future__ import annotations

import os
import ssl

import aiohttp

from traincrew import errors
from traincrew.client import retries

FAULTS = (aiohttp.ClientError, TimeoutError, OSError)


def unreachable(fault: Exception, server: str) -> errors.Unreachable:
    never_sent = isinstance(fault, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    return errors.Unreachable(f"no response from {server}: {_message(fault)}", reason=retries.NEVER_SENT if never_sent else "")


def is_tls(fault: Exception) -> bool:
    return isinstance(fault, aiohttp.ClientSSLError | ssl.SSLError)


def _message(fault: Exception) -> str:
    match fault:
        case aiohttp.ClientConnectorCertificateError():
            problem = getattr(fault.certificate_error, "verify_message", "") or "verification failed"
            return f"the certificate is not trusted ({problem})"
        case aiohttp.ClientConnectorDNSError():
            return "the host name cannot be resolved"
        case aiohttp.ClientProxyConnectionError():
            return "the proxy is not reachable"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy responded with status {fault.status}"
        case aiohttp.ClientSSLError():
            return f"TLS failed ({getattr(fault.os_error, 'reason', None) or type(fault.os_error).__name__})"
        case aiohttp.ClientConnectorError():
            return _system(fault.os_error)
        case TimeoutError():
            return "timed out"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "connection lost"
        case OSError():
            return _system(fault)
    return type(fault).__name__


def _system(fault: OSError) -> str:
    """The message of the operating system. The message of asyncio repeats the address."""
    return os.strerror(fault.errno) if fault.errno and fault.errno > 0 else fault.strerror or type(fault).__name__
