"""Runs the official conformance suite (npm `@modelcontextprotocol/conformance`) with a client or a server.

    conformance.py NODE SUITE client PROGRAM
    conformance.py NODE SUITE server PROGRAM      (PROGRAM listens on the address in its first argument)

Prints one line of JSON per scenario of both frozen requirement sets, in the form of the interop table.
A scenario without a single check did not test anything and counts as failed.
"""

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REVISIONS = ("2025-11-25", "2026-07-28")
SUMMARY = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed")
UNSCORED = re.compile(r"^  [✓✗] (\S+) \((.+)\)$")


def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, child):
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if child.poll() is not None:
                break
            time.sleep(0.1)
    sys.exit("the server does not listen")


def first_failure(directory, scenario):
    """Returns the first failed check of a scenario."""
    for checks in sorted(directory.glob(f"**/*{scenario.split('/')[-1]}-20*/checks.json")):
        for check in json.loads(checks.read_text()):
            if check["status"] == "FAILURE":
                why = check.get("errorMessage") or check.get("description") or check["name"]
                return f"{check['id']}: {why}"[:200].replace("\n", " ")
    return "no check ran"


def rows(side, revision, text, directory):
    unscored = dict(match.groups() for match in map(UNSCORED.match, text.splitlines()) if match)
    for match in map(SUMMARY.match, text.splitlines()):
        if match is None:
            continue
        scenario, passed, failed = match[1], int(match[2]), int(match[3])
        outcome, why = ("ok", f"{passed} checks") if passed and not failed else ("FAILED", "")
        if outcome == "FAILED":
            why = first_failure(directory, scenario)
        if scenario in unscored and outcome == "FAILED":
            # Informative scenarios of the server have no checks of their own if they are not offered.
            outcome, why = "skipped", f"not scored ({unscored[scenario]}): {why}"
        yield {"format": f"{side} {revision}", "conversation": scenario, "outcome": outcome, "why": why}


def main():
    node, suite, side, program = sys.argv[1:5]
    for revision in REVISIONS:
        with tempfile.TemporaryDirectory() as results:
            command = [node, suite, side, "--requirements", revision, "--timeout", "120000", "-o", results]
            server = None
            if side == "client":
                command += ["--command", program]
            else:
                at = port()
                server = subprocess.Popen([program, f"127.0.0.1:{at}"], stdout=subprocess.DEVNULL)
                wait_for(at, server)
                command += ["--url", f"http://127.0.0.1:{at}/mcp"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
            finally:
                if server:
                    server.kill()
                    server.wait()
            found = list(rows(side, revision, done.stdout, Path(results)))
            if not found:
                sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
            for row in found:
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
