"""Drives `pi acp` with the official Python SDK (PyPI `agent-client-protocol`).

    python_client.py BINARY

Prints one line of JSON per conversation, in the form of the interop table.
"""

import asyncio
import json
import sys
from pathlib import Path

import acp
from acp import schema

from stage import Stage, call

LIMIT = 60


class Editor(acp.Client):
    """A client with files of its own, which decides permissions as told."""

    def __init__(self, choice="allow_once"):
        self.choice, self.updates, self.asked = choice, [], []
        self.buffers, self.written = {}, {}
        self.changed = asyncio.Event()

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call, options))
        self.changed.set()
        chosen = [option for option in options if option.kind == self.choice]
        if not chosen:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)
        self.changed.set()

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        text = self.buffers.get(path)
        if text is None and not Path(path).exists():
            raise acp.RequestError.resource_not_found(path)
        if text is None:
            text = Path(path).read_text()
        lines = text.splitlines(keepends=True)[(line or 1) - 1 :]
        return schema.ReadTextFileResponse(content="".join(lines[:limit]))

    async def write_text_file(self, session_id, path, content, **_):
        self.written[path] = content
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    def text(self, kind="agent_message_chunk"):
        chunks = (update for update in self.updates if update.session_update == kind)
        return "".join(chunk.content.text for chunk in chunks if chunk.content.type == "text")

    def calls(self):
        """The last known status of each call."""
        status = {}
        for update in self.updates:
            if update.session_update in ("tool_call", "tool_call_update") and update.status:
                status[update.tool_call_id] = update.status
        return status

    async def until(self, found):
        while not found():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), LIMIT)


def agent(stage, editor):
    command, *arguments = stage.command
    return acp.spawn_agent_process(editor, command, *arguments, env=stage.environment, cwd=stage.project)


async def start(agent, files=False):
    fs = schema.FileSystemCapabilities(read_text_file=files, write_text_file=files)
    info = schema.Implementation(name="peer", version="1")
    answer = await agent.initialize(1, schema.ClientCapabilities(fs=fs), info)
    assert answer.protocol_version == 1, answer
    return answer


async def prompt(agent, session, text):
    return await asyncio.wait_for(agent.prompt(session, [acp.text_block(text)]), LIMIT)


async def conversation(binary):
    steps = [call("bash", command="echo made > made.txt"), call("read", path="hello.txt"), {"text": "all done"}]
    with Stage(binary, steps) as stage:
        editor = Editor()
        async with agent(stage, editor) as (pi, _):
            await start(pi)
            session = await pi.new_session(str(stage.project), mcp_servers=[])
            answer = await prompt(pi, session.session_id, "go")
            assert answer.stop_reason == "end_turn", answer
            assert editor.text() == "all done", editor.text()
            assert sorted(editor.calls().values()) == ["completed", "completed"], editor.calls()
            assert (stage.project / "made.txt").read_text() == "made\n"


async def permission(binary, choice, expected):
    steps = [call("bash", command="echo made > made.txt"), {"text": "done"}]
    with Stage(binary, steps, "--profile", "careful") as stage:
        editor = Editor(choice)
        async with agent(stage, editor) as (pi, _):
            await start(pi)
            session = await pi.new_session(str(stage.project), mcp_servers=[])
            answer = await prompt(pi, session.session_id, "go")
            assert editor.asked, "no permission was requested"
            assert answer.stop_reason == "end_turn", answer
            assert list(editor.calls().values()) == [expected], editor.calls()
            assert (stage.project / "made.txt").exists() == (expected == "completed")


async def allowed(binary):
    await permission(binary, "allow_once", "completed")


async def rejected(binary):
    await permission(binary, "reject_once", "failed")


async def cancelled(binary):
    with Stage(binary, [{"text": "thinking", "hang": True}, {"text": "again"}]) as stage:
        editor = Editor()
        async with agent(stage, editor) as (pi, _):
            await start(pi)
            session = await pi.new_session(str(stage.project), mcp_servers=[])
            turn = asyncio.create_task(prompt(pi, session.session_id, "go"))
            await editor.until(lambda: "thinking" in editor.text())
            await pi.cancel(session.session_id)
            answer = await turn
            assert answer.stop_reason == "cancelled", answer
            answer = await prompt(pi, session.session_id, "go on")
            assert answer.stop_reason == "end_turn" and editor.text().endswith("again"), editor.text()


async def resumed(binary):
    with Stage(binary, [{"text": "first answer"}, {"text": "second answer"}]) as stage:
        editor = Editor()
        async with agent(stage, editor) as (pi, _):
            await start(pi)
            session = (await pi.new_session(str(stage.project), mcp_servers=[])).session_id
            await prompt(pi, session, "remember the word lamp")
        editor = Editor()
        async with agent(stage, editor) as (pi, _):
            offers = await start(pi)
            assert offers.agent_capabilities.load_session, offers
            listed = await pi.list_sessions(cwd=str(stage.project))
            assert session in [entry.session_id for entry in listed.sessions], listed
            await pi.load_session(str(stage.project), session, mcp_servers=[])
            assert "lamp" in editor.text("user_message_chunk"), editor.updates
            assert editor.text() == "first answer", editor.text()
            await prompt(pi, session, "which word?")
            assert "lamp" in json.dumps(stage.model.requests()[-1]), "the history was not sent"


async def buffers(binary):
    steps = [call("read", path="hello.txt"), call("write", path="out.txt", content="from pi\n"), {"text": "done"}]
    with Stage(binary, steps) as stage:
        editor = Editor()
        path = str(stage.project / "hello.txt")
        editor.buffers[path] = "unsaved text\n"
        async with agent(stage, editor) as (pi, _):
            await start(pi, files=True)
            session = await pi.new_session(str(stage.project), mcp_servers=[])
            await prompt(pi, session.session_id, "go")
            assert "unsaved text" in json.dumps(stage.model.requests()[1]), "the buffer was not read"
            assert list(editor.written.values()) == ["from pi\n"], editor.written


async def failed(binary):
    with Stage(binary, [{"status": 401, "error": "wrong key"}]) as stage:
        editor = Editor()
        async with agent(stage, editor) as (pi, _):
            await start(pi)
            session = await pi.new_session(str(stage.project), mcp_servers=[])
            try:
                answer = await prompt(pi, session.session_id, "go")
            except acp.RequestError:
                return
            assert answer.stop_reason != "end_turn", answer


async def servers(binary):
    peer = schema.McpServerStdio(name="py", command=sys.argv[2], args=sys.argv[3:], env=[])
    steps = [call("codemode", code="return (await tools.mcp__py__echo({text: 'over acp'})).content[0].text"), {"text": "done"}]
    with Stage(binary, steps) as stage:
        editor = Editor()
        async with agent(stage, editor) as (pi, _):
            await start(pi)
            session = await pi.new_session(str(stage.project), mcp_servers=[peer])
            await prompt(pi, session.session_id, "go")
            results = [message for message in stage.model.requests()[-1]["messages"] if message["role"] == "tool"]
            assert "over acp" in json.dumps(results) and "error" not in json.dumps(results), results


CONVERSATIONS = {
    "conversation with tools": conversation,
    "permission allowed": allowed,
    "permission rejected": rejected,
    "cancel": cancelled,
    "load": resumed,
    "unsaved buffers": buffers,
    "failed turn": failed,
    "mcp server of the client": servers,
}


def main():
    binary = sys.argv[1]
    for name, run in CONVERSATIONS.items():
        if name.startswith("mcp") and len(sys.argv) < 3:
            outcome, why = "skipped", "the Python MCP SDK is missing"
        else:
            outcome, why = "ok", ""
            try:
                asyncio.run(asyncio.wait_for(run(binary), 2 * LIMIT))
            except Exception as error:
                outcome, why = "FAILED", f"{type(error).__name__}: {error}"[:400]
        print(json.dumps({"format": "python sdk", "conversation": name, "outcome": outcome, "why": why}), flush=True)


if __name__ == "__main__":
    main()
