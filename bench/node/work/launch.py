"""hostname on every worker, through the script that the operator provides; without one, twice on this machine."""

import os
import subprocess
import sys

remote = ["/etc/mpi/kubexec.sh"]
hosts = [["true"], ["true"]]
if os.path.exists(remote[0]):
    with open("/etc/mpi/hostfile") as lines:
        hosts = [[*remote, line.split()[0]] for line in lines if line.strip()]
commands = [[*way, "hostname"] if way[0] == remote[0] else ["hostname"] for way in hosts]
sys.exit(max(process.wait() for process in [subprocess.Popen(command) for command in commands]))
