//! The workspace of a session: directory, executor and environment of its tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_config::Settings;
use pi_protocol::Tool;
use pi_session::Session;
use pi_tools::{
    BackgroundProcesses, BashSettings, ConnectOptions, ConnectedExecutor, ExecutorSpec, Host,
    ImageSettings, Workspace, connect,
};

use super::CreateError;
use super::services::Services;
use crate::Environment;
use crate::guard::{Guard, GuardPlan, Walls};

/// Returns the settings of commands, without variables.
pub(super) fn bash_settings(
    settings: &Settings,
    environment: &Environment,
    plan: &GuardPlan,
) -> BashSettings {
    let mut bash = BashSettings::default();
    bash.shell = settings.shell_path.as_ref().map(|p| environment.expand(p, &environment.cwd));
    bash.command_prefix.clone_from(&settings.shell_command_prefix);
    bash.output_directory = Some(environment.temporary());
    bash.max_timeout = plan.longest_command;
    bash
}

impl Services {
    /// Connects to the executor of the tools: in the sandbox, if the session has one.
    pub(super) async fn connect(
        &self,
        settings: &Settings,
        walls: &Walls,
    ) -> Result<ConnectedExecutor, CreateError> {
        let options = &self.options;
        let environment = options.environment();
        let spec = settings.executor.clone();
        let plain = Host::default().with_supervisor(options.tools.supervisor.clone());
        let sandboxed = walls.host()?;
        let wrap = options.tools.wrap_executor.as_ref();
        let wrap = wrap.filter(|_| sandboxed.is_none() && spec == ExecutorSpec::Local);
        let host = match sandboxed {
            // The sandbox is a property of this machine: another one cannot promise it.
            Some(_) if spec != ExecutorSpec::Local => {
                return Err(CreateError::UnsandboxedExecutor(spec));
            }
            Some(sandboxed) => sandboxed,
            None => plain,
        };
        let mut connecting = ConnectOptions::new(host, environment.cwd.clone());
        connecting.home.clone_from(&environment.home);
        connecting.environment = environment.own_variables();
        let mut connected = connect(&spec, connecting).await?;
        if let Some(wrap) = wrap {
            connected.executor = wrap(connected.executor);
        }
        Ok(connected)
    }

    /// Returns the workspace of the tools.
    pub(super) fn workspace(
        &self,
        settings: &Settings,
        log: &Session,
        declared: &[Tool],
        connected: ConnectedExecutor,
        guard: &Arc<Guard>,
    ) -> Workspace {
        let options = &self.options;
        let environment = options.environment();
        let mut bash = bash_settings(settings, environment, guard.plan());
        bash.base_environment = connected.base_environment;
        // Another machine has an environment of its own; ours may contain its secrets.
        bash.environment = match settings.executor.clone() {
            ExecutorSpec::Local => environment.own_variables(),
            _ => BTreeMap::new(),
        };
        bash.environment.insert("AI_AGENT".into(), "pi".into());
        bash.environment.insert("PI_CODING_AGENT".into(), "true".into());
        let mut workspace = Workspace::new(connected.executor, connected.cwd, connected.home)
            .with_bash(bash)
            .with_changed_files(settings.changed_files)
            .with_unreadable(guard.unreadable());
        workspace.set_variables([("PI_SESSION_ID".into(), log.id().into())]);
        if let Some(path) = log.path() {
            workspace.set_variables([("PI_SESSION_FILE".into(), path.into())]);
        }
        if options
            .tools
            .selection
            .requests_any(settings, declared, |builtin| builtin.needs_background)
        {
            workspace = workspace.with_background(Arc::new(BackgroundProcesses::default()));
        }
        if !settings.images.auto_resize {
            let mut images = ImageSettings::default();
            images.resize = None;
            workspace.set_image_settings(images);
        }
        workspace
    }
}
