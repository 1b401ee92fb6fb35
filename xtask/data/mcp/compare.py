"""Runs the same MCP servers and model answers through the TypeScript pi and ours, and compares what the
model sees: tool declarations, system sections, results.

    compare.py --peers DIR [--real CMD] [--ours BIN] [--only WORDS] [--record DIR] [--verbose]

With one program only, it records. Prints one line of JSON per case, in the form of the interop table.
Every difference must be in `accepted.py`, with a reason.
"""

import argparse
import difflib
import json
import re
import sys
from pathlib import Path

import programs
from accepted import ACCEPTED, SAME
from cases import CASES

HERE = Path(__file__).resolve().parent
# Tools whose descriptions are each program's own words.
OWN_WORDS = {
    "read", "bash", "edit", "write", "codemode", "tool_search",
    "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource",
}  # fmt: skip


def filler(peers):
    modules = peers / "mcp" / "node_modules"
    names = {
        "@NODE@": programs.node(peers),
        "@MODULES@": modules,
        "@PYTHON@": peers / "mcp" / "venv" / "bin" / "python",
        "@HERE@": HERE,
    }

    def fill(case, project):
        text = json.dumps(case)
        for name, value in {**names, "@PROJECT@": project}.items():
            text = text.replace(name, str(value))
        return json.loads(text)

    return fill


def plain(text):
    """Replaces what differs between two runs of one program."""
    text = re.sub(r"Wall time [0-9.]+ seconds", "Wall time N seconds", text)
    text = re.sub(r"127\.0\.0\.1:[0-9]+", "127.0.0.1:PORT", text)
    text = re.sub(r"created at [0-9:]+ [AP]M", "created at TIME", text)
    text = re.sub(r"HOME/tmp/[^\s\"')\]]+", "TEMPORARY", text)
    return re.sub(r'("wall_time_seconds": ?)[0-9.]+', r"\1N", text)


def one_form(text):
    """Writes texts of `SAME` in one form, and sorts the fields of JSON: servers and programs order them freely."""
    for words, replacement, _reason in SAME:
        text = re.sub(words, replacement, text)
    return "\n".join(sorted_fields(line) for line in text.split("\n"))


def sorted_fields(line):
    try:
        return json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False) if line[:1] in ("{", "[") else line
    except ValueError:
        return line


def section(request):
    system = request["messages"][0]["content"]
    system = system if isinstance(system, str) else "".join(part.get("text", "") for part in system)
    found = re.search(r"<mcp_servers>.*?</mcp_servers>", system, re.S)
    return found.group() if found else ""


def seen(requests):
    """What the model sees, as a map from a place to a text."""
    view = {}
    for number, request in enumerate(requests):
        tools = [tool["function"] for tool in request.get("tools", [])]
        view[f"request {number} tools"] = "\n".join(tool["name"] for tool in tools)
        view[f"request {number} section"] = section(request)
        for tool in tools:
            description = tool.get("description", "")
            if tool["name"] in OWN_WORDS:
                at = description.find("Codemode: ")
                description = description[at:] if at >= 0 and tool["name"] != "codemode" else ""
            view[f"tool {tool['name']} description"] = description
            schema = tool["parameters"]
            if tool["name"] in OWN_WORDS:
                schema = without_words(schema)
            view[f"tool {tool['name']} schema"] = json.dumps(schema, indent=1, sort_keys=True)
    last = requests[-1]["messages"] if requests else []
    for number, message in enumerate(message for message in last if message["role"] != "system"):
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(part.get("text") or json.dumps(part) for part in content)
        view[f"message {number} {message['role']}"] = plain(content or "")
    return view


def recorded(output):
    """The tool results of the session, and the events of nested calls."""
    view, number, nested = {}, 0, []
    for line in output.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("parentToolCallId"):
            nested.append(f"{event['type']} {event['toolCallId']} of {event['parentToolCallId']}: {event['toolName']}")
        message = event.get("message") or {}
        if event.get("type") == "message_end" and message.get("role") == "toolResult":
            fields = {key: value for key, value in message.items() if key not in ("content", "timestamp", "durationMs")}
            text = plain(json.dumps(fields, indent=1, sort_keys=True))
            view[f"record {number} {message['toolName']}"] = re.sub(r'"durationMs": [0-9.e-]+', '"durationMs": N', text)
            number += 1
    view["nested events"] = "\n".join(nested)
    return view


def without_words(schema):
    if isinstance(schema, dict):
        return {key: without_words(value) for key, value in schema.items() if key != "description"}
    return schema


def differences(real, ours):
    for place in [*real, *(place for place in ours if place not in real)]:
        left, right = (None if view.get(place) is None else one_form(view[place]) for view in (real, ours))
        if left != right:
            lines = difflib.unified_diff(
                (left if left is not None else "(absent)").split("\n"),
                (right if right is not None else "(absent)").split("\n"),
                "real", "ours", lineterm="", n=1,
            )  # fmt: skip
            yield place, "\n".join(list(lines)[2:])


def reason(case, place, difference):
    for cases, places, words, why in ACCEPTED:
        if re.fullmatch(cases, case) and re.fullmatch(places, place) and re.search(words, difference, re.S):
            return why
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--real")
    parser.add_argument("--ours")
    parser.add_argument("--only", default="")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    fill = filler(options.peers.resolve())
    wanted = [word for word in options.only.split(",") if word]
    failed = 0
    for name, case in CASES.items():
        if wanted and not any(word in name for word in wanted):
            continue
        views = {}
        for side in ("real", "ours"):
            if not getattr(options, side):
                continue
            done = programs.run(getattr(options, side), case, fill)
            views[side] = seen(done.requests[-1:] if case.get("last") else done.requests)
            views[side].update(recorded(done.output))
            views[side]["exit code"] = str(done.code)
            if options.record:
                record(options.record, side, name, done)
        unexplained = []
        if len(views) == 2:
            for place, difference in differences(views["real"], views["ours"]):
                why = reason(name, place, difference)
                if why is None:
                    unexplained.append(place)
                    print(f"--- {name}: {place}\n{difference}\n", file=sys.stderr)
                elif options.verbose:
                    print(f"--- {name}: {place}: {why}\n{difference}\n", file=sys.stderr)
        failed += bool(unexplained)
        outcome = {"format": "compare", "conversation": name, "outcome": "FAILED" if unexplained else "ok"}
        print(json.dumps({**outcome, "why": ", ".join(unexplained)}), flush=True)
    return 1 if failed else 0


def record(directory, side, name, done):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.{side}.json").write_text(json.dumps(done.requests, indent=1, ensure_ascii=False))
    (directory / f"{name}.{side}.events.jsonl").write_text(done.output + done.errors)


if __name__ == "__main__":
    sys.exit(main())
