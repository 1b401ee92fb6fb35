//! What a user without a model is told: the ways to get one.

use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::PromptError;
use pi_models::UnusableModel;

use crate::app::App;

const WAYS: &str = "\
No model can be used yet. Ways to get one:
  /login  signs in to a provider or stores its key; a variable such as ANTHROPIC_API_KEY works, too
  start Ollama, LM Studio, llama.cpp or vLLM on this machine, then choose with /model
  /demo   shows pi at work with a scripted model, without a key";

/// Tells a user without a model how to get one.
pub(crate) fn show(app: &mut App) {
    if app.session.model().is_none() {
        app.transcript.notice(NotifyKind::Warning, WAYS.to_owned(), None);
    }
}

/// Returns the problem of a prompt without a model that can be used, and the commands that help.
pub(crate) fn advice(error: &PromptError) -> Option<(String, String)> {
    let (problem, hint) = match error {
        PromptError::NoModel => (
            "no model is selected".to_owned(),
            "/login adds a key or an account, /model selects a model, /demo needs neither",
        ),
        PromptError::Unusable(UnusableModel::Credentials(_)) => (
            error.to_string(),
            "add a key or an account with /login, or select another with /model",
        ),
        PromptError::Unusable(UnusableModel::Unsupported { .. }) => {
            (error.to_string(), "select another model with /model")
        }
        _ => return None,
    };
    Some((problem, hint.to_owned()))
}
