//! Servers that are programs: started through the supervisor, in the sandbox if the session has one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_config::Environment;
use pi_config::mcp::Launch;
use pi_mcp::transport::Stdio;
use pi_tools::{Command, Executor as _, Host, ProcessTree};
use tokio::task::JoinHandle;

use crate::log::ServerLog;

/// Time for a server to end after its input was closed, and then after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

/// The process of a server. Dropping it kills the server and everything it started.
pub(crate) struct ServerProcess {
    exit: BoxFuture<'static, std::io::Result<Option<i32>>>,
    tree: ProcessTree,
    /// Reads standard error until all processes have closed it.
    errors: JoinHandle<()>,
}

/// Starts the program of a server. Its standard error goes to the log.
pub(crate) async fn start(
    launch: &Launch,
    host: &Host,
    environment: &Environment,
    log: &Arc<ServerLog>,
) -> Result<(Stdio, ServerProcess), String> {
    if !launch.cwd.is_dir() {
        return Err(format!("the directory {} does not exist", launch.cwd.display()));
    }
    let variables = inherited(environment);
    let own_path = launch.env.iter().find(|(name, _)| name == "PATH");
    let path = own_path.map(|(_, value)| OsString::from(value));
    let path = path.as_ref().or_else(|| variables.get(&OsString::from("PATH")));
    let path = path.map(OsString::as_os_str);
    let program = pi_fs::find_program(&launch.command, Some(&launch.cwd), path)
        .ok_or_else(|| format!("the program \"{}\" was not found", launch.command))?;
    // The user wrote the variables of the server into its configuration, secrets included.
    let given = launch.env.iter().map(|(name, value)| (name, value));
    let command = Command::new(&program, &launch.cwd).arguments(&launch.args);
    let command = command.environment(variables.clone()).given(given);
    let started = host.spawn_piped(&command).await;
    let process = started.map_err(|error| format!("it cannot be started: {error}"))?;
    let (errors, log) = (process.stderr, Arc::clone(log));
    let errors = tokio::spawn(async move { log.read(errors).await });
    let stdio = Stdio::new(process.stdout, process.stdin);
    Ok((stdio, ServerProcess { exit: process.exit, tree: process.tree, errors }))
}

impl ServerProcess {
    /// Ends the server after its input was closed: waits for a moment, asks its processes to exit,
    /// waits again, and kills what is left.
    pub(crate) async fn end(mut self) {
        if tokio::time::timeout(GRACE, &mut self.exit).await.is_err() {
            self.tree.terminate();
            let _ = tokio::time::timeout(AFTER_SIGNAL, &mut self.exit).await;
        }
        self.tree.kill().await;
        // The last messages explain a failure.
        let _ = tokio::time::timeout(GRACE, self.errors).await;
    }
}

pi_protocol::debug_fields!(ServerProcess);

/// Returns the variables of the process without those about a session.
fn inherited(environment: &Environment) -> BTreeMap<OsString, OsString> {
    environment.own_variables()
}
