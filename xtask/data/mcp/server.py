"""An MCP server made with the Python SDK (PyPI `mcp` 2.x), which speaks both eras.

    server.py                  on stdio
    server.py legacy           the same, without the methods of the new era
    server.py http PORT        streamable HTTP at /mcp
    server.py http PORT json   the same, with JSON answers instead of streams
"""

import asyncio
import json
import subprocess
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    METHOD_NOT_FOUND,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

server = MCPServer(
    "python-peer",
    version="1.0.0",
    instructions="Small tools for tests.\nThe second line is only for those who ask.",
    log_level="ERROR",
)


class Sum(BaseModel):
    """A structured result."""

    total: int
    terms: list[int]


class Question(BaseModel):
    """A form for the user."""

    name: str = "nobody"
    sure: bool = False


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True), structured_output=False)
def echo(text: str) -> str:
    """Repeats a text."""
    return text


@server.tool()
def add(terms: list[int]) -> Sum:
    """Adds whole numbers and returns the total."""
    return Sum(total=sum(terms), terms=terms)


@server.tool(annotations=ToolAnnotations(destructive_hint=True), structured_output=False)
def fail(reason: str = "on purpose") -> str:
    """Always fails."""
    raise ValueError(reason)


@server.tool(structured_output=False)
def empty_error() -> CallToolResult:
    """Fails without a text."""
    return CallToolResult(content=[], is_error=True)


@server.tool(structured_output=False)
def nothing() -> CallToolResult:
    """Succeeds without a text."""
    return CallToolResult(content=[])


@server.tool(structured_output=False)
def big(lines: int = 2000) -> str:
    """Returns many lines."""
    return "\n".join(f"line {number} of {lines}" for number in range(1, lines + 1))


@server.tool(structured_output=False)
def wide(characters: int = 30000) -> str:
    """Returns one long line."""
    return "x" * characters


@server.tool(structured_output=False)
def picture() -> CallToolResult:
    """Returns an image between two texts."""
    image = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    return CallToolResult(
        content=[TextContent(type="text", text="before"), image, TextContent(type="text", text="after")]
    )


@server.tool(structured_output=False)
def links() -> CallToolResult:
    """Returns links and embedded resources."""
    text = TextResourceContents(uri="memo://embedded", mime_type="text/plain", text="embedded text")
    blob = BlobResourceContents(uri="memo://blob", mime_type="application/octet-stream", blob="AAECAw==")
    coded = BlobResourceContents(uri="memo://coded", mime_type="text/plain", blob="Y29kZWQ=")
    return CallToolResult(
        content=[
            ResourceLink(
                type="resource_link",
                uri="memo://note",
                name="note",
                title="A note",
                description="A short note",
                mime_type="text/plain",
                size=12,
            ),
            ResourceLink(type="resource_link", uri="memo://bare", name="bare"),
            EmbeddedResource(type="resource", resource=text),
            EmbeddedResource(type="resource", resource=coded),
            EmbeddedResource(type="resource", resource=blob),
        ]
    )


@server.tool(name="odd name!/x", structured_output=False)
def odd() -> str:
    """Has a name that models do not accept."""
    return "odd"


@server.tool(name="a" * 80, structured_output=False)
def long_name() -> str:
    """Has a name that is too long."""
    return "long"


@server.tool(structured_output=False)
async def steps(count: int, context: Context) -> str:
    """Reports progress."""
    for number in range(1, count + 1):
        await context.report_progress(number, count, f"step {number}")
    return f"{count} steps"


@server.tool(structured_output=False)
async def wait(seconds: float) -> str:
    """Waits."""
    await asyncio.sleep(seconds)
    return "waited"


@server.tool(structured_output=False)
async def ask(context: Context) -> str:
    """Asks the user for a name."""
    answer = await context.elicit("What is your name?", Question)
    return f"{answer.action}: {getattr(answer, 'data', None)}"


@server.resource("memo://note", name="note", title="A note", description="A short note", mime_type="text/plain")
def note() -> str:
    return "text of note"


@server.resource("memo://bytes", name="bytes", mime_type="application/octet-stream")
def raw() -> bytes:
    return bytes(range(16))


@server.resource("memo://pixel", name="pixel", mime_type="image/png")
def pixel() -> bytes:
    import base64

    return base64.b64decode(PIXEL)


@server.resource("memo://item/{number}", name="item", description="One item", mime_type="text/plain")
def item(number: str) -> str:
    return f"item {number}"


@server.prompt(description="Asks for a review")
def review(subject: str, tone: str = "kind") -> str:
    return f"Review {subject} in a {tone} tone."


def without_discovery():
    """Answers `server/discover` like an older server, and passes everything else to the real one."""
    child = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, text=True)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "server/discover":
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        else:
            child.stdin.write(line)
            child.stdin.flush()
    child.stdin.close()
    child.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["legacy"]:
        without_discovery()
    elif sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]), json_response=sys.argv[3:] == ["json"])
    else:
        server.run("stdio")
