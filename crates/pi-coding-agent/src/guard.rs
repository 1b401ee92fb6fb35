//! What the agent may do, asked before every call and held while it runs.
//!
//! The rules and the sandbox themselves are `pi-guard`; here they meet a session: which rules and
//! which profile count ([`GuardPlan`], [`rules`]), who is asked ([`Approver`]), what becomes of
//! the answer ([`Approvals`]). Every tool is wrapped (`tool`), so nothing gets past it: it is
//! judged, perhaps asked about, perhaps run confined, and what it says is masked.

mod approval;
mod judge;
mod masking;
mod place;
mod plan;
mod remember;
mod reviewer;
pub mod rules;
mod sandbox;
mod status;
mod tool;
mod ui;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use pi_guard::confine::ConfinementLevel;
use pi_guard::confine::{Confined, RefusedHost};
use pi_guard::policy::{Policy, PolicyContext};
use pi_guard::secrets::Secrets;
use pi_tools::Host;
use pi_tools::supervisor::Supervisor;

pub use approval::{ApprovalDecision, ApprovalRequest, Approvals, Approver};
pub use judge::{Call, Judgment, Outcome};
pub use plan::GuardPlan;
pub use reviewer::Reviewer;
pub use rules::RulesError;
pub use sandbox::SandboxError;
pub use status::GuardStatus;
pub(crate) use tool::{Guarded, ToolOrigin};
pub use ui::UiApprover;

use crate::{Diagnostic, Environment};
use sandbox::Sandbox;

/// Why nothing may run.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Nobody knows what was meant to hold.
    #[error("nothing may run before this is in order: {0}")]
    Settings(Diagnostic),
    /// The rules cannot be used.
    #[error("nothing may run before this is in order: {0}")]
    Rules(#[from] RulesError),
    /// What is required is not there.
    #[error("nothing may run: {0}")]
    Sandbox(#[from] SandboxError),
}

/// What a session may do.
pub struct Guard {
    plan: GuardPlan,
    environment: Environment,
    policy: Arc<RwLock<Policy>>,
    approvals: Approvals,
    approver: Option<Arc<dyn Approver>>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
    sandbox: Sandbox,
    secrets: Secrets,
}

impl Guard {
    /// Puts rules, sandbox, approver and secrets together. What is required of the machine is looked
    /// at now: before anything runs.
    pub fn new(
        plan: GuardPlan,
        environment: &Environment,
        policy: Policy,
        approver: Option<Arc<dyn Approver>>,
        approvals: Approvals,
        supervisor: Option<Supervisor>,
        secrets: Secrets,
    ) -> Result<Self, GuardError> {
        let programs = {
            let resolve = |name: &str| resolve(environment, name);
            policy.forbidden_programs(&resolve)
        };
        let policy = Arc::new(RwLock::new(policy));
        let sandbox = Sandbox::new(
            plan.clone(),
            environment.clone(),
            supervisor,
            programs,
            judge::decide_host(&plan, &policy, &approvals),
        );
        sandbox.prepare()?;
        let held =
            sandbox.in_use().is_some_and(|confined| confined.level() > ConfinementLevel::None);
        {
            let mut policy = policy.write().unwrap_or_else(PoisonError::into_inner);
            *policy = policy.clone().with_defaults(plan.defaults(held));
        }
        Ok(Self {
            plan,
            environment: environment.clone(),
            policy,
            approvals,
            approver,
            asking: tokio::sync::Mutex::default(),
            sandbox,
            secrets,
        })
    }

    /// What is to hold.
    pub fn plan(&self) -> &GuardPlan {
        &self.plan
    }

    /// What was approved for this session; sub-agents are given the same.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// What commands are confined to, if they are.
    pub fn confined(&self) -> Option<Arc<Confined>> {
        self.sandbox.in_use().filter(|_| self.plan.is_confined())
    }

    /// Hosts that confined commands were refused since this was last asked.
    pub fn refused_hosts(&self) -> Vec<RefusedHost> {
        self.sandbox.refused_hosts()
    }

    /// Where commands of this session run, if they are confined.
    pub fn host(&self) -> Result<Option<Host>, GuardError> {
        if !self.plan.is_confined() {
            return Ok(None);
        }
        let made = self.sandbox.host(None);
        let fail = |error| GuardError::Sandbox(SandboxError::Prepare(std::io::Error::other(error)));
        made.map(Some).map_err(fail)
    }

    /// Files whose content is not shown where many are looked through.
    pub(crate) fn unreadable(self: &Arc<Self>) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        let guard = Arc::downgrade(self);
        Arc::new(move |path| guard.upgrade().is_none_or(|guard| !guard.may_show(path)))
    }

    fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the policy and the place where commands run.
    fn look<T>(&self, look: impl FnOnce(&Policy, &PolicyContext<'_>) -> T) -> T {
        let resolve = |name: &str| resolve(&self.environment, name);
        let context = PolicyContext::new(&self.environment.cwd)
            .with_home(self.environment.home.as_deref())
            .with_program_resolver(&resolve)
            .with_real_paths(&|path| Some(real_path(path)));
        look(&self.policy(), &context)
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The real path of a program, as the shell of a command would find it.
fn resolve(environment: &Environment, name: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return environment.cwd.join(name).canonicalize().ok();
    }
    let path = environment.variable("PATH")?;
    path.split(':').find_map(|directory| {
        let found = environment.cwd.join(directory).join(name);
        is_program(&found).then(|| found.canonicalize().ok()).flatten()
    })
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

/// The real path of a file that may not be there yet: what there is of it, without links.
fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(real) = at.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return path.to_owned();
        };
        missing.push(name);
        at = parent;
    }
}
