//! A model as approver.

use std::sync::Arc;
use std::time::Duration;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver, Reviewer};

#[tokio::test(start_paused = true)]
async fn a_reviewer_approves_only_with_a_clear_answer_in_time() {
    let yes = r#"{"decision": "allow", "reason": "It makes a directory."}"#;
    for (reply, runs, text) in [
        (Reply::new().text(yes), true, ""),
        (Reply::new().text(r#"{"decision": "deny", "reason": "Odd."}"#), false, "Odd."),
        (Reply::new().text(format!("Sure! {yes}")), false, "not clear"),
        (Reply::new().text(r#"{"decision": "allow"}"#), false, "not clear"),
        (Reply::new().text(""), false, "not clear"),
        (Reply::new().fail("overloaded"), false, "overloaded"),
        (Reply::new().hang(), false, "took longer"),
    ] {
        let model = Faux::new();
        model.push(reply);
        let reviewer =
            Reviewer::new(Arc::new(model), Arc::new(Faux::model()), Duration::from_secs(5));
        let request = ApprovalRequest::new("bash", "c", "mkdir x", "/w", Vec::new());
        match reviewer.decide(&request).await {
            ApprovalDecision::Once => assert!(runs),
            ApprovalDecision::Deny { reason } => {
                let reason = reason.unwrap();
                assert!(!runs && reason.contains(text), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_reviewer_stops_asking_after_five_denials() {
    let model = Faux::new();
    for _ in 0..20 {
        model.push(Reply::new().text("no"));
    }
    let provider = Arc::new(model.clone());
    let reviewer = Reviewer::new(provider, Arc::new(Faux::model()), Duration::from_secs(5));
    let request = ApprovalRequest::new("bash", "c", "mkdir x", "/w", Vec::new());
    for _ in 0..20 {
        assert!(matches!(reviewer.decide(&request).await, ApprovalDecision::Deny { .. }));
    }
    assert_eq!(model.requests().len(), 5);
}
