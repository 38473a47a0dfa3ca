"""kubectl, as far as launchers and init containers use it: `exec` and `get pods`.

An exec asks the API server first, which decides by the rights of the pod's service account. Where the worker is on this
machine the answer is a leave: with it the worker's shim is asked directly, so that the command lives on whatever becomes of the
daemon. Elsewhere it is an exec like any other, through the API server.
"""

import os
import sys

from traincrew.embedded.kubelet.images.programs import api, exec_channels

LEAVE = "traincrew-leave"
DOORS = "/run/traincrew/doors"
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
    words, options, command = _parsed(arguments)
    if not words:
        raise api.CommandError("error: this kubectl knows exec and get")
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
        raise api.CommandError(f'error: unknown command "{verb}" for "kubectl": this one knows exec and get')
    return _exec(access, words, options, command)


def _parsed(arguments: list[str]) -> tuple[list[str], dict[str, str], list[str]]:
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
        raise api.CommandError("error: this kubectl has no terminals: leave -t out")
    stdin = options.get("stdin") == "true"
    base = f"/api/v1/namespaces/{access.namespace}/pods/{api.quoted(pod)}/exec"
    asked = [("container", options["container"])] if options.get("container") else []
    leave = _leave(access, f"{base}?{api.query([*asked, ('command', LEAVE), *_OUTPUT])}")
    if leave is not None and (door := _door(leave["door"])):
        return _direct(door, leave["secret"], command, stdin)
    asked += [("stdin", "true")] if stdin else []
    query = api.query([*asked, *_OUTPUT, *(("command", word) for word in command)])
    return _through(access, f"{base}?{query}", stdin)


_OUTPUT = (("stdout", "true"), ("stderr", "true"))


def _leave(access: api.ApiAccess, path: str) -> dict[str, str] | None:
    """The way in, if the pod is on this machine; None: ask for the command itself."""
    told = bytearray()
    opened = exec_channels.connect(access, path, False)
    opened.pump(None, lambda channel, data: told.extend(data) if channel == exec_channels.STDOUT else None)
    opened.close()
    if not told.startswith(b"{"):
        return None
    import json

    try:
        found = json.loads(told)
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"door", "secret"} <= found.keys() else None


def _door(path: str) -> str:
    """Where it is in here, if we may knock."""
    inside = f"{DOORS}/{os.path.basename(path)}"
    return next((each for each in (inside, path) if os.access(each, os.W_OK)), "")


def _direct(door: str, secret: str, command: list[str], stdin: bool) -> int:
    from traincrew.embedded.kubelet.runtime.client import ticket_exec

    if not stdin:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
    try:
        code = ticket_exec.run(door, secret, command)
    except ticket_exec.ExecRejected as error:
        raise api.CommandError(f"error: Internal error occurred: error executing command in container: {error}") from None
    except OSError as error:
        raise api.CommandError(f"error: unable to upgrade connection: {error}") from None
    return _told(code)


def _through(access: api.ApiAccess, path: str, stdin: bool) -> int:
    outcome = bytearray()

    def take(channel: int, data: bytes) -> None:
        if channel in (exec_channels.STDOUT, exec_channels.STDERR):
            _write(1 if channel == exec_channels.STDOUT else 2, data)
        elif channel == exec_channels.ERROR:
            outcome.extend(data)

    exec_channels.connect(access, path, stdin).pump(0 if stdin else None, take)
    return _outcome(bytes(outcome))


def _outcome(status: bytes) -> int:
    import json

    try:
        found = json.loads(status)
    except ValueError:
        raise api.CommandError("error: the connection to the container was lost before the command's end") from None
    if found.get("status") == "Success":
        return 0
    if found.get("reason") == "NonZeroExitCode":
        causes = found.get("details", {}).get("causes") or ()
        return _told(next((int(each["message"]) for each in causes if each.get("reason") == "ExitCode"), 1))
    raise api.CommandError(f"error: {found.get('message') or found}")


def _told(code: int) -> int:
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    return code


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
