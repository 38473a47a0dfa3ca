"""The part of kubectl that launchers and init containers use: `exec` and `get pods`.

An exec first requests a ticket from the API server, which authorizes the pod's service account. With the ticket the command runs
through the exec socket of the worker's shim, so that it survives a restart of the cluster. If the worker is not on this machine,
the command runs through the API server, as any exec.
"""

import os
import sys

from traincrew.embedded.kubelet.images.programs import api, exec_channels

TICKET_COMMAND = "traincrew-exec-ticket"
EXEC_SOCKETS = "/run/traincrew/exec"
_VALUES = {
    "-n": "namespace", "--namespace": "namespace", "-c": "container", "--container": "container", "-l": "selector",
    "--selector": "selector", "-o": "output", "--output": "output", "--kubeconfig": "kubeconfig", "--context": "context",
    "-s": "server", "--server": "server", "--token": "token", "--request-timeout": "patience",
    "--certificate-authority": "authority", "--pod-running-timeout": "patience", "-v": "verbosity", "--v": "verbosity",
}  # fmt: skip
_SWITCHES = {"-i": "stdin", "--stdin": "stdin", "-q": "quiet", "--quiet": "quiet", "-t": "tty", "--tty": "tty"}


def main() -> None:
    try:
        sys.exit(_run(sys.argv[1:]))
    except api.CommandError as error:
        print(error, file=sys.stderr)
        sys.exit(error.code)
    except BrokenPipeError:
        sys.exit(141)


def _run(arguments: list[str]) -> int:
    words, options, command = _parse(arguments)
    if not words:
        raise api.CommandError("error: this kubectl supports exec and get only")
    verb, *words = words
    if verb == "version":
        print("Client Version: traincrew")
        return 0
    access = _access(options)
    if verb == "get":
        from traincrew.embedded.kubelet.images.programs import get_pods

        get_pods.get(access, words, options.get("selector", ""), options.get("output", ""))
        return 0
    if verb != "exec":
        raise api.CommandError(f'error: unknown command "{verb}" for "kubectl": this one supports exec and get only')
    return _exec(access, words, options, command)


def _parse(arguments: list[str]) -> tuple[list[str], dict[str, str], list[str]]:
    words: list[str] = []
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return words, options, rest
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            words.append(word)
        elif name in _VALUES:
            if not equals and not rest:
                raise api.CommandError(f"error: flag needs an argument: {word}")
            options[_VALUES[name]] = value if equals else rest.pop(0)
        elif word[:2] in _VALUES and word[:2] != "--":
            options[_VALUES[word[:2]]] = word[2:]
        elif name in _SWITCHES:
            options[_SWITCHES[name]] = value or "true"
        elif word in ("-it", "-ti"):
            options |= {"stdin": "true", "tty": "true"}
        else:
            raise api.CommandError(f"error: unknown flag: {word}")
    return words, options, []


def _access(options: dict[str, str]) -> api.ApiAccess:
    file = options.get("kubeconfig") or os.environ.get("KUBECONFIG", "")
    if file:
        from traincrew.embedded.kubelet.images.programs import kubeconfig

        access = kubeconfig.read(file, options.get("context", ""))
    else:
        access = api.in_cluster_access()
    access.namespace = options.get("namespace") or access.namespace
    access.token = options.get("token") or access.token
    return access


def _exec(access: api.ApiAccess, words: list[str], options: dict[str, str], command: list[str]) -> int:
    if len(words) > 1 and not command:
        command, words = words[1:], words[:1]
    pod = words[0].removeprefix("pod/").removeprefix("pods/") if words else ""
    if not pod or not command:
        raise api.CommandError("error: pod or type/name and a command must be specified: kubectl exec POD -- COMMAND")
    if options.get("tty") == "true":
        raise api.CommandError("error: this kubectl does not support terminals. Omit -t.")
    stdin = options.get("stdin") == "true"
    base = f"/api/v1/namespaces/{access.namespace}/pods/{api.quoted(pod)}/exec"
    parameters = [("container", options["container"])] if options.get("container") else []
    ticket = _request_ticket(access, f"{base}?{api.query([*parameters, ('command', TICKET_COMMAND), *_OUTPUT])}")
    if ticket is not None and (path := _exec_socket(ticket["socket"])):
        return _exec_with_ticket(path, ticket["secret"], command, stdin)
    parameters += [("stdin", "true")] if stdin else []
    query = api.query([*parameters, *_OUTPUT, *(("command", word) for word in command)])
    return _exec_through_api_server(access, f"{base}?{query}", stdin)


_OUTPUT = (("stdout", "true"), ("stderr", "true"))


def _request_ticket(access: api.ApiAccess, path: str) -> dict[str, str] | None:
    """Socket and secret of a ticket; None: the API server does not issue tickets."""
    received = {exec_channels.STDOUT: bytearray(), exec_channels.STDERR: bytearray(), exec_channels.ERROR: bytearray()}
    connection = exec_channels.connect(access, path, False)
    connection.pump(None, lambda channel, data: received[channel].extend(data) if channel in received else None)
    connection.close()
    output = received[exec_channels.STDOUT]
    if not received[exec_channels.ERROR]:
        # Without a ticket the command would depend on the API server, which may just have been restarted.
        raise api.CommandError("error: the connection to the API server was lost before the command was started")
    if not output.startswith(b"{"):
        return None
    import json

    try:
        ticket = json.loads(output)
    except ValueError:
        return None
    return ticket if isinstance(ticket, dict) and {"socket", "secret"} <= ticket.keys() else None


def _exec_socket(path: str) -> str:
    """The path of the exec socket in this container; empty: it is not accessible."""
    inside = f"{EXEC_SOCKETS}/{os.path.basename(path)}"
    return next((each for each in (inside, path) if os.access(each, os.W_OK)), "")


def _exec_with_ticket(path: str, secret: str, command: list[str], stdin: bool) -> int:
    from traincrew.embedded.kubelet.runtime.client import ticket_exec

    if not stdin:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
    try:
        code = ticket_exec.run(path, secret, command)
    except ticket_exec.ExecRejected as error:
        raise api.CommandError(f"error: Internal error occurred: error executing command in container: {error}") from None
    except OSError as error:
        raise api.CommandError(f"error: unable to upgrade connection: {error}") from None
    return _report_exit_code(code)


def _exec_through_api_server(access: api.ApiAccess, path: str, stdin: bool) -> int:
    status = bytearray()

    def take(channel: int, data: bytes) -> None:
        if channel in (exec_channels.STDOUT, exec_channels.STDERR):
            _write(1 if channel == exec_channels.STDOUT else 2, data)
        elif channel == exec_channels.ERROR:
            status.extend(data)

    exec_channels.connect(access, path, stdin).pump(0 if stdin else None, take)
    return _exit_code(bytes(status))


def _exit_code(data: bytes) -> int:
    import json

    try:
        status = json.loads(data)
    except ValueError:
        raise api.CommandError("error: the connection to the container was lost before the command exited") from None
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        causes = status.get("details", {}).get("causes") or ()
        return _report_exit_code(next((int(each["message"]) for each in causes if each.get("reason") == "ExitCode"), 1))
    raise api.CommandError(f"error: {status.get('message') or status}")


def _report_exit_code(code: int) -> int:
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    return code


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
