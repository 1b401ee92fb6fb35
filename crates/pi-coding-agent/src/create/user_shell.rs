//! A shell for commands that the user configured and no model wrote, such as the checks of a task.
//!
//! It has a sandbox of its own, without the processes, the private `/tmp` and the approvals of any
//! session.

use std::path::Path;
use std::sync::Arc;

use pi_protocol::CancelToken;
use pi_tools::{CommandResult, ExecutorSpec, Host, Workspace};
use tokio::sync::mpsc::Sender;

use super::guarding::guard_of;
use super::room::Room;
use super::trace::{Trace, Tracing};
use super::workspace::bash_settings;
use super::{AgentOptions, CreateError};
use crate::guard::{Guard, GuardPlan, describe_refused};
use crate::session::BashError;

/// Bytes of the output of a command that are saved. All of it is redacted and searched.
const SAVED_OUTPUT: u64 = 4 * 1024 * 1024;

/// A shell for commands that the user configured.
#[derive(Debug)]
pub struct UserShell {
    guard: Arc<Guard>,
    workspace: Arc<Workspace>,
    tracing: Tracing,
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
        Ok(Self { guard, workspace: Arc::new(workspace), tracing })
    }

    /// Runs a command until it ends or is canceled; all its processes end with it. The result is
    /// redacted, the chunks are not.
    pub async fn run(
        &self,
        command: &str,
        cancel: &CancelToken,
        chunks: Sender<String>,
    ) -> Result<CommandResult, BashError> {
        self.guard.check_user_command(command).map_err(BashError::Failed)?;
        let workspace = self.guard.user_workspace(&self.workspace, command);
        let ended = pi_tools::run_command(&workspace, command, cancel, chunks).await;
        let mut ended = ended.map_err(|error| BashError::Failed(error.message().to_owned()))?;
        ended.output = self.guard.redact(&ended.output).into_owned();
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

    /// Redacts the credentials in a text.
    pub fn redact(&self, text: &str) -> String {
        self.guard.redact(text).into_owned()
    }
}
