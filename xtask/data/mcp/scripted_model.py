#!/usr/bin/env python3
"""A scripted OpenAI-compatible model: model.py PORT steps.json log.jsonl

steps.json is a list; the n-th request to /v1/chat/completions gets the n-th step (the last one repeats).
A step: {"text": "..."} or {"calls": [{"name": "...", "arguments": {...}}]} (both may be present),
or {"status": 500, "error": "..."}; "delay": seconds before the answer; "hang": true holds the stream open.
Arguments may be a string (sent as is). Every request body is one line of log.jsonl.
PORT 0 picks a free port; the port is printed on the first line of stdout."""
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, steps_path, log_path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
steps = json.load(open(steps_path))
lock, count = threading.Lock(), [0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        with lock:
            index = count[0]
            count[0] += 1
            with open(log_path, "a") as log:
                log.write(json.dumps(body) + "\n")
        step = steps[min(index, len(steps) - 1)]
        if "delay" in step:
            time.sleep(step["delay"])
        if "status" in step:
            data = json.dumps({"error": {"message": step.get("error", "scripted")}}).encode()
            self.send_response(step["status"])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

        def chunk(delta, finish=None, **more):
            record = {"id": f"c{index}", "object": "chat.completion.chunk", "created": 1, "model": "m",
                      "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
            self.wfile.write(b"data: " + json.dumps(record).encode() + b"\n\n")
            self.wfile.flush()

        try:
            chunk({"role": "assistant", "content": ""})
            if step.get("text"):
                chunk({"content": step["text"]})
            if step.get("hang"):
                time.sleep(600)
            calls = step.get("calls") or []
            for at, call in enumerate(calls):
                arguments = call.get("arguments", {})
                if not isinstance(arguments, str):
                    arguments = json.dumps(arguments)
                chunk({"tool_calls": [{"index": at, "id": call.get("id", f"call_{index}_{at}"), "type": "function",
                                       "function": {"name": call["name"], "arguments": arguments}}]})
            chunk({}, "tool_calls" if calls else "stop",
                  usage={"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})
            self.wfile.write(b"data: [DONE]\n\n")
            self.wfile.flush()
        except OSError:
            pass


server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
