//! The parts that a guard is constructed from, each of them stated. No part is added later: a guard
//! without one of them would decide otherwise, or in silence.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use pi_base::unpoisoned;
use pi_config::TrustedFiles;
use pi_guard::policy::Policy;
use pi_guard::secrets::Secrets;
use pi_tools::Host;
use pi_tools::supervisor::Supervisor;

use super::checkpoint::{Checkpoints, covers_repository};
use super::decision::EmitDecision;
use super::judge::host_filter;
use super::sandbox::Sandbox;
use super::watch::Watcher;
use super::{
    AnnounceCall, Approvals, Approver, Guard, GuardError, GuardPlan, absolute_name, program_files,
};
use crate::Environment;
use crate::tap::Tap;

/// The policy and the sandbox of a session, which exist before its tools have an executor.
pub(crate) struct Walls {
    pub(super) plan: GuardPlan,
    pub(super) environment: Environment,
    pub(super) policy: Arc<RwLock<Policy>>,
    pub(super) approvals: Approvals,
    pub(super) sandbox: Sandbox,
    pub(super) trusted: Arc<TrustedFiles>,
}

impl Walls {
    /// Creates the walls of a session. A required sandbox is set up here, so that a machine that
    /// does not support it is reported before any command runs.
    pub(crate) fn new(
        mut plan: GuardPlan,
        environment: &Environment,
        policy: Policy,
        approvals: Approvals,
        supervisor: Option<Supervisor>,
        trusted: Arc<TrustedFiles>,
    ) -> Result<Self, GuardError> {
        plan.protected.extend(trusted.protected().cloned());
        plan.links.extend(trusted.links().cloned());
        // Until the guard knows of checkpoints.
        let policy = policy.with_defaults(plan.defaults(true));
        let files = program_files(environment, &plan);
        let named = |name: &str| files.named(&absolute_name(environment, name));
        let programs = policy.forbidden_programs(&|name| files.with_links(named(name)));
        let policy = Arc::new(RwLock::new(policy));
        let sandbox = Sandbox::new(
            plan.clone(),
            environment.clone(),
            supervisor,
            programs,
            host_filter(&plan, &policy, &approvals),
            Watcher::new(&plan, &policy, &approvals, environment),
        );
        sandbox.prepare()?;
        Ok(Self { plan, environment: environment.clone(), policy, approvals, sandbox, trusted })
    }

    /// Returns the sandboxed executor for the tools of this session; `None` if the sandbox is off
    /// or cannot be created and is not required.
    pub(crate) fn host(&self) -> Result<Option<Host>, GuardError> {
        self.sandbox.session_host()
    }
}

/// The parts of a guard.
pub(crate) struct GuardParts {
    /// Policy and sandbox.
    pub(crate) walls: Walls,
    /// Directories of the tools, if they work on another machine.
    pub(crate) remote: Option<RemoteDirectories>,
    /// Decides about actions that need approval.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Checkpoints of the workspace.
    pub(crate) checkpoints: Checkpoints,
    /// Records calls before they are executed.
    pub(crate) announce: Option<AnnounceCall>,
    /// Emits decisions, if the guard belongs to a session.
    pub(crate) emit_decision: Option<EmitDecision>,
    /// Sees the calls.
    pub(crate) tap: Option<Arc<dyn Tap>>,
    /// Credentials that results must not contain.
    pub(crate) secrets: Secrets,
}

/// The directories of tools on another machine, to which relative paths and `~` in rules refer.
#[derive(Debug, Clone)]
pub(crate) struct RemoteDirectories {
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

impl Guard {
    /// Creates a guard.
    pub(crate) fn new(parts: GuardParts) -> Self {
        let GuardParts {
            walls: Walls { plan, environment, policy, approvals, sandbox, trusted },
            remote,
            approver,
            checkpoints,
            announce,
            emit_decision,
            tap,
            secrets,
        } = parts;
        {
            let defaults = plan.defaults(sandbox.is_effective());
            let covers_repository = plan.is_local && covers_repository(&environment.cwd);
            let defaults = match checkpoints {
                Checkpoints::None => defaults,
                Checkpoints::Assumed | Checkpoints::Taken(_) => {
                    defaults.with_checkpoint(true).with_repository_checkpoint(covers_repository)
                }
            };
            let mut policy = unpoisoned(policy.write());
            *policy = policy.clone().with_defaults(defaults);
        }
        Self {
            plan,
            environment,
            policy,
            remote,
            approvals,
            approver,
            checkpoints,
            announce,
            emit_decision,
            tap,
            asking: tokio::sync::Mutex::default(),
            sandbox,
            trusted,
            secrets,
            on_request: std::sync::OnceLock::new(),
        }
    }
}
