//! What a user without a model is told: the ways to get one.

use pi_coding_agent::extension::NotifyKind;

use crate::app::App;

const WAYS: &str = "\
No model can be used yet. Ways to get one:
  /login  stores an API key; a variable such as ANTHROPIC_API_KEY works, too
  start Ollama, LM Studio, llama.cpp or vLLM on this machine, then choose with /model
  /demo   shows pi at work with a scripted model, without a key";

/// Tells a user without a model how to get one.
pub(crate) fn show(app: &mut App) {
    if app.session.model().is_none() {
        app.transcript.notice(NotifyKind::Warning, WAYS.to_owned(), None);
    }
}
