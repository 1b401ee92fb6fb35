//! The dialogs of `/mcp` on the screen: a list of servers, and what can be done with one.

use pi_coding_agent::extension::Exposure;
use pi_config::mcp::{self, McpFile, Origin, Scope, ServerChange, Transport};

use super::{Session, report};
use crate::state::{ServerState, ServerStatus};

const EXPOSURES: [Exposure; 4] =
    [Exposure::Codemode, Exposure::Deferred, Exposure::Direct, Exposure::Hidden];

/// Something to do with a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    SignIn,
    SignOut,
    Reconnect,
    Tools,
    Exposure,
    /// Enables or disables the server, in its file or for the project.
    Enable(bool),
    EnableHere(bool),
}

impl Action {
    fn label(self) -> &'static str {
        match self {
            Self::SignIn => "Sign in",
            Self::SignOut => "Sign out",
            Self::Reconnect => "Connect again",
            Self::Tools => "Show tools",
            Self::Exposure => "Change exposure",
            Self::Enable(true) => "Enable",
            Self::Enable(false) => "Disable",
            Self::EnableHere(true) => "Enable in this project",
            Self::EnableHere(false) => "Disable in this project",
        }
    }
}

impl Session {
    /// Shows the list until the user leaves it.
    pub(super) async fn manage(&self) {
        loop {
            let states = self.servers.states();
            let sorted = report::sorted(&states);
            let rows: Vec<String> =
                sorted.iter().map(|status| report::row_with_reason(status)).collect();
            let chosen = self.context.ui().select("MCP servers", rows.clone()).await;
            let at = chosen.and_then(|chosen| rows.iter().position(|row| *row == chosen));
            let Some(status) = at.and_then(|at| sorted.get(at)) else { return };
            if !self.manage_server(status).await {
                return;
            }
        }
    }

    /// Shows what can be done with a server, and does it. Returns true if the list is shown again.
    async fn manage_server(&self, status: &ServerStatus) -> bool {
        let actions = self.actions(status);
        let labels = actions.iter().map(|action| action.label());
        let chosen = self.context.ui().select(report::details(status), labels).await;
        let Some(chosen) = chosen else { return true };
        let Some(action) = actions.iter().find(|action| action.label() == chosen) else {
            return true;
        };
        match action {
            Action::SignIn => self.sign_in(status).await,
            Action::SignOut => self.sign_out(status).await,
            Action::Reconnect => self.reconnect(&status.name).await,
            // The list would cover long messages.
            Action::Tools => {
                self.say(report::tools(status));
                return false;
            }
            Action::Exposure => self.change_exposure(status).await,
            Action::Enable(enabled) => self.change(status, &ServerChange::enabled(*enabled), false),
            Action::EnableHere(enabled) => {
                self.change(status, &ServerChange::enabled(*enabled), true);
            }
        }
        true
    }

    fn actions(&self, status: &ServerStatus) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Transport::Http(http) = &status.config.transport
            && http.uses_oauth()
        {
            let is_signed_in = self.servers.auth().is_signed_in(&status.name, http);
            if !is_signed_in || matches!(status.state, ServerState::NeedsSignIn(_)) {
                actions.push(Action::SignIn);
            }
            if is_signed_in {
                actions.push(Action::SignOut);
            }
        }
        let enabled = status.config.enabled;
        if enabled {
            actions.extend([Action::Reconnect, Action::Tools]);
        }
        actions.extend([Action::Exposure, Action::Enable(!enabled)]);
        let is_users = matches!(status.origin, Origin::File { scope: Scope::User, .. });
        if is_users && self.is_project_trusted() {
            actions.push(Action::EnableHere(!enabled));
        }
        actions
    }

    async fn change_exposure(&self, status: &ServerStatus) {
        let now = status.config.exposure.as_str();
        let title = format!("Exposure of the tools of {}, now {now}", status.name);
        let names = EXPOSURES.map(Exposure::as_str);
        let chosen = self.context.ui().select(title, names).await;
        let chosen = EXPOSURES.into_iter().find(|one| chosen.as_deref() == Some(one.as_str()));
        if let Some(exposure) = chosen {
            self.change(status, &ServerChange::exposure(exposure), false);
        }
    }

    /// Changes a server in its file and in this session. Servers of extensions and programs are
    /// changed in this session only.
    fn change(&self, status: &ServerStatus, change: &ServerChange, in_project: bool) {
        let environment = self.servers.environment();
        let name = &status.name;
        if matches!(status.origin, Origin::File { .. }) {
            let loaded = mcp::load(environment, self.is_project_trusted());
            let Some(entry) = loaded.find(name) else {
                return self.warn(format!("{name} is not in the configuration any more"));
            };
            let project = McpFile::new(environment, Scope::Project);
            let (file, changed) = if in_project {
                let changed = project.override_server(name, change);
                (project, changed)
            } else {
                let file = McpFile::of(entry);
                let changed = file.change(name, change);
                (file, changed)
            };
            if let Err(error) = changed {
                return self.warn(error.to_string());
            }
            self.say(format!("{name}: changed in {}", file.path().display()));
        }
        let mut config = status.config.clone();
        config.enabled = change.enabled.unwrap_or(config.enabled);
        config.exposure = change.exposure.unwrap_or(config.exposure);
        self.servers.change_config(name, &config);
    }

    fn is_project_trusted(&self) -> bool {
        self.context.runtime().is_some_and(|runtime| runtime.is_project_trusted())
    }
}
