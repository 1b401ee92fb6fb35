//! The confinement of a session: made when it is first needed, taken away with the session.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pi_guard::confine::{
    ConfineError, Confined, Confinement, ConfinementLevel, HostFilter, Machine, Mode, Network,
    Proxy, RefusedHost,
};
use pi_tools::Host;
use pi_tools::supervisor::Supervisor;

use super::place::Place;
use super::plan::GuardPlan;
use crate::Environment;
use crate::config::settings::SandboxMode;

/// Why there is no confinement.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine or the plan does not have it.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// A directory or a socket cannot be made.
    #[error("the sandbox cannot be prepared: {0}")]
    Prepare(#[from] std::io::Error),
}

/// More than the plan gives, for one command that was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wider {
    /// This directory can be written.
    Root(PathBuf),
    /// Everybody can be reached.
    Network,
    /// Nothing holds.
    Off,
}

impl fmt::Display for Wider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(path) => write!(f, "with {} writable", path.display()),
            Self::Network => f.write_str("with the network"),
            Self::Off => f.write_str("without the sandbox"),
        }
    }
}

/// The confinement of a session.
pub(super) struct Sandbox {
    plan: GuardPlan,
    environment: Environment,
    supervisor: Option<Supervisor>,
    programs: Vec<PathBuf>,
    decide_host: HostFilter,
    made: OnceLock<Result<Made, String>>,
}

/// What a confinement needs for as long as it is used.
struct Made {
    confined: Arc<Confined>,
    confinement: Confinement,
    machine: Machine,
    proxy: Option<Proxy>,
    _place: Place,
}

impl Sandbox {
    /// A sandbox as planned. Nothing is looked at yet.
    pub(super) fn new(
        plan: GuardPlan,
        environment: Environment,
        supervisor: Option<Supervisor>,
        programs: Vec<PathBuf>,
        decide_host: HostFilter,
    ) -> Self {
        let made = OnceLock::new();
        Self { plan, environment, supervisor, programs, decide_host, made }
    }

    /// Makes it now, so that what cannot be had is known before anything runs.
    pub(super) fn prepare(&self) -> Result<(), SandboxError> {
        if !self.plan.is_confined() {
            // Without a sandbox only what requires none may run.
            let off = Confinement::new(Mode::Off, Network::On);
            off.prepare(&Machine::default(), self.plan.require, self.helper())?;
            return Ok(());
        }
        let made = self.make()?;
        // Nobody else has made it: this is called once, at the start.
        let _ = self.made.set(Ok(made));
        Ok(())
    }

    /// The confinement, or why there is none.
    pub(super) fn confined(&self) -> Result<Arc<Confined>, String> {
        self.made().map(|made| Arc::clone(&made.confined))
    }

    /// The confinement if it was made already.
    pub(super) fn in_use(&self) -> Option<Arc<Confined>> {
        let made = self.made.get()?.as_ref().ok()?;
        Some(Arc::clone(&made.confined))
    }

    fn made(&self) -> Result<&Made, String> {
        let made = self.made.get_or_init(|| self.make().map_err(|error| error.to_string()));
        made.as_ref().map_err(Clone::clone)
    }

    /// Where commands run: confined, or with what was approved on top.
    pub(super) fn host(&self, wider: Option<&Wider>) -> Result<Host, String> {
        let made = self.made()?;
        let confined = match wider {
            None => Some(Arc::clone(&made.confined)),
            Some(Wider::Off) => None,
            Some(wider) => {
                let mut confinement = made.confinement.clone();
                match (wider, &mut confinement.mode) {
                    (Wider::Network, _) => confinement.network = Network::On,
                    (Wider::Root(root), Mode::WorkspaceWrite { extra_roots, .. }) => {
                        extra_roots.push(root.clone());
                    }
                    (Wider::Root(root), mode) => {
                        *mode = Mode::WorkspaceWrite {
                            workspace: root.clone(),
                            extra_roots: Vec::new(),
                            private_tmp: None,
                        };
                    }
                    (Wider::Off, _) => {}
                }
                let confined = confinement.prepare(&made.machine, self.plan.require, self.helper());
                Some(Arc::new(confined.map_err(|error| error.to_string())?))
            }
        };
        Ok(Host::default().with_supervisor(self.supervisor.clone()).with_sandbox(confined))
    }

    /// Hosts that were refused since this was last asked, with the reasons.
    pub(super) fn refused_hosts(&self) -> Vec<RefusedHost> {
        let made = self.made.get().and_then(|made| made.as_ref().ok());
        made.and_then(|made| made.proxy.as_ref()).map(Proxy::take_refused).unwrap_or_default()
    }

    /// The program that becomes the helper of a confined command: this one, which is also what
    /// owns the processes.
    fn helper(&self) -> PathBuf {
        let this = || Supervisor::this_program().program;
        self.supervisor.as_ref().map_or_else(this, |supervisor| supervisor.program.clone())
    }

    fn make(&self) -> Result<Made, SandboxError> {
        let (plan, environment) = (&self.plan, &self.environment);
        let place = Place::new(&environment.temporary())?;
        let mode = match plan.sandbox {
            SandboxMode::ReadOnly => Mode::ReadOnly,
            // Where nothing is confined as a rule, a single command may have to be.
            SandboxMode::WorkspaceWrite | SandboxMode::Off => Mode::WorkspaceWrite {
                workspace: environment.cwd.clone(),
                extra_roots: plan.writable_roots.clone(),
                private_tmp: Some(place.temporary()),
            },
        };
        let mut confinement = Confinement::new(mode, plan.network.clone());
        confinement.protected.extend(plan.protected.iter().cloned());
        // It may be in a root.
        confinement.protected.push(place.path().to_owned());
        confinement.hidden.clone_from(&plan.hidden);
        confinement.home.clone_from(&environment.home);
        confinement.forbidden_programs.clone_from(&self.programs);
        let proxy = match plan.network {
            Network::Hosts(_) => Some(Proxy::start(&place.own(), Arc::clone(&self.decide_host))?),
            Network::On | Network::Off => None,
        };
        confinement.proxy = proxy.as_ref().map(|proxy| proxy.socket().to_owned());
        let machine = Machine::detect();
        // Where nothing is confined as a rule, only what holds is of use.
        let least =
            if plan.is_confined() { ConfinementLevel::None } else { ConfinementLevel::Landlock };
        let required = plan.require.max(least);
        let confined = Arc::new(confinement.prepare(&machine, required, self.helper())?);
        place.note(&confined.covered_paths()?)?;
        Ok(Made { confined, confinement, machine, proxy, _place: place })
    }

    /// Whether this program may read or write a file itself, by the same rules as commands.
    pub(super) fn may(&self, path: &Path, write: bool) -> Result<(), pi_guard::confine::Denial> {
        let Some(confined) = self.in_use().filter(|_| self.plan.is_confined()) else {
            return Ok(());
        };
        if write { confined.may_write(path) } else { confined.may_read(path) }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(Ok(made)) = self.made.get() {
            made.confined.remove_covers();
        }
    }
}
