"""PostgreSQL of Debian's package as a pod of the cluster, with a Service; its data outlive the pod."""

from __future__ import annotations

import secrets

from tests.cluster.api import Object, eventually
from tests.history import postgres_server
from tests.node.joined_node import JoinedNode

NAME, NAMESPACE, PORT, DATABASE = "postgres", "default", 5432, "history"
RECORDER, CONSOLE = "recorder", "console"
SECONDS = 180.0
_SERVE = """set -e
if [ ! -e /data/ready ]; then
  rm -rf /data/db
  "$BIN/initdb" --pgdata=/data/db --username=postgres --auth-local=trust --auth-host=scram-sha-256 --no-sync
  echo "host all all all scram-sha-256" >> /data/db/pg_hba.conf
  "$BIN/pg_ctl" --pgdata=/data/db --options="-c listen_addresses= -c unix_socket_directories=/data" --wait start
  "$BIN/psql" -h /data -U postgres -v ON_ERROR_STOP=1 -c "CREATE USER recorder PASSWORD '$RECORDER_WORD'" \\
    -c "CREATE USER console PASSWORD '$CONSOLE_WORD'" -c "CREATE DATABASE history OWNER recorder"
  "$BIN/psql" -h /data -U postgres -d history -v ON_ERROR_STOP=1 \\
    -c "GRANT ALL ON SCHEMA public TO recorder" \\
    -c "ALTER DEFAULT PRIVILEGES FOR ROLE recorder GRANT SELECT ON TABLES TO console"
  "$BIN/pg_ctl" --pgdata=/data/db --wait stop
  touch /data/ready
fi
exec "$BIN/postgres" -D /data/db -c "listen_addresses=*" -c unix_socket_directories=/data -c fsync=off
"""


class PostgresPod:
    def __init__(self, machine: JoinedNode) -> None:
        self._machine = machine
        self._words = {name: secrets.token_urlsafe(16) for name in (RECORDER, CONSOLE)}
        self._folder = machine.home / "postgres"
        self._folder.mkdir()
        self._folder.chmod(0o777)
        port = {"name": "postgres", "port": PORT}
        spec = {"selector": {"app": NAME}, "ports": [port]}
        machine.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": spec})
        self.start()

    @property
    def passwords(self) -> list[str]:
        return list(self._words.values())

    def start(self) -> None:
        self._machine.create(self._pod())
        self._machine.running(NAME)

    def stop(self) -> None:
        self._machine.api.delete("pods", NAMESPACE, NAME, grace=0)
        eventually(lambda: self._machine.api.find("pods", NAMESPACE, NAME) is None, SECONDS)

    def url(self, user: str) -> str:
        return f"postgresql://{user}:{self._words[user]}@{NAME}.{NAMESPACE}.svc/{DATABASE}"

    def _pod(self) -> Object:
        programs = postgres_server.binaries()
        assert programs is not None, postgres_server.INSTALL
        variables = {"BIN": str(programs), "RECORDER_WORD": self._words[RECORDER], "CONSOLE_WORD": self._words[CONSOLE]}
        container = {
            "name": "postgres",
            "image": "postgres",
            "command": ["sh", "-c", _SERVE],
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        }
        spec = {
            "securityContext": {"runAsUser": postgres_server.NOBODY, "runAsGroup": postgres_server.NOBODY},
            "containers": [container],
            "volumes": [{"name": "data", "hostPath": {"path": str(self._folder)}}],
        }
        metadata = {"name": NAME, "labels": {"app": NAME}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
