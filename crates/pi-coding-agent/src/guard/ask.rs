//! Asking the approver, and applying the decision.

use std::fs;
use std::io;
use std::path::Path;

use pi_base::unpoisoned;
use pi_config::ConfigError;
use pi_config::lock::with_lock;
use pi_fs::if_exists;
use pi_guard::Decision;
use pi_guard::policy::{Layer, Part, RuleFile};
use pi_protocol::CancelToken;

use super::rules::{APPROVED, DIRECTORY};
use super::{ApprovalDecision, ApprovalRequest, Guard, Judgment};

/// The reasons why an approved rule was not saved.
#[derive(Debug, thiserror::Error)]
enum SaveRuleError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Invalid(#[from] pi_guard::policy::PolicyError),
}

/// The result of asking the approver.
pub(super) enum Approval {
    /// The approver allows the action; the text, if any, is a note for the model.
    Granted(Option<String>),
    /// Earlier approvals cover every part that needs one. The approver has not seen the rest of
    /// the action.
    Covered,
    /// The action may not run; the text is the tool error.
    Denied(String),
    /// The action may not run yet: the decision comes later.
    Deferred,
}

impl Guard {
    /// Waits for approval of a call that needs one.
    pub(super) async fn approval(
        &self,
        judgment: &Judgment,
        request: impl FnOnce(Vec<Part>) -> ApprovalRequest,
        cancel: &CancelToken,
    ) -> Approval {
        // Built when it is this request's turn: an earlier approval may cover it by then.
        let open_request = || {
            let parts = judgment.verdict.parts.iter();
            let open: Vec<Part> = parts
                .filter(|part| part.decision == Decision::Ask)
                .filter(|part| !self.approvals.covers(&part.scope))
                .cloned()
                .collect();
            if open.is_empty() { None } else { Some(request(open)) }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Approval::Denied("Operation aborted".to_owned()),
            answer = self.ask(open_request) => answer,
        }
    }

    /// Asks the approver, one request at a time. `request` returns `None` if approval is no longer
    /// needed.
    pub(super) async fn ask(&self, request: impl FnOnce() -> Option<ApprovalRequest>) -> Approval {
        let _turn = self.asking.lock().await;
        let Some(request) = request() else { return Approval::Covered };
        let Some(approver) = &self.approver else {
            return Approval::Denied("This was not run: no one can approve it.".to_owned());
        };
        if let Some(observe) = self.on_request.get() {
            observe(&request);
        }
        match approver.decide(&request).await {
            ApprovalDecision::Once => Approval::Granted(None),
            ApprovalDecision::Session => {
                self.approvals.add(&request.remembered);
                Approval::Granted(None)
            }
            ApprovalDecision::Always => {
                self.approvals.add(&request.remembered);
                let saved = request.rule.as_deref().map_or(Ok(()), |rule| self.save_rule(rule));
                let note = saved.err().map(|error| {
                    format!("[Approved for this session only: the rule was not saved: {error}]")
                });
                Approval::Granted(note)
            }
            ApprovalDecision::Defer => Approval::Deferred,
            ApprovalDecision::Deny { reason: None } => {
                Approval::Denied("This was not run: the user denied it.".to_owned())
            }
            ApprovalDecision::Deny { reason: Some(reason) } => {
                Approval::Denied(format!("This was not run: it was denied: {reason}"))
            }
        }
    }

    /// Adds a rule to the user's file of approved rules and to the policy of this session.
    fn save_rule(&self, rule: &str) -> Result<(), SaveRuleError> {
        let directory = self.environment.agent_directory.join(DIRECTORY);
        fs::create_dir_all(&directory)?;
        let file = directory.join(APPROVED);
        with_lock(&file, || append_rule(&file, rule))??;
        let added = RuleFile::parse(&file.to_string_lossy(), rule, Layer::User)?;
        unpoisoned(self.policy.write()).add(added);
        Ok(())
    }
}

/// Appends a rule to a file. Fails if the file is not valid afterwards.
fn append_rule(file: &Path, rule: &str) -> Result<(), SaveRuleError> {
    let mut text = if_exists(fs::read_to_string(file))?.unwrap_or_else(|| {
        "# Rules that were approved for good. Edit or remove them as needed.\n".to_owned()
    });
    if text.contains(rule) {
        return Ok(());
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push('\n');
    text.push_str(rule);
    RuleFile::parse(&file.to_string_lossy(), &text, Layer::User)?;
    pi_fs::replace(file, text.as_bytes())?;
    Ok(())
}
