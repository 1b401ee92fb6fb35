"""A stand-in for Bedrock: bedrock.py PORT TRACES

Recomputes the signature of each request with botocore, then answers with the recorded stream that the
header `x-interop-trace` names, 37 bytes at a time. The key is AKIDEXAMPLE, its secret "secret".
"""
import http.server
import os
import re
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

PORT, TRACES = int(sys.argv[1]), sys.argv[2]
KEY, SECRET = "AKIDEXAMPLE", "secret"
FORM = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)


def problem(headers, host, path, body):
    """Returns what is wrong with the signature, or None."""
    match = FORM.fullmatch(headers.get("authorization", ""))
    if not match:
        return "no or malformed authorization"
    key, _, region, service, names, signature = match.groups()
    names = names.split(";")
    if (key, service) != (KEY, "bedrock"):
        return f"key {key}, service {service}"
    wanted = ["host", "x-amz-date", "content-type"]
    wanted += [name for name in headers if name == "x-amz-security-token"]
    for name in wanted:
        if name not in names:
            return f"{name} is not signed"
    request = AWSRequest("POST", f"http://{host}{path}", data=body)
    for name in names:
        request.headers[name] = host if name == "host" else headers[name]
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(KEY, SECRET), service, region)
    canonical = signer.canonical_request(request)
    expected = signer.signature(signer.string_to_sign(request, canonical), request)
    return None if expected == signature else "signature mismatch for\n" + canonical


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        error = problem(headers, self.headers["host"], self.path, body)
        if error:
            print(self.path, error, flush=True)
            text = b'{"message":"The request signature we calculated does not match."}'
            self.send_response(403)
            self.send_header("x-amzn-ErrorType", "InvalidSignatureException")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        name = os.path.basename(headers["x-interop-trace"])
        with open(os.path.join(TRACES, name + ".bin"), "rb") as file:
            trace = file.read()
        self.send_response(200)
        self.send_header("content-type", "application/vnd.amazon.eventstream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for start in range(0, len(trace), 37):
            part = trace[start : start + 37]
            self.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
