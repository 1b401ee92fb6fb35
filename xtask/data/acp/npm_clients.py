"""Drives `pi acp` with clients of the npm registry, and `pi --mode rpc` with the adapter `pi-acp`.

    npm_clients.py BINARY NODE MODULES

Prints one line of JSON per conversation, in the form of the interop table.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from stage import Stage, call

HERE = Path(__file__).resolve().parent
LIMIT = 120


class Peers:
    """The programs of the peers."""

    def __init__(self, binary, node, modules):
        self.binary, self.node, self.modules = binary, node, Path(modules)

    def sdk(self, stage, version, **options):
        """Runs one turn with the SDK and returns what its client saw."""
        options = {"cwd": str(stage.project), "prompt": "go", **options}
        directory = self.modules / "@agentclientprotocol" / "sdk"
        command = [self.node, HERE / "sdk.mjs", version, directory, json.dumps(options), *stage.command]
        done = subprocess.run(command, env=stage.environment, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr[-600:]
        return json.loads(done.stdout.splitlines()[-1])

    def acpx(self, stage, agent, *options, environment=None):
        """Runs one turn with acpx and returns its frames."""
        command = [self.node, self.modules / ".bin" / "acpx", "--agent", agent, "--cwd", stage.project]
        command += [*(options or ["--approve-all"]), "--format", "json", "--timeout", "100", "exec", "go"]
        environment = {**stage.environment, **(environment or {})}
        done = subprocess.run(command, env=environment, cwd=stage.project, capture_output=True, text=True, timeout=LIMIT)
        frames = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        # acpx exits with 5 if a permission was denied.
        expected = 5 if "--deny-all" in options else 0
        assert done.returncode == expected, done.stderr[-600:] + done.stdout[-300:]
        return frames


WORK = [call("bash", command="echo made > made.txt"), call("read", path="hello.txt"), {"text": "all done"}]


def statuses(updates):
    """The last known status of each call."""
    found = {}
    for update in updates:
        if update["sessionUpdate"] in ("tool_call", "tool_call_update") and update.get("status"):
            found[update["toolCallId"]] = update["status"]
    return list(found.values())


def conversation(peers, version):
    with Stage(peers.binary, WORK) as stage:
        seen = peers.sdk(stage, version)
        assert seen["stop"] == "end_turn" and seen["text"] == "all done", seen
        assert statuses(seen["updates"]) == ["completed", "completed"], seen["updates"]
        assert (stage.project / "made.txt").read_text() == "made\n"
        assert seen["code"] == 0, seen["code"]


def permission(peers, version):
    for choice, status in (("allow_once", "completed"), ("reject_once", "failed")):
        with Stage(peers.binary, [WORK[0], WORK[2]], "--profile", "careful") as stage:
            seen = peers.sdk(stage, version, choice=choice)
            assert seen["permissions"], "no permission was requested"
            assert statuses(seen["updates"]) == [status], seen["updates"]
            assert (stage.project / "made.txt").exists() == (status == "completed")


def cancel(peers, version):
    with Stage(peers.binary, [{"text": "thinking", "hang": True}]) as stage:
        seen = peers.sdk(stage, version, cancelAfter="thinking")
        assert seen["stop"] == "cancelled", seen


def resume(peers, version):
    with Stage(peers.binary, [{"text": "first answer"}, {"text": "second answer"}]) as stage:
        session = peers.sdk(stage, version, prompt="remember the word lamp")["session"]
        seen = peers.sdk(stage, version, prompt="which word?", session=session)
        replayed = json.dumps(seen["replayed"])
        assert "lamp" in replayed and "first answer" in replayed, replayed
        assert "lamp" in json.dumps(stage.model.requests()[-1]), "the history was not sent"
        assert seen["text"] == "second answer", seen["text"]


def acpx(peers, *options, made=True, arguments=()):
    with Stage(peers.binary, WORK, *arguments) as stage:
        frames = peers.acpx(stage, " ".join(stage.command), *options)
        assert "all done" in json.dumps(frames), frames[-3:]
        assert (stage.project / "made.txt").exists() == made


def adapter(peers):
    """The third-party adapter speaks ACP to acpx, and RPC to us."""
    with Stage(peers.binary, WORK) as stage:
        settings = stage.home / "agent" / "settings.json"
        settings.write_text(json.dumps({"defaultProvider": "cmp", "defaultModel": "m", "quietStartup": True}))
        agent = f"{peers.node} {peers.modules / 'pi-acp' / 'dist' / 'index.js'}"
        frames = peers.acpx(stage, agent, environment={"PI_ACP_PI_COMMAND": peers.binary})
        assert "all done" in json.dumps(frames), frames[-3:]
        assert (stage.project / "made.txt").read_text() == "made\n"


CONVERSATIONS = [
    *((f"npm sdk v{version}", name, lambda peers, run=run, version=version: run(peers, version))
      for version in ("1", "2")
      for name, run in [("conversation with tools", conversation), ("permission", permission), ("cancel", cancel), ("resume", resume)]),
    ("acpx", "conversation with tools", acpx),
    ("acpx", "permission allowed", lambda peers: acpx(peers, arguments=("--profile", "careful"))),
    ("acpx", "permission denied", lambda peers: acpx(peers, "--deny-all", made=False, arguments=("--profile", "careful"))),
    ("acpx, pi-acp", "conversation with tools", adapter),
]  # fmt: skip


def main():
    peers = Peers(*sys.argv[1:4])
    os.environ["NO_PROXY"] = "127.0.0.1"
    for form, name, run in CONVERSATIONS:
        outcome, why = "ok", ""
        try:
            run(peers)
        except Exception as error:
            outcome, why = "FAILED", f"{type(error).__name__}: {error}"[:400]
        print(json.dumps({"format": form, "conversation": name, "outcome": outcome, "why": why}), flush=True)


if __name__ == "__main__":
    main()
