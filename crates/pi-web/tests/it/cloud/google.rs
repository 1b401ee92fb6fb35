//! Application Default Credentials of Google.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

use super::{Machine, header, line_and_body, minutes_left, server, token};
use crate::server::{Server, Step, response};

const VERTEX: &str = "google-vertex";
const SERVICE_ACCOUNT: &str = include_str!("../../fixtures/cloud/service-account.json");
const TOKEN: &str = r#"{"access_token":"s3cr3t-token","expires_in":3599,"token_type":"Bearer"}"#;

/// Returns a machine with this credential file.
fn machine(file: &Value) -> Machine {
    let machine = Machine::with(&[("GOOGLE_APPLICATION_CREDENTIALS", "~/adc.json")]);
    machine.file("adc.json", &file.to_string());
    machine
}

fn service_account(url: &str) -> Value {
    let mut file: Value = serde_json::from_str(SERVICE_ACCOUNT).unwrap();
    file["token_uri"] = format!("{url}/token").into();
    file
}

/// Returns the fields of a form.
fn form(body: &str) -> Vec<(String, String)> {
    let url = url::Url::parse(&format!("http://x/?{body}")).unwrap();
    url.query_pairs().into_owned().collect()
}

fn field(body: &str, name: &str) -> Option<String> {
    form(body).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

#[tokio::test]
async fn a_service_account_signs_a_statement() {
    let endpoint = server(&[("200 OK", TOKEN)]).await;
    let machine = machine(&service_account(&endpoint.url()));
    let found = machine.find(VERTEX).await.unwrap();
    assert_eq!(token(&found), "s3cr3t-token");
    assert_eq!(minutes_left(&found), 60);
    assert_eq!(found.env["GOOGLE_CLOUD_PROJECT"], "demo-project");
    assert!(found.headers.is_empty());

    let requests = endpoint.requests();
    let (line, body) = line_and_body(&requests[0]);
    assert_eq!(line, "POST /token");
    let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    assert_eq!(field(body, "grant_type").as_deref(), Some(grant));
    let assertion = field(body, "assertion").unwrap();
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let (head, claims) = signed.split_once('.').unwrap();
    let part = |text: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
    };
    assert_eq!(part(head), json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
    let claims = part(claims);
    let issued = claims["iat"].as_u64().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(now - issued < 60, "{issued}");
    assert_eq!(
        claims,
        json!({
            "iss": "robot@demo-project.iam.gserviceaccount.com",
            "scope": "https://www.googleapis.com/auth/cloud-platform",
            "aud": format!("{}/token", endpoint.url()),
            "iat": issued,
            "exp": issued + 3600,
        })
    );
    let pem = service_account("")["private_key"].as_str().unwrap().to_owned();
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(body).unwrap()).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref());
    key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
}

#[tokio::test]
async fn a_variable_names_another_project() {
    let endpoint = server(&[("200 OK", TOKEN)]).await;
    let machine = machine(&service_account(&endpoint.url()));
    machine.set("GCLOUD_PROJECT", "mine");
    machine.set("GOOGLE_CLOUD_QUOTA_PROJECT", "payer");
    let found = machine.find(VERTEX).await.unwrap();
    assert!(found.env.is_empty());
    assert_eq!(found.headers["x-goog-user-project"], "payer");
}

#[tokio::test]
async fn the_login_of_gcloud() {
    let endpoint = server(&[
        ("200 OK", TOKEN),
        (
            "400 Bad Request",
            r#"{"error":"invalid_grant","error_description":"Token s3cr3t-r has been revoked."}"#,
        ),
    ])
    .await;
    let file = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "s3cr3t-c",
        "refresh_token": "s3cr3t-r", "quota_project_id": "payer",
        "token_uri": format!("{}/token", endpoint.url()),
    });
    let machine = Machine::new();
    machine.file(".config/gcloud/application_default_credentials.json", &file.to_string());
    let found = machine.find(VERTEX).await.unwrap();
    assert_eq!((found.source, token(&found)), ("Google application default login", "s3cr3t-token"));
    assert_eq!(found.headers["x-goog-user-project"], "payer");
    assert!(found.env.is_empty());
    assert_eq!(
        line_and_body(&endpoint.requests()[0]),
        (
            "POST /token",
            "grant_type=refresh_token&client_id=id&client_secret=s3cr3t-c&refresh_token=s3cr3t-r"
        )
    );
    assert_eq!(
        machine.error(VERTEX).await,
        format!(
            "Google application default login: the login has expired ({} answered with status 400: \
             invalid_grant: Token [redacted] has been revoked.); run `gcloud auth \
             application-default login`",
            endpoint.addr
        )
    );
}

#[tokio::test]
async fn a_user_of_a_workforce_pool() {
    let endpoint = server(&[("200 OK", TOKEN)]).await;
    let machine = machine(&json!({
        "type": "external_account_authorized_user", "client_id": "id", "client_secret": "s3cr3t",
        "refresh_token": "s3cr3t-r", "token_url": format!("{}/t", endpoint.url()),
    }));
    assert_eq!(token(&machine.find(VERTEX).await.unwrap()), "s3cr3t-token");
    let requests = endpoint.requests();
    assert_eq!(header(&requests[0], "authorization"), Some("Basic aWQ6czNjcjN0"));
    assert_eq!(line_and_body(&requests[0]).1, "grant_type=refresh_token&refresh_token=s3cr3t-r");
}

#[tokio::test]
async fn an_impersonated_service_account() {
    let answer = r#"{"accessToken":"s3cr3t-robot","expireTime":"2096-01-01T00:00:00Z"}"#;
    let endpoint = server(&[("200 OK", TOKEN), ("200 OK", answer)]).await;
    let machine = machine(&json!({
        "type": "impersonated_service_account",
        "service_account_impersonation_url": format!("{}/robot:generateAccessToken", endpoint.url()),
        "delegates": ["a"],
        "source_credentials": service_account(&endpoint.url()),
    }));
    let found = machine.find(VERTEX).await.unwrap();
    assert_eq!(token(&found), "s3cr3t-robot");
    let requests = endpoint.requests();
    let (line, body) = line_and_body(&requests[1]);
    assert_eq!(line, "POST /robot:generateAccessToken");
    assert_eq!(header(&requests[1], "authorization"), Some("Bearer s3cr3t-token"));
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "scope": ["https://www.googleapis.com/auth/cloud-platform"],
            "lifetime": "3600s",
            "delegates": ["a"],
        })
    );
}

fn external(url: &str, source: &Value) -> Value {
    json!({
        "type": "external_account",
        "audience": "//iam.googleapis.com/pools/p/providers/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": format!("{url}/sts"),
        "credential_source": source,
    })
}

#[tokio::test]
async fn a_federated_token_of_a_file_or_server() {
    let endpoint = server(&[
        ("200 OK", TOKEN),
        ("200 OK", TOKEN),
        ("200 OK", r#"{"value":"s3cr3t-sub"}"#),
        ("200 OK", TOKEN),
    ])
    .await;
    let url = endpoint.url();
    let plain = external(&url, &json!({"file": "~/plain"}));
    let as_json = json!({
        "file": "~/json",
        "format": {"type": "json", "subject_token_field_name": "id"},
    });
    let mut as_json = external(&url, &as_json);
    as_json["client_id"] = "id".into();
    as_json["client_secret"] = "s3cr3t".into();
    let mut from_url = external(
        &url,
        &json!({
            "url": format!("{url}/subject"),
            "headers": {"x-auth": "s3cr3t-h"},
            "format": {"type": "json", "subject_token_field_name": "value"},
        }),
    );
    from_url["workforce_pool_user_project"] = "p1".into();
    for file in [plain, as_json, from_url] {
        let machine = machine(&file);
        machine.file("plain", "s3cr3t-sub\n");
        machine.file("json", r#"{"id":"s3cr3t-sub"}"#);
        assert_eq!(token(&machine.find(VERTEX).await.unwrap()), "s3cr3t-token");
    }
    let requests = endpoint.requests();
    let expected = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", "//iam.googleapis.com/pools/p/providers/x"),
        ("scope", "https://www.googleapis.com/auth/cloud-platform"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token", "s3cr3t-sub"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(form(line_and_body(&requests[0]).1), expected);
    assert_eq!(header(&requests[0], "authorization"), None);
    assert_eq!(header(&requests[1], "authorization"), Some("Basic aWQ6czNjcjN0"));
    assert_eq!(line_and_body(&requests[2]).0, "GET /subject");
    assert_eq!(header(&requests[2], "x-auth"), Some("s3cr3t-h"));
    let options = field(line_and_body(&requests[3]).1, "options");
    assert_eq!(options.as_deref(), Some(r#"{"userProject":"p1"}"#));
}

#[tokio::test]
async fn an_identity_of_aws_becomes_a_service_account() {
    let answer = r#"{"accessToken":"s3cr3t-robot","expireTime":"2096-01-01T00:00:00Z"}"#;
    let endpoint = server(&[("200 OK", TOKEN), ("200 OK", answer)]).await;
    let source = json!({
        "environment_id": "aws1",
        "regional_cred_verification_url":
            "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    });
    let mut file = external(&endpoint.url(), &source);
    file["service_account_impersonation_url"] = format!("{}/robot", endpoint.url()).into();
    file["service_account_impersonation"] = json!({"token_lifetime_seconds": 600});
    let machine = machine(&file);
    for (name, value) in [
        ("AWS_ACCESS_KEY_ID", "AKGCP"),
        ("AWS_SECRET_ACCESS_KEY", "s3cr3t"),
        ("AWS_SESSION_TOKEN", "s3cr3t-t"),
        ("AWS_REGION", "us-east-2"),
    ] {
        machine.set(name, value);
    }
    assert_eq!(token(&machine.find(VERTEX).await.unwrap()), "s3cr3t-robot");
    let requests = endpoint.requests();
    let subject = field(line_and_body(&requests[0]).1, "subject_token").unwrap();
    let subject = form(&format!("x={subject}")).remove(0).1;
    let subject: Value = serde_json::from_str(&subject).unwrap();
    assert_eq!(
        subject["url"],
        "https://sts.us-east-2.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"
    );
    assert_eq!(subject["method"], "POST");
    let value = |name: &str| {
        let headers = subject["headers"].as_array().unwrap();
        headers.iter().find(|one| one["key"] == name).map(|one| one["value"].as_str().unwrap())
    };
    assert_eq!(value("host"), Some("sts.us-east-2.amazonaws.com"));
    assert_eq!(value("x-amz-security-token"), Some("s3cr3t-t"));
    let resource = "//iam.googleapis.com/pools/p/providers/x";
    assert_eq!(value("x-goog-cloud-target-resource"), Some(resource));
    let signed = value("Authorization").unwrap();
    assert!(signed.contains("Credential=AKGCP/"), "{signed}");
    assert!(signed.contains("host;x-amz-date;x-amz-security-token;x-goog-cloud-"), "{signed}");
    let body: Value = serde_json::from_str(line_and_body(&requests[1]).1).unwrap();
    assert_eq!(body["lifetime"], "600s");
}

#[tokio::test]
async fn invalid_credential_files() {
    let mut without_key = service_account("https://x.example");
    without_key.as_object_mut().unwrap().remove("private_key");
    let mut not_a_key = service_account("https://x.example");
    not_a_key["private_key"] = "s3cr3t".into();
    let mut broken_key = service_account("https://x.example");
    broken_key["private_key"] =
        "-----BEGIN PRIVATE KEY-----\nczNjcjN0\n-----END PRIVATE KEY-----".into();
    let source = |source: Value| external("https://x.example", &source);
    let rows: &[(Value, &str)] = &[
        (json!("s3cr3t"), "~/adc.json has no JSON object"),
        (json!({"client_secret": "s3cr3t"}), "~/adc.json has no type"),
        (
            json!({"type": "gdch_service_account"}),
            "~/adc.json has credentials of the unsupported type \"gdch_service_account\"",
        ),
        (without_key, "~/adc.json has no private_key"),
        (not_a_key, "~/adc.json has a private_key that is not in the form PKCS #8"),
        (broken_key, "~/adc.json has a private_key that is not an RSA key of 2048 to 4096 bits"),
        (service_account("http://x.example"), "token_uri in ~/adc.json is not an https URL"),
        (
            json!({
                "type": "impersonated_service_account",
                "service_account_impersonation_url": "http://x.example/",
            }),
            "service_account_impersonation_url in ~/adc.json is not an https URL",
        ),
        (
            source(json!({"executable": {"command": "s3cr3t"}})),
            "~/adc.json names an executable as credential_source, which is not supported",
        ),
        (
            source(json!({"environment_id": "aws9"})),
            "~/adc.json has a credential_source with an unsupported environment_id",
        ),
        (
            source(json!({})),
            "~/adc.json has a credential_source without file, url or environment_id",
        ),
        (source(json!({"file": "~/gone"})), "the file ~/gone does not exist"),
        (
            source(json!({
                "file": "~/adc.json",
                "format": {"type": "json", "subject_token_field_name": "none"},
            })),
            "~/adc.json names a credential_source without a text \"none\"",
        ),
    ];
    for (file, expected) in rows {
        let error = machine(file).error(VERTEX).await;
        assert_eq!(error, format!("Google credential file: {expected}"));
    }
    let machine = Machine::with(&[("GOOGLE_APPLICATION_CREDENTIALS", "~/adc.json")]);
    let expected = "Google credential file: the file ~/adc.json does not exist";
    assert_eq!(machine.error(VERTEX).await, expected, "there is no fall-through");
    machine.file("adc.json", "s3cr3t");
    assert_eq!(
        machine.error(VERTEX).await,
        "Google credential file: ~/adc.json is not a JSON file"
    );
}

/// Starts a metadata server.
async fn metadata(answers: &[(&str, &str)], flavor: &[(&str, &str)]) -> Server {
    let script =
        answers.iter().map(|(status, body)| vec![Step::Send(response(status, flavor, body))]);
    Server::scripted(script.collect()).await
}

#[tokio::test]
async fn the_metadata_server() {
    let flavor = &[("Metadata-Flavor", "Google")];
    let answers = metadata(&[("200 OK", TOKEN), ("200 OK", "vm-project")], flavor).await;
    let machine = Machine::with(&[("GCE_METADATA_HOST", &answers.addr.to_string())]);
    let found = machine.find(VERTEX).await.unwrap();
    assert_eq!(token(&found), "s3cr3t-token");
    assert_eq!(found.env["GOOGLE_CLOUD_PROJECT"], "vm-project");
    let requests = answers.requests();
    assert_eq!(
        line_and_body(&requests[0]).0,
        "GET /computeMetadata/v1/instance/service-accounts/default/token"
    );
    assert_eq!(header(&requests[0], "metadata-flavor"), Some("Google"));

    for (answer, flavor, expected) in [
        (("200 OK", TOKEN), &[][..], "HOST is not Google's metadata server"),
        (("404 Not Found", ""), flavor, "this machine has no service account"),
        (("200 OK", "{}"), flavor, "HOST sent an answer that is not understood"),
        (
            ("200 OK", "{\"access_token\":\"s3cr3t\\r\\nx: y\"}"),
            flavor,
            "HOST sent an answer that is not understood",
        ),
    ] {
        let answers = metadata(&[answer], flavor).await;
        let machine = Machine::with(&[("GCE_METADATA_HOST", &answers.addr.to_string())]);
        let error = machine.error(VERTEX).await.replace(&answers.addr.to_string(), "HOST");
        assert_eq!(error, format!("Google metadata server: {expected}"));
    }
}

#[tokio::test]
async fn explanations() {
    let machine = Machine::with(&[("NO_GCE_CHECK", "false")]);
    insta::assert_snapshot!(machine.explain(VERTEX), @r"
    - Google credential file: GOOGLE_APPLICATION_CREDENTIALS is not set
    - Google application default login: ~/.config/gcloud/application_default_credentials.json does not exist; `gcloud auth application-default login` creates it
    ? Google metadata server: metadata.google.internal, if this machine is one of Google Cloud
    ");
    machine.file(".config/gcloud/application_default_credentials.json", "{}");
    insta::assert_snapshot!(machine.explain(VERTEX), @r"
    - Google credential file: GOOGLE_APPLICATION_CREDENTIALS is not set
    + Google application default login: ~/.config/gcloud/application_default_credentials.json exists
      Google metadata server
    ");
}
