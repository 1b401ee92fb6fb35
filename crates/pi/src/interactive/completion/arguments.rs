//! Arguments of the commands of the screen.

use pi_ai::providers::{PROVIDERS, ProviderInfo};
use pi_coding_agent::session::AgentSession;
use pi_tui::completion::Completion;
use pi_tui::fuzzy;

/// Returns the arguments of a command that match a text, best first; `None` if the command has no
/// arguments to choose from.
pub(super) fn of(command: &str, text: &str, session: &AgentSession) -> Option<Vec<Completion>> {
    let items = match command {
        "model" => models(session),
        "thinking" => thinking_levels(session),
        "login" => providers(),
        _ => return None,
    };
    Some(matching(text, &items))
}

fn models(session: &AgentSession) -> Vec<Completion> {
    let models = session.available_models();
    let item = |model: &pi_ai::Model| {
        Completion::new(model.id.as_str(), format!("{}/{}", model.provider, model.id))
            .described(model.provider.as_str())
    };
    models.iter().map(|model| item(model)).collect()
}

/// Returns the providers that take a key.
fn providers() -> Vec<Completion> {
    let with_key = PROVIDERS.iter().filter(|provider| !provider.key_env.is_empty());
    let item = |provider: &ProviderInfo| {
        Completion::new(provider.id, provider.id).described(format!("{} · API key", provider.name))
    };
    with_key.map(item).collect()
}

fn thinking_levels(session: &AgentSession) -> Vec<Completion> {
    let levels = session.thinking_levels();
    levels.iter().map(|level| Completion::new(level.as_str(), level.as_str())).collect()
}

/// Returns the items whose name or value matches, best first.
pub(super) fn matching(text: &str, items: &[Completion]) -> Vec<Completion> {
    let found = fuzzy::filter(text, items, |item| match &item.description {
        Some(description) => format!("{} {description}", item.insert),
        None => item.insert.clone(),
    });
    found.into_iter().filter_map(|index| items.get(index).cloned()).collect()
}
