"""`make demo`: starts a cluster in a temporary directory, trains on three pods, kills a process in one and checks the result.

Every command is printed before it runs. Everything is removed at the end; with STAY=1 the cluster and its console run until
Ctrl-C, and the page of the console is built while the job trains. The exit code is 0 if all checks pass.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "src/traincrew/console/page/index.html"
COMMAND = [sys.executable, "-m", "traincrew.cli.main"]
JOB, VICTIM, RANK = "digits", "worker-1", 2
LIMIT = 120
"""Maximum duration in seconds."""
KILL_AT = 200
"""The step of rank 0 at which a process is killed."""


class Demo:
    def __init__(self, scratch: pathlib.Path) -> None:
        self.work = scratch / "work"
        self.work.mkdir()
        shutil.copy(HERE / "train.py", self.work)
        kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "TRAINCREW_DATA")}
        # Pods run in the environment that the cluster is started from.
        path = f"{pathlib.Path(sys.executable).parent}:{kept.get('PATH', os.defpath)}"
        self.job: subprocess.Popen[str] | None = None
        self.env = {**kept, "PATH": path, "TRAINCREW_DATA": str(scratch / "cluster")}

    def show(self, *words: str, check: bool = True) -> str:
        print(f"\n$ traincrew {shlex.join(words)}", flush=True)
        done = subprocess.run(
            [*COMMAND, *words],
            env=self.env,
            cwd=self.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        print(done.stdout, end="", flush=True)
        if check and done.returncode:
            raise SystemExit(f"demo: the command failed with exit code {done.returncode}")
        return done.stdout

    def lines_of_the_job(self) -> Iterator[str]:
        words = ["run", "--kind", "PyTorchJob", "--workers", "3", "--retries", "3", "--name", JOB]
        words += ["-e", "OMP_NUM_THREADS=1", "-e", "OPENBLAS_NUM_THREADS=1", "--", "python", "train.py"]
        print(f"\n$ traincrew {shlex.join(words)}", flush=True)
        self.job = process = subprocess.Popen(
            [*COMMAND, *words], env=self.env, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            print(f"  {line}", end="", flush=True)
            yield line
        if process.wait():
            raise SystemExit(f"demo: the job failed with exit code {process.returncode}")

    def stop(self) -> None:
        """Stop the job and the cluster, also after an error."""
        if self.job is not None and self.job.poll() is None:
            self.job.terminate()  # deletes the job, and waits for its pods
            self.job.wait()
        print("\n== removing the cluster of the demo and its data (a cluster of your own runs until you stop it)")
        self.show("delete", JOB, "--wait", check=False)
        self.show("down", check=False)

    def train(self) -> list[str]:
        lines, killed = [], False
        for line in self.lines_of_the_job():
            lines.append(line)
            if not killed and f"rank 0 step {KILL_AT} " in line:
                killed = True
                print(f"\n== killing rank {RANK}: its pod restarts it, and all ranks continue from the last checkpoint")
                self.show("exec", JOB, "--replica", VICTIM, "--", "sh", "-c", f"kill -9 $(cat rank-{RANK}.pid)")
        return lines


class PageBuild:
    """`make console`, with the lowest priority, while the job trains. Nothing if the page is built already."""

    def __init__(self, log: pathlib.Path) -> None:
        self._log, self._process = log, None
        if not PAGE.exists():
            print("== building the page of the web console in the background: `make console`, which downloads Node.js (61 MB)")
            with open(log, "wb") as output:
                command = ["nice", "-n", "19", "make", "--no-print-directory", "console"]
                self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                    command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )

    def wait(self) -> bool:
        """Whether the page is there at the end of its build."""
        if self._process is not None and self._process.poll() is None:
            print(
                "\n== the page of the web console is not built yet. `make console` goes on, usually for a minute:",
                flush=True,
            )
            self._show_log()
        if PAGE.exists():
            return True
        last = self._log.read_text(errors="replace").strip().splitlines()[-5:] if self._log.exists() else []
        print("\n== the page of the web console could not be built. `make console` ended with:", *last, sep="\n  ", flush=True)
        return False

    def _show_log(self) -> None:
        """The output of the build, until its end."""
        assert self._process is not None
        with open(self._log, errors="replace") as log:
            running = True
            while running:
                running = self._process.poll() is None
                for line in log:
                    print(f"  {line}", end="", flush=True)
                time.sleep(0.5)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


def stay(demo: Demo) -> None:
    """Until Ctrl-C."""
    print("\n== the cluster and its console run until you press Ctrl-C. Use them from another terminal:")
    print(f"  export TRAINCREW_DATA={shlex.quote(demo.env['TRAINCREW_DATA'])}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


def _too_long(number: int, frame: object) -> None:
    raise SystemExit(f"demo: not finished after {LIMIT} s")


def _stopped(number: int, frame: object) -> None:
    raise SystemExit("demo: stopped")


def remove(tree: pathlib.Path) -> None:
    for directory, names, _ in os.walk(tree):
        for name in names:  # the kernel creates some that not even their owner can enter
            path = pathlib.Path(directory, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(tree, ignore_errors=True)


def verdict(lines: list[str], described: str) -> list[str]:
    """Print all checks; return those that failed."""
    text = "".join(lines)
    losses = [float(found) for found in re.findall(r"rank 0 step \d+ loss ([\d.]+)", text)]
    accuracy = re.search(r"never seen: ([\d.]+)", text)
    claims = {
        "three ranks trained": all(f"rank {rank} of 3" in text for rank in range(3)),
        "the loss decreased": len(losses) > 2 and losses[-1] < losses[0] / 2,
        "the accuracy on unseen digits is above 0.8": accuracy is not None and float(accuracy[1]) > 0.8,
        "the killed rank was restarted": text.count(f"rank {RANK} of 3") == 2 and "lost a peer" in text,
        "the job succeeded": "Succeeded" in described,
    }
    for claim, holds in claims.items():
        print(f"  {'yes' if holds else 'NO '}  {claim}")
    return [claim for claim, holds in claims.items() if not holds]


def main() -> int:
    began = time.monotonic()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-demo-"))
    demo = Demo(scratch)
    stays = os.environ.get("STAY", "") not in ("", "0")
    page = PageBuild(scratch / "page.log") if stays else None
    print(f"== starting a cluster on this machine in {scratch}")
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGTERM, _stopped)
    signal.alarm(LIMIT)
    try:
        demo.show("up", "--detach")
        print("\n== three pods train a network on images of digits; gradients are averaged over the pod network")
        lines = demo.train()
        print("\n== the finished job. The cluster runs until the demo removes it")
        described = demo.show("ls")
        demo.show("logs", JOB, "--replica", VICTIM, "--tail", "6")
        print()
        wrong = verdict(lines, described)
        signal.alarm(0)
        if page is not None:
            if page.wait():
                print("\n== the web console shows the job in a browser: open the link")
                demo.show("console")
            stay(demo)
    finally:
        signal.alarm(0)
        if page is not None:
            page.stop()
        demo.stop()
        print(f"\n$ rm -r {scratch}    # with the data that `traincrew down` keeps", flush=True)
        remove(scratch)
    left = f"{scratch} could not be removed completely" if scratch.exists() else "nothing of the demo is left"
    print(f"\n== done in {time.monotonic() - began:.0f} s; {left}. To continue with a cluster of your own:")
    print("""
  make framework-torch                                      # an environment with PyTorch (3 GB)
  .venv/bin/traincrew run examples/pytorch-minimal.yaml     # a job from a file
  .venv/bin/traincrew run --kind PyTorchJob --workers 2 -- python your_script.py
  .venv/bin/traincrew ls; .venv/bin/traincrew why JOB       # docs/cli.md has all verbs
  eval "$(.venv/bin/traincrew env)"; kubectl get pods       # kubectl works as well
  .venv/bin/traincrew down
""")
    if not stays:
        print("To see the same run in the web console, run `make demo STAY=1`, which keeps the cluster until Ctrl-C.")
    if not PAGE.exists():
        print("The page of the console is not built yet. `make console` builds it: a minute, with 61 MB for Node.js.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
