//! Trust in a project: asked of extensions, then decided with flags, decisions and settings.

use std::sync::Arc;

use pi_config::{Settings, SettingsStore, Trust, TrustQuestion, TrustStore, needs_trust};

use super::AgentOptions;
use crate::Diagnostic;
use crate::extension::{
    ExtensionContext, ExtensionFailure, Extensions, Handles, ProjectTrust, QuestionKind,
    TrustDecision,
};

/// Decision of extensions about a project.
#[derive(Debug, Default)]
pub(super) struct AskedTrust {
    pub(super) trusted: Option<bool>,
    pub(super) problems: Vec<Diagnostic>,
}

/// Asks the extensions of the user whether the project is trusted, if that is a question. A
/// decision to remember is recorded.
pub(super) async fn ask_trust(options: &AgentOptions, extensions: &Extensions) -> AskedTrust {
    let environment = &options.environment;
    let mut asked = AskedTrust::default();
    if !extensions.registry().is_answered(QuestionKind::ProjectTrust) || !is_open(options) {
        return asked;
    }
    let context = ExtensionContext::new(
        Handles::default(),
        None,
        extensions.registry(),
        Arc::clone(&options.ui),
        options.mode,
    );
    let answered = extensions.ask(ProjectTrust::new(environment.cwd.clone()), &context).await;
    asked.problems.extend(answered.failures.iter().map(ExtensionFailure::diagnostic));
    let (trusted, remember) = match answered.answer.unwrap_or_default() {
        TrustDecision::Undecided => return asked,
        TrustDecision::Trusted { remember } => (true, remember),
        TrustDecision::Untrusted { remember } => (false, remember),
    };
    asked.trusted = Some(trusted);
    if remember {
        let store = TrustStore::new(&environment.agent_directory);
        if let Err(error) = store.record(&environment.cwd, Some(trusted)) {
            asked.problems.push(error.diagnostic());
        }
    }
    asked
}

/// Returns true if trust in the project is a question.
pub(super) fn is_open(options: &AgentOptions) -> bool {
    let environment = &options.environment;
    options.approve.is_none() && needs_trust(&environment.cwd, environment.home.as_deref())
}

/// Loads the settings of the user, and those of the project if it is trusted. Returns them with the
/// decision about the project. `extension` is the decision of an extension.
pub fn load_settings(
    options: &AgentOptions,
    extension: Option<bool>,
    problems: &mut Vec<Diagnostic>,
) -> (SettingsStore, Trust) {
    let mut settings = SettingsStore::load(&options.environment, false);
    settings.set_overrides(options.settings.clone());
    let trust = decide(options, extension, settings.settings(), problems);
    // A question that no one is asked is answered with no.
    settings.set_trusted(trust == Trust::Trusted);
    (settings, trust)
}

fn decide(
    options: &AgentOptions,
    extension: Option<bool>,
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) -> Trust {
    let environment = &options.environment;
    let saved = TrustStore::new(&environment.agent_directory).find(&environment.cwd);
    let saved = saved.unwrap_or_else(|error| {
        problems.push(error.diagnostic());
        None
    });
    let question = TrustQuestion {
        flag: options.approve,
        needed: needs_trust(&environment.cwd, environment.home.as_deref()),
        extension,
        saved: saved.map(|entry| entry.trusted),
        default: settings.default_project_trust,
    };
    question.decide()
}
