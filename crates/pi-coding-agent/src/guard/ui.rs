//! The user as the one who says yes, in a terminal or at the other end of a protocol.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_guard::policy::Scope;

use super::approval::{ApprovalDecision, ApprovalRequest, Approver};
use crate::extension::Ui;

const ONCE: &str = "Yes, once";
const SESSION: &str = "Yes, for this session: ";
const ALWAYS: &str = "Yes, always: add the rule";
const NO: &str = "No";
const NO_BECAUSE: &str = "No, and say why";

/// Asks through the user interface of the session.
pub struct UiApprover(pub Arc<dyn Ui>);

impl std::fmt::Debug for UiApprover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UiApprover")
    }
}

impl Approver for UiApprover {
    fn decide<'a>(&'a self, question: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            let scopes: Vec<String> = question.remembered.iter().map(Scope::describe).collect();
            let session = format!("{SESSION}{}", scopes.join("; "));
            let mut options = vec![ONCE.to_owned()];
            if !scopes.is_empty() {
                options.push(session.clone());
            }
            if question.rule.is_some() {
                options.push(ALWAYS.to_owned());
            }
            options.extend([NO.to_owned(), NO_BECAUSE.to_owned()]);
            let chosen = self.0.select(&title(question), &options).await;
            match chosen.as_deref() {
                Some(ONCE) => ApprovalDecision::Once,
                Some(ALWAYS) if question.rule.is_some() => ApprovalDecision::Always,
                Some(text) if text == session && !scopes.is_empty() => ApprovalDecision::Session,
                Some(NO_BECAUSE) => {
                    let reason = self.0.input("What should it do instead?", None).await;
                    let reason = reason.filter(|reason| !reason.trim().is_empty());
                    ApprovalDecision::Deny { reason }
                }
                _ => ApprovalDecision::Deny { reason: None },
            }
        })
    }
}

/// The whole question as a text.
fn title(question: &ApprovalRequest) -> String {
    let mut text = match &question.wider {
        None => format!("May {} do this?\n\n{}\n", question.tool, question.what),
        Some(wider) => format!(
            "The sandbox denied something. Run it once more {wider}?\n\n{}\n",
            question.what
        ),
    };
    for reason in question.reasons() {
        text.push_str("\n- ");
        text.push_str(&reason);
    }
    if let Some(rule) = &question.rule {
        text.push_str("\n\nThe rule that \"always\" would add:\n\n");
        text.push_str(rule.trim_end());
    }
    text
}
