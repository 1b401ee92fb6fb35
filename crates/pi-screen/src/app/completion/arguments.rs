//! Arguments of the commands of the screen.

use pi_coding_agent::session::AgentSession;
use pi_tui::completion::Completion;
use pi_tui::fuzzy;

use pi_host::credentials::forms::display_name;

/// Returns the arguments of a command that match a text, best first; `None` if the command has no
/// arguments to choose from.
pub(super) fn of(command: &str, text: &str, session: &AgentSession) -> Option<Vec<Completion>> {
    let items = match command {
        "model" => models(session),
        "thinking" => thinking_levels(session),
        "login" => providers(session),
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

/// Returns the providers with the ways to sign in.
fn providers(session: &AgentSession) -> Vec<Completion> {
    let Some(registry) = session.models() else { return Vec::new() };
    let models = registry.models();
    let item = |id: &str| {
        let choices = registry.login_methods(id);
        let mut kinds: Vec<&str> = choices.iter().map(|choice| choice.kind.as_str()).collect();
        kinds.dedup();
        if kinds.is_empty() {
            return None;
        }
        let description = format!("{} · {}", display_name(id), kinds.join("/"));
        Some(Completion::new(id, id).described(description))
    };
    let mut items: Vec<Completion> = models.providers().filter_map(item).collect();
    items.sort_by(|a, b| a.insert.cmp(&b.insert));
    items
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
