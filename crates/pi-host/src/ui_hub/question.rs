//! Questions that wait for an answer, and the clients that are asked.

use futures_util::future::select_all;
use pi_agent::BoxFuture;
use pi_base::text::exact;
use pi_coding_agent::extension::{Dialog, DialogAnswer};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use serde::Serialize;

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QuestionKind {
    /// A tool call needs approval.
    Approval,
    /// An extension asks something.
    Dialog,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The question in one line, or the action that needs approval.
    pub title: String,
    /// Id of the tool call that needs approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl OpenQuestion {
    pub(super) fn of_dialog(dialog: &Dialog) -> Self {
        let title = dialog.title().to_owned();
        Self { kind: QuestionKind::Dialog, title, tool_call_id: None }
    }

    pub(super) fn of_approval(request: &ApprovalRequest) -> Self {
        let title = format!("{}: {}", request.tool, exact(&request.what));
        let tool_call_id = Some(request.tool_call_id.clone());
        Self { kind: QuestionKind::Approval, title, tool_call_id }
    }
}

/// An answer, and the client that gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Answered {
    /// The question.
    #[serde(flatten)]
    pub question: OpenQuestion,
    /// The answer, in the words of the protocol: an option, a text, `yes`, `no`, `once`, `session`,
    /// `always`, `closed`.
    pub answer: String,
    /// Name of the client.
    pub by: String,
}

/// Returns an answer to a dialog as text.
pub(super) fn describe_answer(answer: &Option<DialogAnswer>) -> String {
    match answer {
        None => "closed".to_owned(),
        Some(DialogAnswer::Confirmed(true)) => "yes".to_owned(),
        Some(DialogAnswer::Confirmed(false)) => "no".to_owned(),
        Some(answer) => answer.clone().into_text().unwrap_or_default(),
    }
}

/// Returns a decision as text.
pub(super) fn describe_decision(decision: &ApprovalDecision) -> String {
    match decision {
        ApprovalDecision::Once => "once".to_owned(),
        ApprovalDecision::Session => "session".to_owned(),
        ApprovalDecision::Always => "always".to_owned(),
        ApprovalDecision::Deny { reason: Some(reason) } => format!("no: {reason}"),
        ApprovalDecision::Deny { reason: None } => "no".to_owned(),
        _ => "deferred".to_owned(),
    }
}

/// The open questions of a hub.
#[derive(Default)]
pub(super) struct Questions {
    next: u64,
    open: Vec<(u64, OpenQuestion)>,
}

impl Questions {
    pub(super) fn open(&mut self, question: OpenQuestion) -> u64 {
        self.next += 1;
        self.open.push((self.next, question));
        self.next
    }

    pub(super) fn close(&mut self, id: u64) {
        self.open.retain(|(open, _)| *open != id);
    }

    pub(super) fn list(&self) -> Vec<OpenQuestion> {
        self.open.iter().map(|(_, question)| question.clone()).collect()
    }
}

/// The dialogs of one question, by client. Dropping a dialog closes it.
pub(super) struct Asked<T>(Vec<(u64, BoxFuture<'static, T>)>);

impl<T> Default for Asked<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Asked<T> {
    pub(super) fn has(&self, client: u64) -> bool {
        self.0.iter().any(|(id, _)| *id == client)
    }

    pub(super) fn add(&mut self, client: u64, dialog: BoxFuture<'static, T>) {
        self.0.push((client, dialog));
    }

    /// Closes the dialogs of clients that are gone.
    pub(super) fn keep(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.0.retain(|(id, _)| is_kept(*id));
    }

    /// Waits for the first answer. Safe to cancel: the dialogs stay open.
    pub(super) async fn first(&mut self) -> (u64, T) {
        let answers = self.0.iter_mut().map(|(id, dialog)| {
            let id = *id;
            Box::pin(async move { (id, dialog.await) })
        });
        let answers: Vec<_> = answers.collect();
        match answers.is_empty() {
            true => std::future::pending().await,
            false => select_all(answers).await.0,
        }
    }
}
