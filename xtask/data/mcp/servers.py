"""Uses real MCP servers with our program: `pi mcp check`, `list` and `call`.

    servers.py BINARY PEERS

The servers are those of the npm registry (old era) and one of the Python SDK (both eras), on stdio and
HTTP. Prints one line of JSON per conversation, in the form of the interop table.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import programs

HERE = Path(__file__).resolve().parent
LIMIT = 120
MODERN, LEGACY = "2026-07-28", "2025-11-25"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Listening:
    """A server on HTTP, stopped at the end."""

    def __init__(self, command, port, environment=None, directory=None):
        environment = {**os.environ, **(environment or {})}
        silent = subprocess.DEVNULL
        self.child = subprocess.Popen(command, env=environment, cwd=directory, stdin=silent, stdout=silent, stderr=silent)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if self.child.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError("the server does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Place:
    """A home with one configured server."""

    def __init__(self, binary, name, config):
        self.binary, self.name = binary, name
        self.directory = tempfile.TemporaryDirectory(prefix="pi-mcp-", ignore_cleanup_errors=True)
        home = Path(self.directory.name).resolve()
        self.project = home / "project"
        (home / "agent").mkdir()
        self.project.mkdir()
        (self.project / "hello.txt").write_text("hello\n")
        config = json.loads(json.dumps(config).replace("@PROJECT@", str(self.project)))
        (home / "agent" / "mcp.json").write_text(json.dumps({"mcpServers": {name: config}}))
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PI_")}
        self.environment.update(HOME=str(home), PI_CODING_AGENT_DIR=str(home / "agent"), PI_OFFLINE="1", NO_COLOR="1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def pi(self, *arguments, code=0):
        arguments = [argument.replace("@PROJECT@", str(self.project)) for argument in arguments]
        command = [self.binary, "mcp", *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL
        )
        assert done.returncode == code, f"{' '.join(arguments)}: exit code {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
        return done.stdout + done.stderr


class Case:
    """A server, the version that we must agree on, and calls with a part of their result."""

    def __init__(self, form, name, config, version, tools, calls, errors=(), listening=None):
        self.form, self.name, self.config, self.version = form, name, config, version
        self.tools, self.calls, self.errors, self.listening = tools, calls, errors, listening


def cases(peers):
    modules = peers / "mcp" / "node_modules"
    node = programs.node(peers)
    python = str(peers / "mcp" / "venv" / "bin" / "python")
    everything = str(modules / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js")
    filesystem = str(modules / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js")
    peer = str(HERE / "server.py")
    every_calls = [
        ("echo", '{"message": "hi"}', "Echo: hi"),
        ("get-sum", '{"a": 2, "b": 3}', "is 5"),
        ("get-structured-content", '{"location": "New York"}', "temperature"),
        ("trigger-long-running-operation", '{"duration": 1, "steps": 3}', "completed"),
    ]
    python_calls = [
        ("echo", '{"text": "hi"}', "hi"),
        ("add", '{"terms": [2, 3]}', '"total": 5'),
        ("steps", '{"count": 3}', "3 steps"),
        ("odd name!/x", "{}", "odd"),
        ("big", '{"lines": 100000}', "line 1 of"),
    ]
    python_errors = [("fail", "{}"), ("none", "{}"), ("echo", "{}")]
    everything_port, python_port, json_port = free_port(), free_port(), free_port()
    yield Case("everything stdio", "ev", {"command": node, "args": [everything]}, LEGACY, 14, every_calls)
    yield Case(
        "everything http", "ev", {"url": f"http://127.0.0.1:{everything_port}/mcp"}, LEGACY, 14, every_calls,
        listening=lambda: Listening([node, everything, "streamableHttp"], everything_port, {"PORT": str(everything_port)}),
    )  # fmt: skip
    yield Case(
        "filesystem stdio", "fs", {"command": node, "args": [filesystem, "@PROJECT@"]}, LEGACY, 14,
        [("read_text_file", '{"path": "@PROJECT@/hello.txt"}', "hello"), ("list_directory", '{"path": "@PROJECT@"}', "hello.txt")],
        [("read_text_file", '{"path": "/etc/hostname"}')],
    )  # fmt: skip
    yield Case("python stdio", "py", {"command": python, "args": [peer]}, MODERN, 14, python_calls, python_errors)
    yield Case("python stdio legacy", "py", {"command": python, "args": [peer, "legacy"]}, LEGACY, 14, python_calls, python_errors)
    yield Case(
        "python http", "py", {"url": f"http://127.0.0.1:{python_port}/mcp"}, MODERN, 14, python_calls, python_errors,
        listening=lambda: Listening([python, peer, "http", str(python_port)], python_port),
    )  # fmt: skip
    yield Case(
        "python http json", "py", {"url": f"http://127.0.0.1:{json_port}/mcp"}, MODERN, 14, python_calls, python_errors,
        listening=lambda: Listening([python, peer, "http", str(json_port), "json"], json_port),
    )  # fmt: skip


def report(form, name, run):
    outcome, why = "ok", ""
    try:
        run()
    except Exception as error:
        outcome, why = "FAILED", f"{type(error).__name__}: {error}"[:500]
    print(json.dumps({"format": form, "conversation": name, "outcome": outcome, "why": why}), flush=True)


def check(place, case):
    text = place.pi("check")
    assert case.version in text, f"no {case.version} in: {text}"


def listed(place, case):
    text = place.pi("list")
    assert f"{case.tools} tools" in text, text
    assert "connected" in text, text


def called(place, tool, arguments, expected):
    text = place.pi("call", place.name, tool, arguments)
    assert expected in text, text[:300]


def main():
    binary, peers = sys.argv[1], Path(sys.argv[2]).resolve()
    for case in cases(peers):
        with case.listening() if case.listening else Nothing(), Place(binary, case.name, case.config) as place:
            report(case.form, "check", lambda: check(place, case))
            report(case.form, "list", lambda: listed(place, case))
            for tool, arguments, expected in case.calls:
                report(case.form, f"call {tool}", lambda: called(place, tool, arguments, expected))
            for tool, arguments in case.errors:
                report(case.form, f"failing call {tool}", lambda: place.pi("call", place.name, tool, arguments, code=1))


if __name__ == "__main__":
    main()
