//! Servers that are slow, talkative or broken, and the time and memory that they may cost.

use std::time::{Duration, Instant};

use super::Machine;
use crate::server::{Server, Step, response};

const BEDROCK: &str = "amazon-bedrock";

async fn error(script: Vec<Step>) -> String {
    let server = Server::scripted(vec![script]).await;
    let machine =
        Machine::with(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{}/x", server.url()))]);
    machine.error(BEDROCK).await.replace(&server.addr.to_string(), "HOST")
}

#[tokio::test]
async fn a_silent_metadata_server_costs_a_second() {
    let started = Instant::now();
    let text = error(vec![Step::UntilDisconnect]).await;
    assert_eq!(text, "AWS container: HOST did not respond within 1 s");
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn an_answer_that_never_ends_costs_a_second() {
    let mut head = response("200 OK", &[], "x".repeat(100));
    head.truncate(head.len() - 50);
    let text = error(vec![Step::Send(head), Step::UntilDisconnect]).await;
    assert_eq!(text, "AWS container: HOST did not respond within 1 s");
}

#[tokio::test]
async fn answers_are_limited_in_size() {
    let large = response("200 OK", &[], "x".repeat(300 * 1024));
    assert_eq!(
        error(vec![Step::Send(large)]).await,
        "AWS container: HOST: the answer is too large"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Server::responding(response("200 OK", &[], "{}")).await;
    let redirect = response("302 Found", &[("location", &target.url())], "");
    assert_eq!(
        error(vec![Step::Send(redirect)]).await,
        "AWS container: HOST answered with status 302: redirects are not followed"
    );
    assert!(target.requests().is_empty());
}

#[tokio::test]
async fn broken_answers() {
    let not_understood = "AWS container: HOST sent an answer that is not understood";
    for body in ["", "s3cr3t", "[]", "{\"AccessKeyId\":{}}", "{\"Expiration\":1}", "\u{0}\u{fffd}"]
    {
        assert_eq!(error(vec![Step::Send(response("200 OK", &[], body))]).await, not_understood);
    }
    let deep = "[".repeat(200_000);
    assert_eq!(error(vec![Step::Send(response("200 OK", &[], deep))]).await, not_understood);
    let reset = error(vec![Step::Reset]).await;
    assert!(reset.starts_with("AWS container: HOST: "), "{reset}");
    let garbage = error(vec![Step::Send(b"s3cr3t\r\n\r\n".to_vec())]).await;
    assert!(garbage.starts_with("AWS container: HOST: "), "{garbage}");
}
