"""`ranks.py COUNT SCRIPT`: starts the script COUNT times, each with its rank, as torchrun does."""

import os
import socket
import subprocess
import sys

count = int(sys.argv[1])
with socket.socket() as sock:
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
common = {**os.environ, "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
ranks = [subprocess.Popen([sys.executable, *sys.argv[2:]], env={**common, "RANK": str(rank)}) for rank in range(count)]
sys.exit(max(rank.wait() for rank in ranks))
