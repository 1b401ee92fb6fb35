//! Approvals by the user of the caller, through questions of the protocol.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver};
use pi_mcp::server::{Context, Question, QuestionKind};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// The time that the user has to decide.
const WAIT: Duration = Duration::from_secs(10 * 60);

/// Asks the user of the caller.
pub(super) struct CallerApprover {
    context: Context,
    /// One question at a time.
    asking: Mutex<()>,
    asked: AtomicU64,
}

impl CallerApprover {
    /// Returns an approver if the caller can ask its user.
    pub(super) fn new(context: &Context) -> Option<Self> {
        let can_ask = context.client().has("elicitation");
        can_ask.then(|| Self {
            context: context.clone(),
            asking: Mutex::default(),
            asked: AtomicU64::default(),
        })
    }

    async fn ask(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let _one = self.asking.lock().await;
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        // A name of its own: no answer can count for two questions.
        let key = format!("approval-{number}");
        let question = Question {
            key: key.clone(),
            kind: QuestionKind::Elicitation,
            params: question(request),
        };
        let answered = tokio::time::timeout(WAIT, self.context.ask(vec![question])).await;
        match answered {
            Ok(Ok(answers)) => decision(answers.get(&key).unwrap_or(&Value::Null)),
            Ok(Err(error)) => deny(format!("the user could not be asked: {error}")),
            Err(_) => deny("the user did not answer in time".to_owned()),
        }
    }
}

impl Approver for CallerApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(self.ask(request))
    }
}

fn question(request: &ApprovalRequest) -> Value {
    let mut message = match &request.wider {
        None => format!("Allow {} to do this in {}?", request.tool, request.cwd),
        Some(wider) => format!("The sandbox denied part of this. Run it again {wider}?"),
    };
    message.push_str(&format!("\n\n{}\n", request.what));
    for reason in request.reasons() {
        message.push_str(&format!("\n- {reason}"));
    }
    let choices = json!([
        { "const": "once", "title": "Yes, once" },
        { "const": "session", "title": "Yes, and the same again in this run" },
        { "const": "no", "title": "No" },
    ]);
    let decision = json!({ "type": "string", "title": "Decision", "oneOf": choices });
    let reason = json!({ "type": "string", "title": "Reason, for the agent" });
    let schema = json!({
        "type": "object",
        "properties": { "decision": decision, "reason": reason },
        "required": ["decision"],
    });
    json!({ "mode": "form", "message": message, "requestedSchema": schema })
}

/// Anything but a clear yes is a no.
fn decision(answer: &Value) -> ApprovalDecision {
    if answer["action"] != "accept" {
        return deny("the user declined".to_owned());
    }
    match answer["content"]["decision"].as_str() {
        Some("once") => ApprovalDecision::Once,
        Some("session") => ApprovalDecision::Session,
        _ => {
            let reason = answer["content"]["reason"].as_str().map(str::trim);
            let reason = reason.filter(|reason| !reason.is_empty()).map(str::to_owned);
            ApprovalDecision::Deny { reason }
        }
    }
}

fn deny(reason: String) -> ApprovalDecision {
    ApprovalDecision::Deny { reason: Some(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_approves() {
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        assert_eq!(decision(&accept(json!({ "decision": "once" }))), ApprovalDecision::Once);
        assert_eq!(decision(&accept(json!({ "decision": "session" }))), ApprovalDecision::Session);
        let cases = [
            json!(null),
            json!({ "action": "accept" }),
            json!({ "action": "decline", "content": { "decision": "once" } }),
            json!({ "action": "cancel" }),
            accept(json!({ "decision": "always" })),
            accept(json!({ "decision": true })),
            accept(json!({ "decision": "no", "reason": "use make" })),
        ];
        for case in cases {
            let decided = decision(&case);
            assert!(matches!(decided, ApprovalDecision::Deny { .. }), "{case}: {decided:?}");
        }
    }
}
