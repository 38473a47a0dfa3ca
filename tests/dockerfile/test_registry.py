"""The commands of the pages that push the image of `make image` to a registry, with Debian's skopeo and docker-registry."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import yaml
from tests.cluster import operators
from tests.cluster.api import eventually
from tools.frameworks import debian
from tools.kube import build

from traincrew import __version__

ROOT = pathlib.Path(__file__).parents[2]
PAGES = {"docs/install.md": "registry.example.com", "docs/operator-image.md": "registry.example"}
"""Page → the registry in its command."""
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an empty registry without TLS."""
    folder, address = tmp_path_factory.mktemp("registry"), f"127.0.0.1:{operators.free_port()}"
    configuration = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": address, "secret": "-"},
    }
    (folder / "config.yml").write_text(yaml.safe_dump(configuration))
    program = debian.unpack(["docker-registry"], build.cache() / "docker-registry") / "usr" / "bin" / "docker-registry"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([str(program), "serve", str(folder / "config.yml")], stdout=log, stderr=log)
    try:
        eventually(lambda: fetch(f"{address}/v2/") is not None, 60, (folder / "log").read_text())
        yield address
    finally:
        process.kill()
        process.wait()


def fetch(place: str) -> bytes | None:
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        request = urllib.request.Request(f"http://{place}", headers={"Accept": MANIFEST})
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: bytes = answer.read()
            return found
    return None


@pytest.mark.parametrize(("page", "documented"), PAGES.items())
def test_the_image_is_pushed_by_the_command_of_the_page(registry: str, page: str, documented: str) -> None:
    (line,) = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("skopeo copy ")]
    assert f"docker://{documented}/traincrew:{__version__}" in line
    # The registry of this test has no TLS, and a machine may have no policy for signatures.
    command = line.replace(f"//{documented}/", f"//{registry}/").split()
    done = subprocess.run(
        [command[0], "--insecure-policy", *command[1:], "--dest-tls-verify=false"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads(fetch(f"{registry}/v2/traincrew/manifests/{__version__}") or b"{}")
    config = json.loads(fetch(f"{registry}/v2/traincrew/blobs/{manifest['config']['digest']}") or b"{}")
    assert config["config"]["Labels"]["org.opencontainers.image.version"] == __version__
