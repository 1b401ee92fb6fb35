//! Trust in a project, asked of extensions.

use std::sync::Arc;

use pi_config::TrustStore;

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

/// Asks the extensions of the user whether the project is trusted. A decision to remember is
/// recorded.
pub(super) async fn ask_trust(options: &AgentOptions, extensions: &Extensions) -> AskedTrust {
    let environment = options.environment();
    let mut asked = AskedTrust::default();
    if !extensions.registry().is_answered(QuestionKind::ProjectTrust) {
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
