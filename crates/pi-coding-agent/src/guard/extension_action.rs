//! Actions of an extension's own code, judged as those of a tool.
//!
//! An extension reaches files, programs and hosts itself, not through a tool. Its host asks here
//! before each access, so that policy, sandbox and approvals hold for it, too.

use std::path::PathBuf;

use pi_guard::policy::PathAccess;
use pi_protocol::CancelToken;

use super::ask::Approval;
use super::{ApprovalRequest, Guard, Judgment};

/// An access of an extension's code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtensionAction {
    /// Reads a file or lists a directory.
    Read(PathBuf),
    /// Creates, changes or removes a file or directory.
    Write(PathBuf),
    /// Starts a program, as a line of shell.
    Run(String),
    /// Connects to a host.
    Connect(String),
}

impl ExtensionAction {
    /// Describes the action for an approver.
    fn describe(&self) -> String {
        match self {
            Self::Read(path) => format!("read {}", path.display()),
            Self::Write(path) => format!("write {}", path.display()),
            Self::Run(script) => script.clone(),
            Self::Connect(host) => format!("connect to {host}"),
        }
    }
}

impl Guard {
    /// Judges an action of an extension's code.
    pub fn judge_extension(&self, action: &ExtensionAction) -> Judgment {
        match action {
            ExtensionAction::Read(path) => self.judge_path(path, PathAccess::Read),
            ExtensionAction::Write(path) => self.judge_path(path, PathAccess::Write),
            ExtensionAction::Run(script) => self.judge_command(script),
            ExtensionAction::Connect(host) => self.judge_host(host),
        }
    }

    /// Waits for approval of an action that needs one. The error is the reason of the refusal.
    pub async fn approve_extension(
        &self,
        action: &ExtensionAction,
        judgment: &Judgment,
    ) -> Result<(), String> {
        let cwd = self.environment.cwd.to_string_lossy();
        let request =
            |parts| ApprovalRequest::new("an extension", "", &action.describe(), &cwd, parts);
        match self.approval(judgment, request, &CancelToken::default()).await {
            Approval::Granted(_) | Approval::Covered => Ok(()),
            Approval::Denied(reason) => Err(reason),
            // The code of an extension cannot be suspended.
            Approval::Deferred => Err("This was not run: no one can approve it now.".to_owned()),
        }
    }
}
