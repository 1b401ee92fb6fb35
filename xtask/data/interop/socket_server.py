"""The Responses API over a WebSocket, by the PyPI package `websockets`.

usage: socket_server.py PORT

The first part of the path is the behavior: `/MODE/codex/responses`. `GET /journal/MODE` returns what
arrived there: connections, frames and ends of connections.

plain       a tool call, then text; messages are sent in fragments
forgotten   the second request gets `previous_response_not_found`
limit       the second request gets `websocket_connection_limit_reached`
midway      the first answer ends in its middle with code 1011
age         the socket is closed with code 1001 after the first answer
pings       a ping every 100 ms; without an answer the socket is closed after 300 ms
hang        the first answer stops after its first event
"""

import asyncio
import http
import json
import sys
from collections import defaultdict

import websockets
from websockets.asyncio.server import serve

journal = defaultdict(list)
requests = defaultdict(int)
connections = defaultdict(int)


def mode_of(path):
    return path.strip("/").split("/")[0]


def control(connection, request):
    """Answers requests that are not for a socket."""
    if request.path == "/health":
        return connection.respond(http.HTTPStatus.OK, "{}")
    if request.path.startswith("/journal/"):
        mode = request.path.removeprefix("/journal/")
        return connection.respond(http.HTTPStatus.OK, json.dumps(journal[mode]))
    return None


def fragments(text):
    return [text[at : at + 40] for at in range(0, len(text), 40)]


async def answer(socket, mode, number, body):
    async def send(event):
        text = json.dumps(event)
        await socket.send(fragments(text) if mode == "plain" else text)

    async def fail(status, code):
        await send({"type": "error", "status": status, "error": {"code": code, "message": code}})

    if mode == "forgotten" and number == 2:
        return await fail(400, "previous_response_not_found")
    if mode == "limit" and number == 2:
        return await fail(429, "websocket_connection_limit_reached")
    response = f"resp_{number}"
    await send({"type": "response.created", "response": {"id": response, "status": "in_progress"}})
    if mode == "hang" and number == 1:
        return await asyncio.Future()
    has_output = any(item.get("type") == "function_call_output" for item in body["input"])
    if mode == "plain" and not has_output and number == 1:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "echo"}
        arguments = '{"text": "grüße"}'
        await send({"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}})
        for part in (arguments[:7], arguments[7:]):
            await send({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": part})
        item = {**item, "arguments": arguments, "status": "completed"}
    else:
        text = f"Answer {number}."
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "in_progress", "content": []}
        await send({"type": "response.output_item.added", "output_index": 0, "item": item})
        await send({"type": "response.output_text.delta", "output_index": 0, "item_id": item["id"], "content_index": 0, "delta": text})
        if mode == "midway" and number == 1:
            return await socket.close(1011, "internal error")
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {**item, "status": "completed", "content": content}
    await send({"type": "response.output_item.done", "output_index": 0, "item": item})
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13, "input_tokens_details": {"cached_tokens": 4}}
    await send({"type": "response.completed", "response": {"id": response, "status": "completed", "output": [item], "usage": usage}})
    if mode == "age" and number == 1:
        await socket.close(1001, "too old")


async def handle(socket):
    mode = mode_of(socket.request.path)
    connections[mode] += 1
    connection = connections[mode]
    headers = {name.lower(): value for name, value in socket.request.headers.raw_items()}
    journal[mode].append({"connect": connection, "path": socket.request.path, "headers": headers})
    keeper = asyncio.create_task(ping(socket)) if mode == "pings" else None
    try:
        async for message in socket:
            body = json.loads(message)
            requests[mode] += 1
            journal[mode].append({"frame": connection, "body": body})
            await answer(socket, mode, requests[mode], body)
    except websockets.ConnectionClosed:
        pass
    if keeper:
        keeper.cancel()
    journal[mode].append({"end": connection})


async def ping(socket):
    while True:
        try:
            answered = await socket.ping()
            latency = await asyncio.wait_for(answered, 0.3)
            journal["pings"].append({"pong": latency})
        except (TimeoutError, websockets.ConnectionClosed):
            return await socket.close(1011, "keepalive ping timeout")
        await asyncio.sleep(0.1)


async def main():
    async with serve(handle, "127.0.0.1", int(sys.argv[1]), process_request=control, ping_interval=None):
        await asyncio.Future()


asyncio.run(main())
