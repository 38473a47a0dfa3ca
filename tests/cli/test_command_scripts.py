"""The files without which a command cannot start."""

from __future__ import annotations

import pytest

from traincrew.cli.jobs import command_scripts


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (["python", "-u", "-W", "error", "/a/train.py", "x.py"], ["/a/train.py"]),
        (["/opt/bin/python3.11", "train.py"], ["/opt/bin/python3.11", "train.py"]),
        (["python", "-m", "train"], []),
        (["python", "-c", "import train", "train.py"], []),
        (["bash", "-x", "-o", "pipefail", "/a/train.sh"], ["/a/train.sh"]),
        (["sh", "-ec", "exec python /a/train.py --out /a/log.py"], ["/a/train.py"]),
        (["bash", "-lc", "python '/a/my train.py'"], ["/a/my train.py"]),
        (["sh", "-c", "cp /b/train.py /a && python /a/train.py"], []),
        (["sh", "-c", "python $HOME/train.py"], []),
        (["sh", "-c", "echo 'unbalanced"], []),
        (["sh", "-c"], []),
        (["perl", "-w", "/a/train.pl"], ["/a/train.pl"]),
        (["perl", "-e", "print 1", "/a/train.pl"], []),
        (["node", "--require", "dotenv", "/a/train.js"], ["/a/train.js"]),
        (["Rscript", "--vanilla", "/a/train.R"], ["/a/train.R"]),
        (["julia", "-t", "4", "/a/train.jl"], ["/a/train.jl"]),
        (["ruby", "-I", "lib", "/a/train.rb"], ["/a/train.rb"]),
        (["torchrun", "--nproc_per_node", "2", "/a/train.py", "--config", "/a/config.py"], ["/a/train.py"]),
        (["mpirun", "-n", "2", "python", "/a/train.py"], ["/a/train.py"]),
        (["env", "A=1", "python", "/a/train.py"], ["/a/train.py"]),
        (["/a/train"], ["/a/train"]),
        (["sleep", "/a/train.py"], []),
        ([], []),
    ],
)
def test_the_program_and_the_script_are_found(command: list[str], files: list[str]) -> None:
    assert command_scripts.find(command) == files
