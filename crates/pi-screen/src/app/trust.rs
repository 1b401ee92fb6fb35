//! Trust in the project: asked before the session exists, and changed later.

use std::path::PathBuf;

use pi_coding_agent::{AgentOptions, Environment};
use pi_config::{ConfigError, TrustStore, files_that_need_trust};

use crate::app::App;
use crate::keys;
use crate::panels::trust::{self, Decision};
use crate::preferences::Preferences;
use crate::prelude::Prelude;
use pi_protocol::Outcome;

/// What the user is told after the question.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The decision could not be stored and applies to this run only.
    pub(crate) problem: Option<String>,
    /// The consequence of no answer.
    pub(crate) consequence: Option<String>,
}

/// Asks whether the project is trusted and applies the decision to the options. Without an answer,
/// the project is not trusted in this run.
pub(crate) async fn ask(
    prelude: &mut Prelude,
    preferences: &Preferences,
    options: &mut AgentOptions,
) -> Result<Told, Outcome> {
    let environment = options.environment().clone();
    let (keymap, _) = keys::load(&environment);
    let files = files_that_need_trust(&environment.cwd, environment.home.as_deref());
    let mut panel = trust::before_start(&environment.cwd, &files, &keymap);
    let decision = prelude.ask(&environment, preferences, &keymap, &mut panel).await?;
    let consequence = decision.is_none().then(|| {
        let (count, verb) = match files.len() {
            1 => ("1 item".to_owned(), "is"),
            count => (format!("{count} items"), "are"),
        };
        format!(
            "The project is not trusted in this session: {count} of it {verb} not used. \
             Use /trust to change that"
        )
    });
    let decision = decision.unwrap_or(Decision::Once { is_trusted: false });
    let stored = store(&environment, &decision);
    match decision {
        Decision::Store { is_trusted, .. } if stored.is_err() => {
            options.project.set_approval(Some(is_trusted));
        }
        Decision::Once { is_trusted } => options.project.set_approval(Some(is_trusted)),
        Decision::Store { .. } | Decision::Forget { .. } => {
            options.project = options.project.reopened();
        }
    }
    let problem =
        stored.err().map(|error| format!("the decision about trust was not stored: {error}"));
    Ok(Told { problem, consequence })
}

fn store(environment: &Environment, decision: &Decision) -> Result<(), ConfigError> {
    let store = TrustStore::new(&environment.agent_directory);
    match decision {
        Decision::Store { directory, is_trusted } => store.record(directory, Some(*is_trusted)),
        Decision::Forget { directory } => store.record(directory, None),
        Decision::Once { .. } => Ok(()),
    }
}

/// Shows the decision about the project and lets the user change it.
pub(crate) fn change(app: &mut App) {
    let directory = app.session.workspace().cwd().to_owned();
    let stored = match TrustStore::new(&app.environment.agent_directory).find(&directory) {
        Ok(stored) => stored.map(|entry| (entry.path, entry.trusted)),
        Err(error) => return app.error(error.to_string()),
    };
    let is_trusted = app.settings.is_trusted();
    let directory: PathBuf = directory.canonicalize().unwrap_or(directory);
    let home = app.environment.home.as_deref();
    let is_trusted = (!files_that_need_trust(&directory, home).is_empty()).then_some(is_trusted);
    let panel = trust::change(&directory, is_trusted, stored.as_ref(), &app.keymap);
    app.panels.open_then(panel, |app, decision| match store(&app.environment, &decision) {
        Ok(()) => app.status("The decision is stored and applies when pi starts again"),
        Err(error) => app.error(format!("the decision was not stored: {error}")),
    });
}
