//! IAM Identity Center: the cached login of `aws sso login`.

use std::fs;

use serde_json::{Value, json};

use super::{LATER, Machine, aws_parts, header, line_and_body, server};
use crate::server::Server;

const BEDROCK: &str = "amazon-bedrock";

/// SHA-1 of the name of the session, and of the start URL.
const SESSION_FILE: &str = ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";
const LEGACY_FILE: &str = ".aws/sso/cache/f7c9b39d0b4c7a7d82c79307585f77e1c5e74378.json";

const ROLE: &str = r#"{"roleCredentials":{"accessKeyId":"AKSSO","secretAccessKey":"s3cr3t-k","sessionToken":"s3cr3t-t","expiration":3976214400000}}"#;

fn machine(portal: &Server) -> Machine {
    let machine = Machine::with(&[
        ("AWS_PROFILE", "dev"),
        ("AWS_ENDPOINT_URL_SSO", &portal.url()),
        ("AWS_ENDPOINT_URL_SSO_OIDC", &format!("{}/oidc", portal.url())),
    ]);
    machine.file(
        ".aws/config",
        "[profile dev]\nsso_session = corp\nsso_account_id = 123\nsso_role_name = My Role\n\
         [profile old]\nsso_start_url = https://corp.example/start\nsso_region = eu-west-1\n\
         sso_account_id = 123\nsso_role_name = r\n\
         [sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.example/start\n",
    );
    machine
}

#[tokio::test]
async fn the_role_of_a_cached_login() {
    let portal = server(&[("200 OK", ROLE), ("200 OK", ROLE)]).await;
    let machine = machine(&portal);
    let cached = json!({"accessToken": "s3cr3t-a", "expiresAt": LATER});
    machine.file(SESSION_FILE, &cached.to_string());
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["AKSSO", "s3cr3t-k", "s3cr3t-t"]);
    assert!(found.credential.expires().is_some());
    let requests = portal.requests();
    assert_eq!(
        line_and_body(&requests[0]).0,
        "GET /federation/credentials?role_name=My%20Role&account_id=123"
    );
    assert_eq!(header(&requests[0], "x-amz-sso_bearer_token"), Some("s3cr3t-a"));

    // Older profiles have no session, and older tools write the zone as a word.
    machine.set("AWS_PROFILE", "old");
    let cached = json!({"accessToken": "s3cr3t-old", "expiresAt": "2096-01-01T00:00:00UTC"});
    machine.file(LEGACY_FILE, &cached.to_string());
    machine.find(BEDROCK).await.unwrap();
    assert_eq!(header(&portal.requests()[1], "x-amz-sso_bearer_token"), Some("s3cr3t-old"));
}

#[tokio::test]
async fn an_expired_login_is_renewed_for_all_tools() {
    let renewed = r#"{"accessToken":"s3cr3t-new","expiresIn":3600,"refreshToken":"s3cr3t-r2","tokenType":"Bearer"}"#;
    let portal = server(&[("200 OK", renewed), ("200 OK", ROLE)]).await;
    let machine = machine(&portal);
    let cached = json!({
        "startUrl": "https://corp.example/start",
        "accessToken": "s3cr3t-a",
        "expiresAt": "2020-01-01T00:00:00Z",
        "refreshToken": "s3cr3t-r1",
        "clientId": "client",
        "clientSecret": "s3cr3t-c",
        "registrationExpiresAt": LATER,
        "unknown": [1],
    });
    let path = machine.file(SESSION_FILE, &cached.to_string());
    machine.find(BEDROCK).await.unwrap();
    let requests = portal.requests();
    let (line, body) = line_and_body(&requests[0]);
    assert_eq!(line, "POST /oidc/token");
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "clientId": "client",
            "clientSecret": "s3cr3t-c",
            "grantType": "refresh_token",
            "refreshToken": "s3cr3t-r1",
        })
    );
    assert_eq!(header(&requests[1], "x-amz-sso_bearer_token"), Some("s3cr3t-new"));

    let mut written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(written["expiresAt"].as_str().unwrap() > "2026");
    written["expiresAt"] = cached["expiresAt"].clone();
    let mut expected = cached;
    expected["accessToken"] = "s3cr3t-new".into();
    expected["refreshToken"] = "s3cr3t-r2".into();
    assert_eq!(written, expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let directory = std::path::Path::new(&path).parent().unwrap();
    assert_eq!(fs::read_dir(directory).unwrap().count(), 1, "no temporary file is left");
}

#[tokio::test]
async fn a_login_that_has_ended_says_what_to_run() {
    let expired = json!({"accessToken": "s3cr3t-a", "expiresAt": "2020-01-01T00:00:00Z"});
    let renewable = json!({
        "accessToken": "s3cr3t-a", "expiresAt": "2020-01-01T00:00:00Z",
        "refreshToken": "s3cr3t-r", "clientId": "c", "clientSecret": "s3cr3t-c",
    });
    let unregistered = json!({
        "accessToken": "s3cr3t-a", "expiresAt": "2020-01-01T00:00:00Z", "refreshToken": "s3cr3t-r",
        "clientId": "c", "clientSecret": "s3cr3t-c", "registrationExpiresAt": "2021-01-01T00:00:00Z",
    });
    let valid = json!({"accessToken": "s3cr3t-a", "expiresAt": LATER});
    let refused = ("401 Unauthorized", r#"{"message":"Session token s3cr3t-a not found"}"#);
    let invalid =
        ("400 Bad Request", r#"{"error":"invalid_grant","error_description":"bad s3cr3t-r"}"#);
    let rows: &[(Option<String>, &[(&str, &str)], &str)] = &[
        (None, &[], "there is no login"),
        (Some("s3cr3t".to_owned()), &[], "~/FILE cannot be read"),
        (Some(expired.to_string()), &[], "the login has expired"),
        (Some(unregistered.to_string()), &[], "the login has expired"),
        (Some("{}".to_owned()), &[], "the login has expired"),
        (
            Some(renewable.to_string()),
            &[invalid],
            "the login has expired (HOST answered with status 400: invalid_grant: bad [redacted])",
        ),
        (
            Some(valid.to_string()),
            &[refused],
            "HOST answered with status 401: Session token [redacted] not found",
        ),
    ];
    for (cached, answers, problem) in rows {
        let portal = server(answers).await;
        let machine = machine(&portal);
        if let Some(cached) = cached {
            machine.file(SESSION_FILE, cached);
        }
        let problem = problem
            .replace("HOST", &portal.addr.to_string())
            .replace("~/FILE", &format!("~/{SESSION_FILE}"));
        assert_eq!(
            machine.error(BEDROCK).await,
            format!("AWS profile: profile \"dev\": {problem}; run `aws sso login --profile dev`")
        );
    }
}
