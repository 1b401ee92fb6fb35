//! The sandbox of a session: created when it is first needed, removed with the session.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pi_config::settings::{Profile, SandboxMode};
use pi_guard::confine::{
    AgentFiles, ConfineError, Confined, Confinement, ConfinementLevel, HostFilter, Machine, Mode,
    Network, Proxy, RefusedHost,
};
use pi_guard::policy::PathAccess;
use pi_tools::supervisor::Supervisor;
use pi_tools::{Aftermath, Host};

use super::GuardError;
use super::directory::SandboxDirectory;
use super::plan::GuardPlan;
use super::watch::{Watcher, Watching};
use crate::Environment;

/// The way to permit files of other agents.
const PERMIT_AGENT_FILES: &str =
    "If the task needs it, tell the user to set guard.protectAgentFiles to false";

/// The reasons why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The machine does not support the plan.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// A directory or a socket of the sandbox cannot be created.
    #[error("the sandbox cannot be prepared: {0}")]
    Prepare(#[from] std::io::Error),
}

/// Rights beyond the plan, for one approved command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Escalation {
    /// The command can write to this directory.
    WritableRoot(PathBuf),
    /// The command can access any host.
    Network,
    /// The command gets these variables, although they look like secrets.
    Variables(Vec<String>),
    /// The command runs without the sandbox.
    NoSandbox,
}

impl fmt::Display for Escalation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WritableRoot(path) => write!(f, "with {} writable", path.display()),
            Self::Network => f.write_str("with the network"),
            Self::Variables(names) => write!(f, "with the variables {}", names.join(", ")),
            Self::NoSandbox => f.write_str("without the sandbox"),
        }
    }
}

/// The sandbox of a session.
pub(super) struct Sandbox {
    plan: GuardPlan,
    environment: Environment,
    supervisor: Option<Supervisor>,
    forbidden_programs: Vec<PathBuf>,
    host_filter: HostFilter,
    watcher: Watcher,
    created: OnceLock<Result<Created, String>>,
    /// Real paths of hidden files, for tools without a sandbox.
    hidden: OnceLock<Vec<PathBuf>>,
}

/// The parts of a sandbox that live as long as it is used.
struct Created {
    confined: Arc<Confined>,
    confinement: Confinement,
    machine: Machine,
    proxy: Option<Proxy>,
    directory: SandboxDirectory,
    agent_files: AgentFiles,
}

impl Sandbox {
    /// Returns a sandbox that is not created yet.
    pub(super) fn new(
        plan: GuardPlan,
        environment: Environment,
        supervisor: Option<Supervisor>,
        forbidden_programs: Vec<PathBuf>,
        host_filter: HostFilter,
        watcher: Watcher,
    ) -> Self {
        let (created, hidden) = (OnceLock::new(), OnceLock::new());
        Self {
            plan,
            environment,
            supervisor,
            forbidden_programs,
            host_filter,
            watcher,
            created,
            hidden,
        }
    }

    /// Creates the sandbox if the plan has one, so that an unsupported one is reported before any
    /// command runs.
    pub(super) fn prepare(&self) -> Result<(), SandboxError> {
        if !self.plan.is_sandboxed() {
            // Without a sandbox, only a plan that requires none is satisfied.
            let off = Confinement::new(Mode::Off, Network::On);
            off.prepare(&Machine::default(), self.plan.require, self.helper())?;
            return Ok(());
        }
        let created = match self.create() {
            // The profile asks about everything instead.
            Err(error) if self.plan.approval_lifts_sandbox => Err(error.to_string()),
            created => Ok(created?),
        };
        // Not set yet: this is called once, at the start.
        let _ = self.created.set(created);
        Ok(())
    }

    /// Returns the reason why commands cannot run in the sandbox, which is created now if
    /// necessary.
    pub(super) fn problem(&self) -> Option<String> {
        if !self.plan.is_local {
            return Some("tools work on another machine".to_owned());
        }
        match self.created() {
            Ok(created) if created.confined.level() == ConfinementLevel::None => {
                Some(format!("this machine has no sandbox: {}", created.machine.missing()))
            }
            Ok(_) => None,
            Err(error) => Some(error),
        }
    }

    /// Returns true if the plan has a sandbox and it is in effect.
    pub(super) fn is_effective(&self) -> bool {
        let level = self.in_use().map(|confined| confined.level());
        self.plan.is_sandboxed() && level > Some(ConfinementLevel::None)
    }

    /// Returns the confinement if it is created already.
    pub(super) fn in_use(&self) -> Option<Arc<Confined>> {
        let created = self.created.get()?.as_ref().ok()?;
        Some(Arc::clone(&created.confined))
    }

    /// Returns the confinement of commands if the plan has a sandbox.
    pub(super) fn confined(&self) -> Option<Arc<Confined>> {
        if self.plan.is_sandboxed() { self.in_use() } else { None }
    }

    /// Returns the sandboxed executor for the tools of a session; `None` if the sandbox is off or
    /// cannot be created and is not required.
    pub(super) fn session_host(&self) -> Result<Option<Host>, GuardError> {
        if self.confined().is_none() {
            return Ok(None);
        }
        let host = self.host(None, Watching::Unapproved);
        let host = host.map_err(|error| SandboxError::Prepare(std::io::Error::other(error)))?;
        Ok(Some(host))
    }

    fn created(&self) -> Result<&Created, String> {
        let created = self.created.get_or_init(|| self.create().map_err(|error| error.to_string()));
        created.as_ref().map_err(Clone::clone)
    }

    /// Returns the judge of programs that commands start.
    pub(super) fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Returns an executor in the sandbox, with an approved escalation if there is one.
    pub(super) fn host(
        &self,
        escalation: Option<&Escalation>,
        watching: Watching,
    ) -> Result<Host, String> {
        let confined = match escalation {
            None => Some(Arc::clone(&self.created()?.confined)),
            Some(Escalation::NoSandbox) => None,
            Some(escalation) => {
                let created = self.created()?;
                let mut confinement = created.confinement.clone();
                match (escalation, &mut confinement.mode) {
                    (Escalation::Network, _) => confinement.network = Network::On,
                    (Escalation::Variables(names), _) => {
                        confinement.kept_variables.clone_from(names);
                    }
                    (Escalation::WritableRoot(root), Mode::WorkspaceWrite { extra_roots, .. }) => {
                        extra_roots.push(root.clone());
                    }
                    (Escalation::WritableRoot(root), mode) => {
                        *mode = Mode::WorkspaceWrite {
                            workspace: root.clone(),
                            extra_roots: Vec::new(),
                            private_tmp: None,
                        };
                    }
                    (Escalation::NoSandbox, _) => {}
                }
                let confined =
                    confinement.prepare(&created.machine, self.plan.require, self.helper());
                Some(Arc::new(confined.map_err(|error| error.to_string())?))
            }
        };
        // Without a sandbox, only a program that supervises its commands is known to be a helper.
        let helper = self.supervisor.as_ref().map(|_| self.helper());
        let confined = self.watcher.apply(confined, watching, helper);
        Ok(Host::default().with_supervisor(self.supervisor.clone()).with_sandbox(confined))
    }

    /// Returns the hosts that were refused since the last call of this method.
    pub(super) fn take_refused_hosts(&self) -> Vec<RefusedHost> {
        let created = self.created.get().and_then(|created| created.as_ref().ok());
        let proxy = created.and_then(|created| created.proxy.as_ref());
        proxy.map(Proxy::take_refused).unwrap_or_default()
    }

    fn agent_files(&self) -> Option<&AgentFiles> {
        let created = self.created.get()?.as_ref().ok()?;
        Some(&created.agent_files)
    }

    /// Renames the files of other agents that commands created. Returns a note for each.
    pub(super) fn disable_agent_files(&self) -> Vec<String> {
        self.agent_files().map(AgentFiles::disable_new).unwrap_or_default()
    }

    /// Returns the program that sets up the sandbox of a command: this program, which also
    /// supervises processes.
    fn helper(&self) -> PathBuf {
        match &self.supervisor {
            Some(supervisor) => supervisor.program.clone(),
            None => Supervisor::this_program().program,
        }
    }

    fn create(&self) -> Result<Created, SandboxError> {
        let (plan, environment) = (&self.plan, &self.environment);
        let directory = SandboxDirectory::new(&environment.temporary())?;
        let mode = match plan.sandbox {
            SandboxMode::ReadOnly => Mode::ReadOnly,
            // With the sandbox off, a single command may still have to run in one.
            SandboxMode::WorkspaceWrite | SandboxMode::Off => Mode::WorkspaceWrite {
                workspace: environment.cwd.clone(),
                extra_roots: plan.writable_roots.clone(),
                private_tmp: Some(directory.temporary()),
            },
        };
        let mut confinement = Confinement::new(mode, plan.network.clone());
        if plan.is_disposable {
            confinement.protected.clear();
        }
        confinement.mounts.clone_from(&plan.mounts);
        confinement.protected.extend(plan.protected.iter().cloned());
        confinement.links.clone_from(&plan.links);
        let agent_files = if plan.protects_agent_files {
            let roots = plan.roots_of_user(&environment.cwd);
            AgentFiles::find(roots.iter().map(PathBuf::as_path), PERMIT_AGENT_FILES)
        } else {
            AgentFiles::default()
        };
        confinement.protected.extend(agent_files.protected());
        // The directory of the sandbox may lie in a writable root.
        confinement.sealed.push(directory.path().to_owned());
        confinement.sealed.extend(self.watcher.directory().map(Path::to_owned));
        confinement.hidden.clone_from(&plan.hidden);
        confinement.home.clone_from(&environment.home);
        confinement.limits = plan.limits;
        confinement.forbidden_programs.clone_from(&self.forbidden_programs);
        let proxy = match plan.network {
            Network::Hosts(_) => {
                Some(Proxy::start(&directory.private(), Arc::clone(&self.host_filter))?)
            }
            Network::On | Network::Off => None,
        };
        confinement.proxy = proxy.as_ref().map(|proxy| proxy.socket().to_owned());
        let machine = Machine::of_this_process();
        // With the sandbox off, it is created only for a command that must run in one, so a
        // sandbox without effect is of no use.
        let least =
            if plan.is_sandboxed() { ConfinementLevel::None } else { ConfinementLevel::Landlock };
        let required = plan.require.max(least);
        let confined = Arc::new(confinement.prepare(&machine, required, self.helper())?);
        directory.record_covers(&confined.covered_paths()?)?;
        Ok(Created { confined, confinement, machine, proxy, directory, agent_files })
    }

    /// Does the rest of the examinations and removes the covers, after the last command. Returns
    /// what is left to report since the last call.
    pub(super) fn finish(&self) -> Aftermath {
        let mut aftermath = Aftermath::default();
        let Some(Ok(created)) = self.created.get() else { return aftermath };
        let confined = &created.confined;
        #[cfg(target_os = "linux")]
        {
            let mut found = confined.disable_leftovers(true);
            let dangers = confined.dangers();
            found.retain(|leftover| !dangers.contains(leftover));
            aftermath.notes = found.iter().chain(&dangers).map(ToString::to_string).collect();
            aftermath.is_dangerous = !dangers.is_empty();
        }
        aftermath.notes.extend(created.agent_files.disable_new());
        confined.remove_covers();
        // Covers that another session uses are removed after that one. Without the record they
        // would stay, which is untidy and nothing else.
        let _ = created.directory.record_covers(&confined.own_covers());
        aftermath
    }

    /// Removes the directories of the sandbox and of the judge, when no command follows.
    pub(super) fn remove_directories(&self) {
        if let Some(Ok(created)) = self.created.get() {
            created.directory.remove();
        }
        self.watcher.remove_directory();
    }

    /// Checks whether a tool of this process may access a file, by the rules that the sandbox has
    /// for commands. The error is the rule that denies it.
    pub(super) fn check(&self, path: &Path, access: PathAccess) -> Result<(), String> {
        if self.is_effective()
            && let Some(confined) = self.in_use()
        {
            let checked = match access {
                PathAccess::Read => confined.may_read(path),
                // Writing is the stricter check.
                _ => {
                    if let Some(rule) = self.agent_files().and_then(|files| files.rule(path)) {
                        return Err(rule);
                    }
                    confined.may_write(path)
                }
            };
            return checked.map_err(|denial| denial.rule);
        }
        // Keys stay hidden from tools in a profile that restricts them, with or without a sandbox.
        let restricted = self.plan.profile != Profile::Explore && self.plan.is_local;
        let hidden = || self.plan.hidden.iter().map(|hidden| super::real_path(hidden));
        let hidden = self.hidden.get_or_init(|| hidden().collect());
        if restricted && hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Err("this path is hidden".to_owned());
        }
        Ok(())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Reported before, unless the process ends early.
        self.finish();
    }
}
