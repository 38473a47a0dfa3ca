"""TLS between two contexts in memory."""

from __future__ import annotations

import ssl


def complete_handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both ends after a handshake. The client expects a server of that name."""
    upward, downward = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        server.wrap_bio(upward, downward, server_side=True),
        client.wrap_bio(downward, upward, server_hostname=name),
    )
    waiting = [True, True]
    for _ in range(20):
        for index, end in enumerate(ends):
            if waiting[index]:
                try:
                    end.do_handshake()
                    waiting[index] = False
                except ssl.SSLWantReadError:
                    pass
    assert waiting == [False, False]
    return ends
