"""Drives `pi mcp serve` with the official Python SDK (PyPI `mcp` 2.x), on both eras and transports, and
with the clients of the npm registry.

    clients.py BINARY NODE MODULES

Prints one line of JSON per conversation, in the form of the interop table.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import programs
import servers

LIMIT = 90
TOKEN = "peer-token-0123456789abcdef"
DONE = {"text": "all done"}


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


class Stage:
    """A project with a scripted model, and `pi mcp serve` in it."""

    def __init__(self, binary, transport, steps, *arguments):
        self.transport = transport
        self.directory = tempfile.TemporaryDirectory(prefix="pi-serve-", ignore_cleanup_errors=True)
        home = Path(self.directory.name).resolve()
        self.model = programs.Model(home, steps)
        self.project, self.environment = programs.prepare(home, self.model.port, {"servers": {}})
        self.command = [binary, "mcp", "serve", "--model", "cmp/m", *arguments]
        self.listening = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.listening:
            self.listening.__exit__()
        self.model.stop()
        self.directory.cleanup()

    def server(self):
        if self.transport == "stdio":
            command, *arguments = self.command
            return stdio_client(StdioServerParameters(command=command, args=arguments, env=self.environment, cwd=self.project))
        port = servers.free_port()
        token = self.project.parent / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        command = [*self.command, "--http", f"127.0.0.1:{port}", "--token-file", str(token)]
        self.listening = servers.Listening(command, port, self.environment, self.project)
        client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=LIMIT)
        return streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=client)


async def run(binary, transport, mode):
    with Stage(binary, transport, [call("bash", command="echo made > made.txt"), DONE], "--profile", "explore") as stage:
        progress = []

        async def on_progress(now, total, message):
            progress.append(message)

        async with Client(stage.server(), mode=mode) as client:
            expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
            assert client.protocol_version == expected, client.protocol_version
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"run", "reply", "status", "abort"} <= tools, tools
            result = await client.call_tool("run", {"prompt": "go"}, progress_callback=on_progress)
            assert not result.is_error, result
            assert "all done" in result.content[0].text, result.content
            assert (stage.project / "made.txt").exists(), result
            facts = result.structured_content
            assert facts["sessionId"] and facts["usage"], facts
            result = await client.call_tool("reply", {"sessionId": facts["sessionId"], "prompt": "again"})
            assert not result.is_error, result
            assert len(stage.model.requests()[-1]["messages"]) > 4, "the history was not sent"
            resources = await client.read_resource(f"pi://sessions/{facts['sessionId']}")
            assert "all done" in resources.contents[0].text, resources
            assert any("bash" in (line or "") for line in progress), f"no progress: {progress}"


async def ask(binary, transport, mode, action):
    with Stage(binary, transport, [call("bash", command="echo made > made.txt"), DONE], "--profile", "careful") as stage:
        asked = []

        async def elicit(context, params):
            asked.append(params)
            content = {name: value.get("default", first(value)) for name, value in params.requested_schema.get("properties", {}).items()}
            return types.ElicitResult(action=action, content=content if action == "accept" else None)

        async with Client(stage.server(), mode=mode, elicitation_callback=elicit) as client:
            await client.call_tool("run", {"prompt": "go"})
            assert asked, "nothing was asked"
            assert (stage.project / "made.txt").exists() == (action == "accept"), asked


def first(schema):
    """A value that allows, for the schema of a question."""
    if schema.get("type") == "boolean":
        return True
    choices = schema.get("enum") or [choice["const"] for choice in schema.get("oneOf", [])]
    return next((choice for choice in choices if "allow" in choice.lower() or "once" in choice.lower()), choices[0] if choices else "yes")


async def allowed(binary, transport, mode):
    await ask(binary, transport, mode, "accept")


async def declined(binary, transport, mode):
    await ask(binary, transport, mode, "decline")


async def cancelled(binary, transport, mode):
    with Stage(binary, transport, [{"text": "thinking", "hang": True}, DONE]) as stage:
        async with Client(stage.server(), mode=mode) as client:
            turn = asyncio.create_task(client.call_tool("run", {"prompt": "go"}))
            while not stage.model.requests():
                await asyncio.sleep(0.1)
            turn.cancel()
            try:
                await turn
            except asyncio.CancelledError:
                pass
            result = await client.call_tool("run", {"prompt": "second"})
            assert "all done" in result.content[0].text, result


CONVERSATIONS = {"run, reply, resources": run, "approval allowed": allowed, "approval declined": declined, "cancel": cancelled}


def main():
    binary = sys.argv[1]
    for transport in ("stdio", "http"):
        for era, mode in (("old", "legacy"), ("new", "auto")):
            for name, talk in CONVERSATIONS.items():
                outcome, why = "ok", ""
                try:
                    asyncio.run(asyncio.wait_for(talk(binary, transport, mode), LIMIT))
                except BaseException as error:
                    while isinstance(error, BaseExceptionGroup):
                        error = error.exceptions[0]
                    outcome, why = "FAILED", f"{type(error).__name__}: {error}"[:400]
                form = f"python client {transport} {era} era"
                print(json.dumps({"format": form, "conversation": name, "outcome": outcome, "why": why}), flush=True)
    npm(*sys.argv[1:4])


def npm(binary, node, modules):
    with Stage(binary, "stdio", [DONE]) as stage:
        command = [node, programs.HERE / "npm_client.mjs", modules, *stage.command]
        subprocess.run(command, env=stage.environment, cwd=stage.project, timeout=4 * LIMIT, check=True)


if __name__ == "__main__":
    main()
