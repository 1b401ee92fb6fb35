//! An approver that asks the user, in a terminal or through RPC.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_base::text::exact;
use pi_guard::policy::Scope;

use super::{Dialog, DialogAnswer, Ui};
use crate::approval::{ApprovalDecision, ApprovalRequest, Approver};

const ONCE: &str = "Yes, once";
const SESSION: &str = "Yes, for this session: ";
const ALWAYS: &str = "Yes, always: add the rule";
const NO: &str = "No";
const NO_WITH_REASON: &str = "No, and give a reason";

/// An approver that asks through the UI of the session.
pub(crate) struct UiApprover(pub(crate) Arc<dyn Ui>);

impl std::fmt::Debug for UiApprover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UiApprover")
    }
}

impl Approver for UiApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.0.approve(request)
    }
}

/// Asks with a selection, and with an input for a reason.
pub(crate) async fn approve_with_dialogs<U: Ui + ?Sized>(
    ui: &U,
    request: &ApprovalRequest,
) -> ApprovalDecision {
    let scopes: Vec<String> = request.remembered.iter().map(Scope::describe).collect();
    let session = format!("{SESSION}{}", scopes.join("; "));
    let mut options = vec![ONCE.to_owned()];
    if !scopes.is_empty() {
        options.push(session.clone());
    }
    if request.rule.is_some() {
        options.push(ALWAYS.to_owned());
    }
    options.extend([NO.to_owned(), NO_WITH_REASON.to_owned()]);
    let question = Dialog::Select { title: title(request), options };
    let chosen = ui.dialog(question, None).await.and_then(DialogAnswer::into_text);
    match chosen.as_deref() {
        Some(ONCE) => ApprovalDecision::Once,
        Some(ALWAYS) if request.rule.is_some() => ApprovalDecision::Always,
        Some(text) if text == session && !scopes.is_empty() => ApprovalDecision::Session,
        Some(NO_WITH_REASON) => {
            let title = "What should the agent do instead?".to_owned();
            let question = Dialog::Input { title, placeholder: None };
            let reason = ui.dialog(question, None).await.and_then(DialogAnswer::into_text);
            ApprovalDecision::Deny { reason: reason.filter(|reason| !reason.trim().is_empty()) }
        }
        _ => ApprovalDecision::Deny { reason: None },
    }
}

/// Returns the request as text. What would run is spelled out: the user decides about it.
fn title(request: &ApprovalRequest) -> String {
    let mut text = match &request.wider {
        None => format!("Allow {} to do this?\n", request.tool),
        Some(wider) => {
            format!("The sandbox denied part of this command. Run it again {wider}?\n")
        }
    };
    // First, because the end of a long command may be out of sight.
    for reason in request.reasons() {
        text.push_str("\n- ");
        text.push_str(&reason);
    }
    text.push_str("\n\n");
    text.push_str(&exact(&request.what));
    if let Some(rule) = &request.rule {
        text.push_str("\n\nRule that \"always\" adds:\n\n");
        text.push_str(rule.trim_end());
    }
    text
}
