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
    return errors.Unreachable(f"no answer from {server}: {_words(fault)}", reason=retries.NEVER_SENT if never_sent else "")


def is_tls(fault: Exception) -> bool:
    return isinstance(fault, aiohttp.ClientSSLError | ssl.SSLError)


def _words(fault: Exception) -> str:
    match fault:
        case aiohttp.ClientConnectorCertificateError():
            problem = getattr(fault.certificate_error, "verify_message", "") or "it cannot be checked"
            return f"its certificate is not trusted ({problem})"
        case aiohttp.ClientConnectorDNSError():
            return "its name cannot be resolved"
        case aiohttp.ClientProxyConnectionError():
            return "the proxy in front of it cannot be reached"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy in front of it answered {fault.status}"
        case aiohttp.ClientSSLError():
            return f"TLS failed ({getattr(fault.os_error, 'reason', None) or type(fault.os_error).__name__})"
        case aiohttp.ClientConnectorError():
            return _system(fault.os_error)
        case TimeoutError():
            return "timed out"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "the connection was cut"
        case OSError():
            return _system(fault)
    return type(fault).__name__


def _system(fault: OSError) -> str:
    """What the system calls it; asyncio has words of its own, with an address in them that the reader knows already."""
    return os.strerror(fault.errno) if fault.errno and fault.errno > 0 else fault.strerror or type(fault).__name__
