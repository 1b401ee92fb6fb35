"""An MCP server on stdio whose tools, results and resources are unusual, without an SDK that would refuse them."""

import json
import sys

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
PERSON = {"type": "object", "properties": {"n": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/P"}}}, "required": ["n"]}
ITEM = {"type": "object", "properties": {"id": {"type": "integer"}}}

# Name to what the tool has besides `inputSchema`, which is an object without properties.
TOOLS = {
    "bare": {},
    "titled": {"title": "A Title"},
    "annotated": {"description": "", "annotations": {"title": "Annotated", "readOnlyHint": True}},
    "padded": {"description": "  padded  \n"},
    "lines": {"description": "First line.\nSecond line.\n\n- bullet\n  \"quoted\" `tick` <tag>"},
    "hidden": {"description": "Right \u202e to left, zero\u200b width."},
    "dash-name": {"description": "Dash."},
    "dash_name": {"description": "Underscore."},
    "dot.name": {"description": "Dot."},
    "ünïcode": {"description": "Unicode ☃."},
    "1st": {"description": "Digit."},
    "limits": {
        "description": "Limits.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2, "description": "An x\nwith lines"},
                "y": {"enum": ["a", "b", 3, None]},
                "d": {"type": "string", "format": "date"},
                "l": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            },
            "required": ["x"],
        },
    },
    "references": {
        "description": "References.",
        "inputSchema": {
            "type": "object",
            "$defs": {"P": PERSON},
            "properties": {
                "p": {"$ref": "#/$defs/P"},
                "u": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
                "o": {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]},
            },
        },
    },
    "map": {"description": "Map.", "inputSchema": {"type": "object", "additionalProperties": {"type": "number"}}},
    "closed": {
        "description": "Closed.",
        "inputSchema": {
            "type": "object",
            "properties": {"t": {"type": "array", "prefixItems": [{"type": "string"}]}, "c": {"const": "fix"}, "m": {"type": ["string", "null"]}, "odd-key": {}},
            "additionalProperties": False,
        },
    },
    "untyped": {"description": "Untyped.", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    "items": {
        "description": "Items.",
        "outputSchema": {
            "type": "object",
            "$defs": {"I": ITEM},
            "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/I"}}, "next": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "required": ["items"],
        },
    },
    **{name: {"description": f"Returns {name}."} for name in (
        "structured", "both", "audio", "failure", "failed_image", "refused", "invalid", "unknown", "mixed", "image", "empty_text", "meta", "control", "list", "part", "end",
    )},
}  # fmt: skip


def text(value):
    return {"type": "text", "text": value}


RESULTS = {
    "structured": {"content": [], "structuredContent": {"a": [1, {"b": None}], "z": "é"}},
    "both": {"content": [text("summary")], "structuredContent": {"full": 1}},
    "items": {"content": [text("1 item")], "structuredContent": {"items": [{"id": 1}], "next": None}},
    "audio": {"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, text("after")]},
    "failure": {"content": [text("bad"), text("worse")], "structuredContent": {"code": 7}, "isError": True},
    "failed_image": {"content": [IMAGE], "isError": True},
    "invalid": {"content": "text"},
    "unknown": {"content": [{"type": "video", "url": "x"}, text("tail")]},
    "mixed": {
        "content": [
            text("one"),
            IMAGE,
            {"type": "resource", "resource": {"uri": "a://1", "text": "embedded"}},
            {"type": "resource_link", "uri": "b://2", "name": "l", "description": "D", "size": 2048},
            text("two"),
        ]
    },
    "image": {"content": [IMAGE]},
    "empty_text": {"content": [text("")], "structuredContent": {"a": 1}},
    "meta": {"content": [text("m")], "_meta": {"x": 1}, "extra": 5},
    "control": {"content": [text("\u001b[31mred\u001b[0m \u0007bell\r\ncr\rx\u0000y")]},
    "list": {"content": [text("s")], "structuredContent": [1, 2]},
    "part": {"content": [{"type": "resource", "resource": {"uri": "a://none"}}]},
}

RESOURCES = [
    {"uri": "a://1", "name": "n1", "title": "t1", "description": "line 1\nline 2", "size": 5, "annotations": {"priority": 0.5}, "icons": [{"src": "x"}], "_meta": {"k": 1}, "extra": 1},
    {"uri": "ui://app", "name": "app"},
    {"uri": "a://app", "name": "app", "mimeType": "text/html;profile=mcp-app"},
]
TEMPLATES = [{"uriTemplate": "t://{x}", "name": "tn", "title": "tt", "annotations": {"priority": 1}, "icons": [], "_meta": {}}]
CONTENTS = {
    "x://several": [{"text": "one"}, {"blob": PIXEL, "mimeType": "image/png"}, {"blob": "AAEC"}, {"text": ""}],
    "x://empty": [],
    "x://blank": [{"text": ""}],
    "x://coded": [{"blob": "YTogMQ==", "mimeType": "TEXT/PLAIN; charset=utf-8"}],
    "x://xml": [{"blob": "PGEvPg==", "mimeType": "application/atom+xml"}],
    "x://yaml": [{"blob": "YTogMQ==", "mimeType": "application/yaml"}],
    "x://broken": [{"blob": "!!"}],
}


def page(params):
    """The tools in pages of ten."""
    tools = [{"name": name, "inputSchema": {"type": "object"}, **tool} for name, tool in TOOLS.items()]
    start = int(params.get("cursor") or 0)
    more = {"nextCursor": str(start + 10)} if start + 10 < len(tools) else {}
    return {"tools": tools[start : start + 10], **more}


def answer(method, params):
    """The result of a request, or its error."""
    if method == "initialize":
        capabilities = {"tools": {}, "resources": {}}
        instructions = "\n\n  First line   with spaces.  \nsecond <b>line</b>"
        return {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "odd", "version": "9"}, "instructions": instructions}
    if method == "tools/list":
        return page(params)
    if method == "tools/call":
        name = params["name"]
        if name == "end":
            sys.exit(3)
        if name == "refused":
            return {"code": -32001, "message": "the server says no", "data": {"why": "x"}}
        return RESULTS.get(name) or {"content": [text(f"{name}: {json.dumps(params.get('arguments'), sort_keys=True)}")]}
    if method == "resources/list":
        return {"resources": RESOURCES}
    if method == "resources/templates/list":
        return {"resourceTemplates": TEMPLATES}
    if method == "resources/read" and params["uri"] in CONTENTS:
        uri = params["uri"]
        return {"contents": [{"uri": f"{uri}/{number}", **one} for number, one in enumerate(CONTENTS[uri])], "_meta": {"z": 1}}
    return {"code": -32601, "message": "Method not found"}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params") or {})
        kind = "error" if "code" in result else "result"
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], kind: result}), flush=True)
