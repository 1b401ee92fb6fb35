//! Asking, and what becomes of the answer.

use std::fs;
use std::io;
use std::path::Path;

use pi_agent::ToolError;
use pi_guard::Decision;
use pi_guard::policy::{Layer, Part, RuleFile};
use pi_protocol::CancelToken;

use super::rules::{APPROVED, DIRECTORY};
use super::{ApprovalDecision, ApprovalRequest, Guard, Judgment, Outcome};
use crate::config::{ConfigError, with_lock};

/// Why an approved rule is not in the user's file.
#[derive(Debug, thiserror::Error)]
enum NotKept {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Wrong(#[from] pi_guard::policy::PolicyError),
}

impl Guard {
    /// Asks where that is needed. What is to be told besides the result of the call, if it may
    /// run; else why not, for the model.
    pub(super) async fn admit(
        &self,
        judgement: &Judgment,
        question: impl FnOnce(Vec<Part>) -> ApprovalRequest,
        cancel: &CancelToken,
    ) -> Result<Option<String>, ToolError> {
        match judgement.outcome {
            Outcome::Run | Outcome::RunConfined => return Ok(None),
            Outcome::Refuse => return Err(ToolError::new(judgement.refusal())),
            Outcome::Ask => {}
        }
        let asked = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::new("Operation aborted")),
            answer = self.ask(|| {
                let parts = judgement.verdict.parts.iter();
                let open = parts.filter(|part| part.decision == Decision::Ask);
                let open = open.filter(|part| !self.approvals.cover(&part.scope));
                let open: Vec<Part> = open.cloned().collect();
                (!open.is_empty()).then(|| question(open))
            }) => answer,
        };
        match asked {
            Answered::No(text) => Err(ToolError::new(text)),
            Answered::Yes(note) => Ok(note),
        }
    }

    /// Asks one question when it is its turn, unless it has become needless by then.
    pub(super) async fn ask(&self, question: impl FnOnce() -> Option<ApprovalRequest>) -> Answered {
        let _turn = self.asking.lock().await;
        let Some(question) = question() else { return Answered::Yes(None) };
        let Some(approver) = &self.approver else {
            return Answered::No("Nobody is here to approve this.".to_owned());
        };
        match approver.decide(&question).await {
            ApprovalDecision::Once => Answered::Yes(None),
            ApprovalDecision::Session => {
                self.approvals.add(&question.remembered);
                Answered::Yes(None)
            }
            ApprovalDecision::Always => {
                self.approvals.add(&question.remembered);
                let kept = question.rule.as_deref().map_or(Ok(()), |rule| self.keep(rule));
                let note = kept.err().map(|error| {
                    format!("[Approved, but for this session only: the rule was not kept: {error}]")
                });
                Answered::Yes(note)
            }
            ApprovalDecision::Deny { reason: None } => {
                Answered::No("This was not run: the user said no.".to_owned())
            }
            ApprovalDecision::Deny { reason: Some(reason) } => {
                Answered::No(format!("This was not run: the answer was no: {reason}"))
            }
        }
    }

    /// Adds a rule to the user's own file.
    fn keep(&self, rule: &str) -> Result<(), NotKept> {
        let directory = self.environment.agent_directory.join(DIRECTORY);
        fs::create_dir_all(&directory)?;
        let file = directory.join(APPROVED);
        with_lock(&file, || add_rule(&file, rule))??;
        let added = RuleFile::parse(&file.to_string_lossy(), rule, Layer::User)?;
        self.policy.write().unwrap_or_else(std::sync::PoisonError::into_inner).add(added);
        Ok(())
    }
}

/// What was said.
pub(super) enum Answered {
    /// It may run; and something to tell besides.
    Yes(Option<String>),
    /// It may not, for this reason.
    No(String),
}

/// Adds a rule to a file whose rules are in order, and stay so.
fn add_rule(file: &Path, rule: &str) -> Result<(), NotKept> {
    let mut text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "# Rules that were approved for ever. Change and remove them as you like.\n".to_owned()
        }
        Err(error) => return Err(error.into()),
    };
    if text.contains(rule) {
        return Ok(());
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push('\n');
    text.push_str(rule);
    RuleFile::parse(&file.to_string_lossy(), &text, Layer::User)?;
    pi_tools::replace_file(file, text.as_bytes())?;
    Ok(())
}
