"""Drives `pi run` through Harbor, without containers and without a network.

usage: harness.py BINARY ADAPTER_DIRECTORY

A scripted model on loopback answers; the environment is a mount namespace with an overlay over the
root directory (needs root). Prints one JSON row per result.
"""

import asyncio
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

FIX = "sed -i 's/Helo/Hello/' /app/greet.sh"


class Overlay(BaseEnvironment):
    """The files of this machine under an overlay that is thrown away."""

    @staticmethod
    def type():
        return "overlay"

    @property
    def capabilities(self):
        return EnvironmentCapabilities(mounted=False)

    def _validate_definition(self):
        pass

    async def start(self, force_build):
        self.root = tempfile.mkdtemp(prefix="pi-harbor-")
        root = self.root
        script = (
            f"mount -t tmpfs t {root} && mkdir {root}/u {root}/w {root}/m"
            f" && mount -t overlay o -o lowerdir=/,upperdir={root}/u,workdir={root}/w {root}/m"
            f" && mount --rbind /proc {root}/m/proc && mount --rbind /dev {root}/m/dev"
            f" && mkdir -p {root}/m/app {root}/m/logs/agent {root}/m/logs/verifier"
            f" {root}/m/logs/artifacts {root}/m/tests"
            f" && echo 'echo \"Helo, world!\"' >{root}/m/app/greet.sh"
            " && echo up && exec sleep 100000"
        )
        self.holder = await asyncio.create_subprocess_exec(
            "unshare", "-m", "--propagation", "private", "sh", "-c", script,
            stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )
        if (await self.holder.stdout.readline()).strip() != b"up":
            raise RuntimeError("the overlay cannot be mounted; root is required")

    async def stop(self, delete):
        self.holder.send_signal(signal.SIGKILL)
        await self.holder.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def _inside(self, command):
        pid = str(self.holder.pid)
        return ["nsenter", "-t", pid, "-m", "chroot", f"{self.root}/m", "bash", "-c", command]

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        command = f"cd {shlex.quote(cwd or '/app')} && {command}"
        process = await asyncio.create_subprocess_exec(
            *self._inside(command), env={**os.environ, **(env or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(
            stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"),
            return_code=process.returncode,
        )

    async def _pipe(self, command, data=b""):
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._inside(command), stdin=pipe, stdout=pipe, stderr=pipe
        )
        out, err = await process.communicate(data)
        if process.returncode:
            raise RuntimeError(err.decode())
        return out

    async def upload_file(self, source_path, target_path):
        target = shlex.quote(str(target_path))
        content = Path(source_path).read_bytes()
        await self._pipe(f"mkdir -p $(dirname {target}) && cat >{target}", content)

    async def upload_dir(self, source_dir, target_dir):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            archive.add(str(source_dir), arcname=".")
        target = shlex.quote(str(target_dir))
        await self._pipe(f"mkdir -p {target} && tar -C {target} -xf -", buffer.getvalue())

    async def download_file(self, source_path, target_path):
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        Path(target_path).write_bytes(await self._pipe(f"cat {shlex.quote(str(source_path))}"))

    async def download_dir(self, source_dir, target_dir):
        content = await self._pipe(f"tar -C {shlex.quote(str(source_dir))} -cf - .")
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(target_dir, filter="data")


class Model(BaseHTTPRequestHandler):
    """Calls bash once, then answers with a text."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        size = int(self.headers.get("content-length", 0))
        messages = json.loads(self.rfile.read(size))["messages"]
        done = any(message["role"] == "tool" for message in messages)
        if done:
            delta, reason = {"content": "greet.sh prints the right greeting now."}, "stop"
        else:
            function = {"name": "bash", "arguments": json.dumps({"command": FIX})}
            call = {"index": 0, "id": "call_1", "type": "function", "function": function}
            delta, reason = {"tool_calls": [call]}, "tool_calls"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "1", "object": "chat.completion.chunk", "model": "scripted"}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for data in [{**chunk, "choices": [choice]}, {**chunk, "choices": [], "usage": usage}]:
            self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


def row(name, failure=None):
    outcome, why = ("ok", "") if failure is None else ("FAILED", failure)
    result = {"format": "harbor", "conversation": name, "outcome": outcome, "why": why}
    print(json.dumps(result), flush=True)


def main():
    binary, adapter = sys.argv[1:3]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="pi-harbor-jobs-") as jobs:
        harbor = Path(sys.executable).with_name("harbor")
        command = [
            str(harbor), "run", "-p", str(here / "task"), "-o", jobs, "--job-name", "job",
            "-a", "pi_run:PiRun", "--ak", f"binary={binary}", "--ak", "profile=explore",
            "--ak", 'check=["sh greet.sh | grep -qx \'Hello, world!\'"]',
            "-m", "openai/scripted", "-e", "harness:Overlay", "-n", "1", "-q", "-y",
            "--ae", "OPENAI_API_KEY=none",
            "--ae", f"OPENAI_BASE_URL=http://127.0.0.1:{server.server_port}/v1",
        ]
        env = {**os.environ, "PYTHONPATH": f"{here}:{adapter}", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            return row("harbor run", (done.stdout + done.stderr)[-2000:])
        row("harbor run")
        trial = next(path for path in (Path(jobs) / "job").iterdir() if path.is_dir())
        result = json.loads((trial / "result.json").read_text())
        rewards = (result.get("verifier_result") or {}).get("rewards")
        wrong = None if rewards == {"reward": 1.0} else f"{rewards} {result.get('exception_info')}"
        row("reward 1.0", wrong)
        logs = trial / "agent"
        report = json.loads((logs / "report.json").read_text())
        row("outcome converged", None if report["outcome"] == "converged" else report["reason"])
        from harbor.models.trajectories import Trajectory

        try:
            trajectory = Trajectory.model_validate_json((logs / "trajectory.json").read_text())
            calls = [call.function_name for step in trajectory.steps for call in step.tool_calls or []]
            row("trajectory is valid ATIF", None if calls == ["bash"] else str(calls))
        except (OSError, ValueError) as error:
            row("trajectory is valid ATIF", str(error)[:500])


if __name__ == "__main__":
    main()
