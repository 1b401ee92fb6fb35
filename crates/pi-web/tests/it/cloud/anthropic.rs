//! Workload identity of Anthropic, compared with requests that the TypeScript pi 1.5.0 sends.

use pi_web::KeyScheme;
use serde_json::{Value, json};

use super::{Machine, header, line_and_body, minutes_left, server, token};
use crate::server::Server;

const ANTHROPIC: &str = "anthropic";
const TOKEN: &str = r#"{"access_token":"s3cr3t-token","expires_in":3600,"token_type":"Bearer"}"#;

fn machine(server: &Server) -> Machine {
    let mut machine = Machine::with(&[
        ("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1"),
        ("ANTHROPIC_IDENTITY_TOKEN_FILE", "~/token"),
        ("ANTHROPIC_ORGANIZATION_ID", "org1"),
    ]);
    machine.file("token", "s3cr3t.JWT.1\n");
    machine.base_url = Some(server.url());
    machine
}

#[tokio::test]
async fn the_identity_token_is_exchanged() {
    let endpoint = server(&[("200 OK", TOKEN), ("200 OK", TOKEN)]).await;
    let machine = machine(&endpoint);
    let found = machine.find(ANTHROPIC).await.unwrap();
    assert_eq!((token(&found), minutes_left(&found)), ("s3cr3t-token", 60));
    let requests = endpoint.requests();
    let (line, body) = line_and_body(&requests[0]);
    assert_eq!(line, "POST /v1/oauth/token");
    assert_eq!(header(&requests[0], "content-type"), Some("application/json"));
    assert_eq!(
        header(&requests[0], "anthropic-beta"),
        Some("oauth-2025-04-20,oidc-federation-2026-04-01")
    );
    assert_eq!(
        body,
        r#"{"grant_type":"urn:ietf:params:oauth:grant-type:jwt-bearer","assertion":"s3cr3t.JWT.1","federation_rule_id":"fdrl_1","organization_id":"org1"}"#
    );

    machine.set("ANTHROPIC_SERVICE_ACCOUNT_ID", "svac_1");
    machine.set("ANTHROPIC_WORKSPACE_ID", "ws_1");
    machine.file("token", "s3cr3t.JWT.2");
    machine.find(ANTHROPIC).await.unwrap();
    let requests = endpoint.requests();
    let body: Value = serde_json::from_str(line_and_body(&requests[1]).1).unwrap();
    assert_eq!(
        body,
        json!({
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": "s3cr3t.JWT.2",
            "federation_rule_id": "fdrl_1",
            "organization_id": "org1",
            "service_account_id": "svac_1",
            "workspace_id": "ws_1",
        })
    );
}

/// APIs that distinguish tokens of logins are told.
#[tokio::test]
async fn the_token_is_that_of_a_login() {
    let endpoint = server(&[("200 OK", TOKEN)]).await;
    let found = machine(&endpoint).find(ANTHROPIC).await.unwrap();
    assert_eq!(found.authorization().scheme, KeyScheme::Oauth);
}

#[tokio::test]
async fn problems() {
    let refused = (
        "403 Forbidden",
        r#"{"type":"error","error":{"type":"permission_error","message":"rule does not match s3cr3t.JWT.1"}}"#,
    );
    let endpoint = server(&[refused, ("200 OK", "{}")]).await;
    let mut machine = machine(&endpoint);
    let name = "Anthropic workload identity";
    assert_eq!(
        machine.error(ANTHROPIC).await,
        format!(
            "{name}: {} answered with status 403: permission_error: rule does not match [redacted]",
            endpoint.addr
        )
    );
    assert_eq!(
        machine.error(ANTHROPIC).await,
        format!("{name}: {} sent an answer that is not understood", endpoint.addr)
    );
    machine.base_url = Some("http://proxy.example".to_owned());
    assert_eq!(
        machine.error(ANTHROPIC).await,
        format!("{name}: the base URL of Anthropic is not an https URL")
    );
    let partial = Machine::with(&[("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1")]);
    assert_eq!(
        partial.error(ANTHROPIC).await,
        format!(
            "{name}: ANTHROPIC_ORGANIZATION_ID and ANTHROPIC_IDENTITY_TOKEN_FILE must be set, too"
        )
    );
    let none = Machine::with(&[("ANTHROPIC_ORGANIZATION_ID", "org1")]);
    assert_eq!(
        none.explain(ANTHROPIC),
        format!(
            "- {name}: neither ANTHROPIC_FEDERATION_RULE_ID nor ANTHROPIC_IDENTITY_TOKEN_FILE is set\n"
        )
    );
}
