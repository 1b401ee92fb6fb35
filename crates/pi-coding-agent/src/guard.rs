//! The guard: decides about every tool call before it runs, and sandboxes and redacts it.
//!
//! The rules and the sandbox themselves are in `pi-guard`. This module connects them to a session:
//! [`GuardPlan`] is the effective configuration, [`rules`] loads the rule files, [`Approver`]
//! decides about actions that need approval, and [`Approvals`] remembers what was approved. Every
//! tool is wrapped (`tool`), so that no call bypasses the guard.
//!
//! The guard judges a call by the effects that its tool declares, never by the name of the tool. A
//! rule may name a tool; nothing in here does.

mod announce;
mod ask;
mod change;
mod changes;
mod checkpoint;
mod conclude;
mod decision;
mod directory;
mod extension_action;
mod judge;
mod notes;
mod parts;
mod plan;
mod redaction;
mod reviewer;
pub mod rules;
mod sandbox;
mod status;
mod stream;
mod tool;
mod untrusted;
mod watch;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard};

use pi_base::unpoisoned;
use pi_config::TrustedFiles;
use pi_config::settings::Profile;
use pi_guard::confine::{Confined, ProgramFiles, RefusedHost};
use pi_guard::policy::{Policy, PolicyContext};
use pi_guard::secrets::Secrets;
use pi_tools::checkpoint::{Limits, uncovered};
use pi_tools::{Host, Workspace};

pub use crate::approval::{ApprovalDecision, ApprovalRequest, Approvals, Approver};
pub use crate::guard_report::{CallDecision, GuardStatus, ToolDecision};
pub use announce::{AnnounceCall, StartedCall};
pub use changes::{AgentChange, ChangeObserver};
pub use extension_action::ExtensionAction;
pub use judge::{Call, Judgment, Outcome, ToolOrigin};
pub use notes::notes;
pub use plan::{GuardPlan, ReviewerPlan};
pub use reviewer::Reviewer;
pub use rules::RulesError;
pub use sandbox::SandboxError;
pub(crate) use stream::RedactedStream;
pub(crate) use tool::Guarded;
pub use untrusted::{is_untrusted, mark_untrusted};

use crate::tap::Tap;
use crate::{Diagnostic, Environment, Omission};
pub(crate) use checkpoint::{Checkpoints, Coverage};
pub(crate) use decision::EmitDecision;
pub(crate) use parts::{GuardParts, RemoteDirectories, Walls};
use sandbox::{Escalation, Sandbox};
use watch::Watching;
pub(crate) use watch::describe as describe_refused;

/// The reasons why a session cannot be guarded, and therefore does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A setting that must not be ignored is invalid.
    #[error("the settings are invalid: {0}")]
    Settings(Diagnostic),
    /// A rule file is invalid or cannot be read.
    #[error("the policy cannot be loaded: {0}")]
    Rules(#[from] RulesError),
    /// An extension or a rule file that may restrict the agent is not loaded.
    #[error("the profile {} cannot be used: {omission}", profile.as_str())]
    Omitted {
        /// The profile, which does not leave out restrictions.
        profile: Profile,
        /// Parts that are not loaded.
        omission: Omission,
    },
    /// The machine does not support the required sandbox.
    #[error("the required sandbox is not available: {0}")]
    Sandbox(#[from] SandboxError),
}

/// Decides what the tools of a session may do.
pub struct Guard {
    plan: GuardPlan,
    environment: Environment,
    policy: Arc<RwLock<Policy>>,
    /// Directories of the tools, if they work on another machine.
    remote: Option<RemoteDirectories>,
    approvals: Approvals,
    approver: Option<Arc<dyn Approver>>,
    checkpoints: Checkpoints,
    /// Records calls before they are executed.
    announce: Option<AnnounceCall>,
    /// Emits decisions, if the guard belongs to a session.
    emit_decision: Option<EmitDecision>,
    tap: Option<Arc<dyn Tap>>,
    /// Held while an approval is pending, so that only one is pending at a time.
    asking: tokio::sync::Mutex<()>,
    sandbox: Sandbox,
    trusted: Arc<TrustedFiles>,
    secrets: Secrets,
    on_request: OnceLock<ObserveRequest>,
}

/// Observes requests for approval, before they are decided.
pub(crate) type ObserveRequest = Box<dyn Fn(&ApprovalRequest) + Send + Sync>;

impl Guard {
    /// Returns the effective configuration.
    pub fn plan(&self) -> &GuardPlan {
        &self.plan
    }

    /// Returns the approvals of this session. Sub-agents share them.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Observes requests for approval. Only the first observer counts.
    pub(crate) fn on_request(&self, observe: ObserveRequest) {
        let _ = self.on_request.set(observe);
    }

    /// Returns the confinement of commands if the sandbox is on.
    pub fn confined(&self) -> Option<Arc<Confined>> {
        self.sandbox.confined()
    }

    /// Returns the same for a command of a user, of which every program is judged by the rules.
    pub fn watched(&self) -> Option<Arc<Confined>> {
        let confined = self.confined()?;
        self.sandbox.watcher().apply(Some(confined), Watching::WithFirst, None)
    }

    /// Returns the reason why commands are not watched although they should be.
    pub(crate) fn watch_problem(&self) -> Option<&str> {
        self.sandbox.watcher().problem()
    }

    /// Returns the hosts that sandboxed commands were refused since the last call of this method.
    pub fn take_refused_hosts(&self) -> Vec<RefusedHost> {
        self.sandbox.take_refused_hosts()
    }

    /// Returns the sandboxed executor for the tools of this session; `None` if the sandbox is off
    /// or cannot be created and is not required.
    pub fn host(&self) -> Result<Option<Host>, GuardError> {
        self.sandbox.session_host()
    }

    /// Renames files of other agents that appeared since the last call. Returns a note for each.
    pub fn disable_agent_files(&self) -> Vec<String> {
        self.sandbox.disable_agent_files()
    }

    /// Returns the files that pi runs or reads for the user. Sub-agents share them.
    pub(crate) fn trusted_files(&self) -> &Arc<TrustedFiles> {
        &self.trusted
    }

    /// Returns the directory in which the agent works.
    pub(crate) fn cwd(&self) -> &Path {
        &self.environment.cwd
    }

    /// Returns the executor for a command of a hook or guardrail: in the sandbox, if the session has
    /// one and the user did not lift it for this command; `None` without the sandbox. The error is
    /// the reason why the command must not run, because the agent may have changed what it runs.
    pub(crate) fn settings_host(
        &self,
        command: &str,
        is_lifted: bool,
    ) -> Result<Option<Host>, String> {
        if !self.sandbox.is_effective() {
            return Ok(None);
        }
        self.trusted.check(command)?;
        if !is_lifted {
            return self.sandbox.host(None, Watching::Approved).map(Some);
        }
        match self.trusted.file_of(command) {
            None => Ok(None),
            Some(file) => Err(format!(
                "it is to run without the sandbox, and the agent can write {}; move the file out \
                 of the directories that the agent can write, or remove \"sandbox\": false",
                file.display()
            )),
        }
    }

    /// Removes from variables what leads a command outside of the sandbox to files that the agent
    /// can write.
    pub(crate) fn remove_writable(&self, variables: &mut BTreeMap<OsString, OsString>) {
        self.trusted.remove_writable(variables);
    }

    /// Returns the workspace for commands of the user, which count as approved.
    pub(crate) fn user_workspace(
        &self,
        workspace: &Arc<Workspace>,
        command: &str,
    ) -> Arc<Workspace> {
        let lifts = self.plan.approval_lifts_sandbox;
        if !lifts && !self.sandbox.watcher().is_active() {
            return Arc::clone(workspace);
        }
        let confined = !lifts && self.confined().is_some();
        let watching = self.watching(&[command.to_owned()], true, confined);
        let escalation = (!confined).then_some(Escalation::NoSandbox);
        match self.sandbox.host(escalation.as_ref(), watching) {
            Ok(host) => Arc::new((**workspace).clone().with_executor(Arc::new(host))),
            Err(_) => Arc::clone(workspace),
        }
    }

    /// Returns the workspace for a command of the user that needs these variables, although they
    /// look like secrets.
    pub(crate) fn workspace_with_variables(
        &self,
        workspace: &Arc<Workspace>,
        command: &str,
        variables: &[String],
    ) -> Result<Arc<Workspace>, String> {
        let is_filtered = self.confined().is_some() && !self.plan.approval_lifts_sandbox;
        if variables.is_empty() || !is_filtered {
            return Ok(self.user_workspace(workspace, command));
        }
        let watching = self.watching(&[command.to_owned()], true, true);
        let host = self.sandbox.host(Some(&Escalation::Variables(variables.to_vec())), watching)?;
        Ok(Arc::new((**workspace).clone().with_executor(Arc::new(host))))
    }

    /// Returns a test for files whose content searches must leave out.
    pub(crate) fn unreadable(self: &Arc<Self>) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        let guard = Arc::downgrade(self);
        Arc::new(move |path| guard.upgrade().is_none_or(|guard| !guard.may_show(path)))
    }

    fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        read(&self.policy)
    }

    /// Returns the path of a file without symbolic links. The links of another machine are not
    /// known here, so its files are judged by their names.
    fn real_path(&self, path: &Path) -> PathBuf {
        if self.plan.is_local { real_path(path) } else { path.to_owned() }
    }

    /// Calls `check` with the policy and the directories and programs that it refers to.
    fn with_policy<T>(&self, check: impl FnOnce(&Policy, &PolicyContext<'_>) -> T) -> T {
        let is_local = self.plan.is_local;
        let resolve = |name: &str| if is_local { resolve(&self.environment, name) } else { None };
        let real = |path: &Path| Some(self.real_path(path));
        let (cwd, home) = match &self.remote {
            Some(remote) => (&remote.cwd, &remote.home),
            None => (&self.environment.cwd, &self.environment.home),
        };
        let has_checkpoints = !matches!(self.checkpoints, Checkpoints::None);
        let lost = |path: &Path| match is_local && has_checkpoints {
            true => uncovered(cwd, path, Limits::default().file_bytes),
            false => Vec::new(),
        };
        let context = PolicyContext::new(cwd)
            .with_home(home.as_deref())
            .with_program_resolver(&resolve)
            .with_real_paths(&real)
            .with_uncovered_files(&lost);
        check(&self.policy(), &context)
    }
}

pi_protocol::debug_fields!(Guard, plan);

fn read(policy: &RwLock<Policy>) -> RwLockReadGuard<'_, Policy> {
    unpoisoned(policy.read())
}

/// Returns the real path of a program, as the shell of a command would find it.
fn resolve(environment: &Environment, name: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return environment.cwd.join(name).canonicalize().ok();
    }
    let path = environment.variable("PATH")?;
    path.split(':').find_map(|directory| {
        let program = environment.cwd.join(directory).join(name);
        if is_program(&program) { program.canonicalize().ok() } else { None }
    })
}

/// Returns the files of programs, as the shell of a command would find them.
fn program_files(environment: &Environment, plan: &GuardPlan) -> ProgramFiles {
    let path = environment.variable("PATH").unwrap_or_default();
    let path = path.split(':').map(|directory| environment.cwd.join(directory)).collect();
    let own = [environment.cwd.clone(), real_path(&environment.cwd)];
    let roots = plan.writable_roots.iter().cloned();
    ProgramFiles::new(path).with_writable(roots.chain(own).collect())
}

/// Returns the name of a program in a rule, or its path if the rule has a relative one.
fn absolute_name(environment: &Environment, name: &str) -> String {
    if name.contains('/') {
        environment.cwd.join(name).to_string_lossy().into_owned()
    } else {
        name.to_owned()
    }
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// Returns the real path of a file that may not exist: links are resolved in the part that does.
fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = existing.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return path.to_owned();
        };
        missing.push(name);
        existing = parent;
    }
}
