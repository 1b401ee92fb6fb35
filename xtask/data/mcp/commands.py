"""Runs the same `pi mcp` commands with the TypeScript pi and ours, and compares what they leave behind.

    commands.py --peers DIR --real CMD --ours BIN

Exit codes and files must be equal, and so must the states that `list` prints; only wrong usage ends with 2
here, where 1.5.0 ends with 1. Sentences are each program's own. Prints one line of JSON per command, in the form of the interop table.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import programs
from compare import filler
from cases import BROKEN, EVERYTHING, PYTHON

START = """{
    "mcpServers": {
        "kept": {"command": "x", "unknownKey": [1, 2], "exposure": "direct"}
    },
    "otherKey": {"a": 1}
}
"""

# Each command continues with the files of the one before.
EDITS = [
    ["add", "files", "--", "npx", "-y", "server", "."],
    ["add", "web", "--url", "https://example.com/mcp"],
    ["add", "both", "--url", "https://example.com/mcp", "--", "npx"],
    ["add", "neither"],
    ["add", "bad name", "--", "x"],
    ["add", "env", "--env", "A=1", "--env", "B=${HOME}", "--cwd", "~/work", "--", "uvx", "tool"],
    ["add", "env2", "--env", "broken", "--", "uvx"],
    ["add", "head", "--url", "https://example.com/mcp", "--header", "X-A=b", "--bearer-token-env-var", "TOKEN"],
    ["add", "exposed", "--exposure", "deferred", "--description", "Some words", "--", "x"],
    ["add", "default", "--exposure", "codemode", "--", "x"],
    ["add", "wrong", "--exposure", "visible", "--", "x"],
    ["add", "oauth", "--url", "https://example.com/mcp", "--oauth-client-id", "id", "--oauth-client-secret", "s", "--oauth-callback-port", "8765"],
    ["add", "cimd", "--url", "https://example.com/mcp", "--oauth-client-registration", "cimd"],
    ["add", "cimd2", "--url", "https://example.com/mcp", "--oauth-client-registration", "other"],
    ["add", "sse", "--url", "ftp://example.com/mcp"],
    ["add", "files", "--", "other"],
    ["add", "fi-les", "--", "x"],
    ["add", "-l", "local", "--", "x"],
    ["add", "kept", "--", "y"],
    ["remove", "files"],
    ["remove", "absent"],
    ["remove", "-l", "local"],
    ["remove", "-l", "web"],
    ["login", "absent"],
    ["login", "kept"],
    ["logout", "absent"],
    ["logout", "web"],
    ["unknown"],
]  # fmt: skip

LIST = {
    "fine": PYTHON,
    "patterns": {**PYTHON, "exposure": "deferred", "toolExposure": {"echo": "direct", "a*": "hidden"}},
    "every-thing": {**EVERYTHING, "exposure": "direct", "description": "All of it"},
    "broken": BROKEN,
    "off": {"command": "x", "enabled": False, "exposure": "hidden"},
    "closed": {"url": "http://127.0.0.1:1/mcp"},
    "sse": {"type": "sse", "url": "http://127.0.0.1:1/mcp"},
    "both": {"url": "http://127.0.0.1:1/mcp", "command": "x"},
    "bad name": {"command": "x"},
    "off_": {"command": "x", "timeout": -1},
    "typed": {"type": "stdio", "command": "x", "enabled": "no"},
}


class Program:
    """One of the two, in a home of its own."""

    def __init__(self, command, fill):
        self.command = shlex.split(command)
        self.directory = tempfile.TemporaryDirectory(prefix="pi-mcp-", ignore_cleanup_errors=True)
        self.home = Path(self.directory.name).resolve()
        self.project, self.environment = programs.prepare(self.home, 1, {"servers": {}})
        self.fill = fill
        self.config = self.home / "agent" / "mcp.json"

    def run(self, *arguments):
        command = [*self.command, "mcp", *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
        )
        local = self.project / ".pi" / "mcp.json"
        files = [path.read_text() if path.exists() else "(absent)" for path in (self.config, local)]
        return done.returncode, files, done.stdout, done.stderr

    def listed(self):
        self.config.write_text(json.dumps({"mcpServers": self.fill(LIST, self.project)}))
        code, _, output, _ = self.run("list", "--json")
        return code, json.loads(output)


def comparable(listed):
    code, document = listed
    keys = ("name", "scope", "enabled", "exposure", "transport", "state", "tools", "toolExposure", "resources")
    servers = [{key: server.get(key) for key in keys} for server in document["servers"]]
    return {"code": code, "servers": servers, "errors": len(document["errors"])}


def row(name, why):
    outcome = "FAILED" if why else "ok"
    print(json.dumps({"format": "commands", "conversation": name, "outcome": outcome, "why": why[:400]}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--real", required=True)
    parser.add_argument("--ours", required=True)
    options = parser.parse_args()
    fill = filler(options.peers.resolve())
    real, ours = Program(options.real, fill), Program(options.ours, fill)
    for program in (real, ours):
        program.config.write_text(START)
    for edit in EDITS:
        (code, files, *left), (our_code, our_files, *right) = real.run(*edit), ours.run(*edit)
        why = ""
        # Wrong usage ends with 2 in all our commands.
        if code != our_code and (code, our_code) != (1, 2):
            why = f"exit code {our_code}, not {code}: {right} where 1.5.0 says {left}"
        elif files != our_files:
            why = f"{our_files} instead of {files}"
            # The next command starts from equal files.
            ours.config.write_text(files[0])
        row(" ".join(edit), why)
    left, right = comparable(real.listed()), comparable(ours.listed())
    differences = [f"{a} != {b}" for a, b in zip(left["servers"], right["servers"]) if a != b]
    if left["code"] != right["code"] or left["errors"] != right["errors"]:
        differences.append(f"code and errors {left['code']} {left['errors']} != {right['code']} {right['errors']}")
    row("list --json", "; ".join(differences))


if __name__ == "__main__":
    sys.exit(main())
