//! The workspace of a session: directory, executor and environment of its tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_session::Session;
use pi_tools::{BashSettings, Host, ImageSettings, Workspace};

use super::CreateError;
use super::services::Services;
use crate::config::Settings;
use crate::guard::Guard;

/// Variables about a session, which an agent inside of another must not inherit.
const OWN_VARIABLES: &[&str] =
    &["PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"];

impl Services {
    pub(super) async fn workspace(
        &self,
        settings: &Settings,
        log: &Session,
        guard: &Arc<Guard>,
    ) -> Result<Workspace, CreateError> {
        let options = &self.options;
        let environment = &options.environment;
        let mut variables: BTreeMap<_, _> = environment
            .variables
            .iter()
            .filter(|(name, _)| !OWN_VARIABLES.contains(&name.as_str()))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        variables.insert("AI_AGENT".into(), "pi".into());
        variables.insert("PI_CODING_AGENT".into(), "true".into());
        variables.insert("PI_SESSION_ID".into(), log.id().into());
        if let Some(path) = log.path() {
            variables.insert("PI_SESSION_FILE".into(), path.into());
        }
        let mut bash = BashSettings::default();
        bash.shell = settings.shell_path.as_ref().map(|p| environment.expand(p, &environment.cwd));
        bash.command_prefix.clone_from(&settings.shell_command_prefix);
        bash.environment = variables;
        bash.output_directory = Some(environment.temporary());
        let plain = || Host::default().with_supervisor(options.supervisor.clone());
        let host = guard.host()?.unwrap_or_else(plain);
        let workspace =
            Workspace::new(Arc::new(host), environment.cwd.clone(), environment.home.clone());
        let workspace = workspace
            .with_bash(bash)
            .with_unreadable(guard.unreadable())
            .with_changed_files(settings.changed_files());
        if !settings.auto_resize_images() {
            let mut images = ImageSettings::default();
            images.resize = None;
            workspace.set_image_settings(images);
        }
        Ok(workspace)
    }
}
