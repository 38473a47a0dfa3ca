"""Hostile pages of pods, read through pods/proxy: they hold neither the event loop nor the memory of the API server."""

from __future__ import annotations

import gzip
import os
import pathlib

import pytest
from tests.cluster.api import eventually
from tests.hostile import shims
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

SIZE = 512 * 1024
CPU_SECONDS = 5.0
"""Of the event loop, for a page of half a megabyte; a tenth of it is what the page needs."""
BOMB = 64 << 20
PAGES = {"tags": "<a", "quotes": "<a '\"", "ends": "</", "comments": "<!--", "names": f"<a {'x' * 16_000}>"}
SERVE = """import gzip, http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if compressed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page)
    do_HEAD = do_GET
piece, size, compressed = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3:] == ["gzip"]
page = (piece * (size // len(piece) + 1))[:size]
page = gzip.compress(page) if compressed else page
http.server.HTTPServer(("0.0.0.0", 8080), Handler).serve_forever()
"""


def cpu_seconds(pid: int) -> float:
    """Of the main thread, which runs the event loop."""
    fields = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proxied(cluster: HostileCluster, *arguments: str) -> bytes:
    """The page as a client gets it, which accepts gzip."""
    cluster.create(pod("web", "python3", "-c", SERVE, *arguments))
    cluster.running("web")
    url = f"{cluster.api.server}{cluster.api.path('pods', 'default', 'web:8080', 'proxy')}/"
    eventually(lambda: cluster.api.session.head(url, timeout=60).status_code == 200)
    return cluster.api.session.get(url, timeout=300).content


@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_a_pod_does_not_hold_the_api_server(cluster: HostileCluster, name: str) -> None:
    before = cpu_seconds(cluster.pid)
    page = proxied(cluster, PAGES[name], str(SIZE))
    assert len(page) == SIZE
    assert page.startswith(PAGES[name].encode())
    assert cpu_seconds(cluster.pid) - before < CPU_SECONDS


def test_a_compressed_page_takes_no_more_memory_than_its_pieces(cluster: HostileCluster) -> None:
    before = shims.peak_memory(cluster.pid)
    page = proxied(cluster, "text ", str(BOMB), "gzip")
    assert (gzip.decompress(page) if page.startswith(b"\x1f\x8b") else page) == (b"text " * BOMB)[:BOMB]
    assert shims.peak_memory(cluster.pid) - before < BOMB // 2
