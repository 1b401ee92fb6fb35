//! A shell for commands that the user configured and no model wrote, such as the checks of a task.
//!
//! It has a sandbox of its own, without the processes, the private `/tmp` and the approvals of any
//! session.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use pi_config::Environment;
use pi_guard::confine::{
    ConfinementLevel, Denial, DenialTarget, Network, Trace, Tracing, explain_denials,
    without_secrets,
};
use pi_guard::secrets::environment_secrets;
use pi_protocol::CancelToken;
use pi_tools::{CommandResult, ExecutorSpec, Host, Workspace};
use tokio::sync::mpsc::Sender;

use super::guarding::guard_of;
use super::room::Room;
use super::workspace::bash_settings;
use super::{AgentOptions, CreateError};
use crate::guard::{Guard, GuardPlan, describe_refused};
use crate::session::BashError;

/// Bytes of the output of a command that are saved. All of it is redacted and searched.
const SAVED_OUTPUT: u64 = 4 * 1024 * 1024;
/// Least length of a secret of a variable that is redacted.
const LEAST_REDACTED: usize = 4;

/// A shell for commands that the user configured.
#[derive(Debug)]
pub struct UserShell {
    guard: Arc<Guard>,
    workspace: Arc<Workspace>,
    tracing: Tracing,
    /// The variables that commands do not get unless they need them, with their values.
    removed: BTreeMap<String, String>,
}

impl UserShell {
    /// Opens a shell in a room, with the sandbox of the settings. Output that is too long for a
    /// result is saved in the directory `output` as long as the shell exists.
    pub fn open(options: &AgentOptions, room: &Room, output: &Path) -> Result<Self, CreateError> {
        let kind = Room::kind(options);
        let options = &room.options(options, kind);
        let settings = options.project.settings();
        let spec = settings.executor.clone();
        if spec != ExecutorSpec::Local {
            return Err(CreateError::UnsandboxedExecutor(spec));
        }
        let environment = options.environment();
        let tracing = room.tracing(kind);
        let change = |plan: &mut GuardPlan| {
            room.apply(kind, plan);
            plan.tracing = Some(tracing.clone());
        };
        let guard = Arc::new(guard_of(options, change)?);
        let plain = Host::default().with_supervisor(options.tools.supervisor.clone());
        let host = guard.host()?.unwrap_or(plain);
        let mut bash = bash_settings(settings, environment, guard.plan());
        bash.environment = environment.own_variables();
        bash.output_directory = Some(output.to_owned());
        bash.output_limit = SAVED_OUTPUT;
        // The caller knows how long its commands may take.
        bash.max_timeout = None;
        let (cwd, home) = (environment.cwd.clone(), environment.home.clone());
        let workspace = Workspace::new(Arc::new(host), cwd, home).with_bash(bash);
        let is_filtered = guard.confined().is_some_and(|one| one.level() > ConfinementLevel::None);
        let removed = if is_filtered { removed_variables(environment) } else { BTreeMap::new() };
        Ok(Self { guard, workspace: Arc::new(workspace), tracing, removed })
    }

    /// Runs a command until it ends or is canceled; all its processes end with it. It gets the
    /// `variables`, even if they look like secrets. The result is redacted, the chunks are not.
    pub async fn run(
        &self,
        command: &str,
        variables: &[String],
        cancel: &CancelToken,
        chunks: Sender<String>,
    ) -> Result<CommandResult, BashError> {
        self.guard.check_user_command(command).map_err(BashError::Failed)?;
        let workspace = self.guard.workspace_with_variables(&self.workspace, command, variables);
        let workspace = workspace.map_err(BashError::Failed)?;
        let ended = pi_tools::run_command(&workspace, command, cancel, chunks).await;
        let mut ended = ended.map_err(|error| BashError::Failed(error.message().to_owned()))?;
        ended.output = self.redact(&ended.output, variables);
        if let Some(refused) = describe_refused(&self.guard.take_refused_programs()) {
            ended.output.push_str(&format!("\n[{}]", self.guard.redact(&refused)));
        }
        Ok(ended)
    }

    /// Returns what commands used since the last call.
    pub fn take_trace(&self) -> Trace {
        let mut trace = self.tracing.take();
        trace.problem = self.guard.watch_problem().map(str::to_owned);
        trace
    }

    /// Returns what the sandbox denied to failed commands since the last call, as far as it is
    /// known and their output says so.
    pub fn take_denials(&self, output: &str) -> Vec<Denial> {
        let refused = self.guard.take_refused_hosts().into_iter();
        let mut denials: Vec<Denial> = refused.map(Denial::from).collect();
        let has_host = !denials.is_empty();
        let found = self
            .guard
            .confined()
            .map(|confined| explain_denials(&confined, self.workspace.cwd(), output));
        // The proxy knows the host better than the message of a program does.
        let is_known = |denial: &Denial| has_host && matches!(denial.target, DenialTarget::Host(_));
        denials.extend(found.unwrap_or_default().into_iter().filter(|denial| !is_known(denial)));
        denials
    }

    /// Returns the hosts that commands can reach; `None` if that is not limited to some.
    pub fn hosts(&self) -> Option<&[String]> {
        match &self.guard.plan().network {
            Network::Hosts(hosts) => Some(hosts),
            _ => None,
        }
    }

    /// Returns true if the sandbox can limit the network to some hosts.
    pub fn limits_hosts(&self) -> bool {
        let confined = self.guard.confined();
        confined.is_some_and(|confined| confined.level() == ConfinementLevel::Bubblewrap)
    }

    /// Returns the names of the variables that commands do not get, because they look like secrets
    /// or lead to services of this machine.
    pub fn removed_variables(&self) -> impl Iterator<Item = &str> {
        self.removed.keys().map(String::as_str)
    }

    /// Redacts the credentials in the output of a command that got these variables.
    pub fn redact(&self, text: &str, variables: &[String]) -> String {
        let mut text = self.guard.redact(text).into_owned();
        // Those that are too short to be recognized everywhere are in this output.
        for name in variables {
            let Some(value) = self.removed.get(name) else { continue };
            for secret in environment_secrets(&[(name.clone(), value.clone())]) {
                if secret.len() >= LEAST_REDACTED {
                    text = text.replace(&secret, &format!("[masked:{name}]"));
                }
            }
        }
        text
    }
}

/// Returns the variables that a sandbox removes, with their values.
fn removed_variables(environment: &Environment) -> BTreeMap<String, String> {
    let all: Vec<(OsString, OsString)> = environment.own_variables().into_iter().collect();
    let left = without_secrets(&all, &[]);
    let left: BTreeSet<&OsString> = left.iter().map(|(name, _)| name).collect();
    let removed = all.iter().filter(|(name, _)| !left.contains(name));
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    removed.map(|(name, value)| (text(name), text(value))).collect()
}
