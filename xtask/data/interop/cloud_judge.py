# Prepares accounts in moto and checks statements with google-auth.
#
#     python cloud_judge.py PORT MOTO-URL
#
# Six actions are sent to moto. After them and one more, moto checks signatures.
import datetime
import json
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import boto3
import google.auth.aws
import google.auth.jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PORT, MOTO = int(sys.argv[1]), sys.argv[2]
HERE = f"http://127.0.0.1:{PORT}"
AUDIENCE = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/aws"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
EMAIL = "robot@demo.iam.gserviceaccount.com"

key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
private = key.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
public = key.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def prepare():
    iam = boto3.client(
        "iam", endpoint_url=MOTO, region_name="us-east-1", aws_access_key_id="x",
        aws_secret_access_key="y",
    )
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [everything]})
    roles = [
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy)["Role"]["Arn"]
        for name in ("first", "second")
    ]
    iam.put_role_policy(RoleName="first", PolicyName="p", PolicyDocument=policy)
    iam.create_user(UserName="user")
    iam.put_user_policy(UserName="user", PolicyName="p", PolicyDocument=policy)
    created = iam.create_access_key(UserName="user")["AccessKey"]
    return {
        "roles": roles,
        "id": created["AccessKeyId"],
        "secret": created["SecretAccessKey"],
        "service_account": {
            "type": "service_account", "project_id": "demo", "private_key_id": "key-1",
            "private_key": private, "client_email": EMAIL, "token_uri": f"{HERE}/token",
        },
        "external_account": {
            "type": "external_account", "audience": AUDIENCE,
            "subject_token_type": "urn:ietf:params:aws:token-type:aws4_request",
            "token_url": f"{HERE}/sts",
            "credential_source": {
                "environment_id": "aws1",
                "regional_cred_verification_url":
                    "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
            },
        },
    }


SETUP = prepare()


def check_statement(form):
    """The signed statement of a service account."""
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer", form["grant_type"]
    claims = google.auth.jwt.decode(
        form["assertion"], certs={"key-1": public}, audience=f"{HERE}/token"
    )
    assert claims["iss"] == EMAIL and claims["scope"] == SCOPE, claims
    assert claims["exp"] - claims["iat"] == 3600, claims


def check_aws_subject(form):
    """The signed request to AWS, compared with that of google-auth at the same second."""
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
    assert form["audience"] == AUDIENCE and form["scope"] == SCOPE
    request = json.loads(urllib.parse.unquote(form["subject_token"]))
    headers = {one["key"]: one["value"] for one in request["headers"]}
    then = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    keys = google.auth.aws.AwsSecurityCredentials(SETUP["id"], SETUP["secret"], "session")
    with mock.patch("google.auth._helpers.utcnow", return_value=then):
        expected = google.auth.aws.RequestSigner("us-east-2").get_request_options(
            keys, request["url"], request["method"],
            additional_headers={"x-goog-cloud-target-resource": AUDIENCE},
        )
    assert request["url"] == expected["url"] and request["method"] == expected["method"]
    assert headers == expected["headers"], (headers, expected["headers"])


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, SETUP)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
        check = {"/token": check_statement, "/sts": check_aws_subject}[self.path]
        try:
            check(form)
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}"
            self.answer(400, {"error": "refused", "error_description": reason})
        else:
            self.answer(200, {"access_token": "accepted", "expires_in": 3600})


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
