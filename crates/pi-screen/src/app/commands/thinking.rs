//! `/thinking [level]`: sets the thinking level, or opens the selector.

use pi_ai::ThinkingLevel;
use pi_coding_agent::session::Persistence;

use crate::app::App;
use crate::panels::thinking::{Answer, ThinkingPanel};

pub(super) fn run(app: &mut App, argument: &str) {
    let levels = app.session.thinking_levels();
    if argument.is_empty() {
        if levels.len() < 2 {
            return app.status("The model has no thinking levels");
        }
        app.settings.reload();
        let default = app.settings.settings().default_thinking_level();
        let current = app.session.thinking_level();
        let panel = ThinkingPanel::new(levels, current, default, &app.keymap);
        app.panels.open_then(panel, |app, Answer { level, as_default }| {
            set(app, level, if as_default { Persistence::Default } else { Persistence::Session });
        });
        return;
    }
    match levels.iter().find(|level| level.as_str() == argument.to_lowercase()) {
        Some(level) => set(app, *level, Persistence::Session),
        None => {
            let names: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
            let names = names.join(", ");
            app.error(format!("the model has no thinking level `{argument}`; it has: {names}"));
        }
    }
}

fn set(app: &mut App, level: ThinkingLevel, persistence: Persistence) {
    let session = app.session.clone();
    let changed = async move { session.set_thinking_level(level, persistence).await };
    app.tasks.spawn(changed, move |app, result| {
        let level = app.session.thinking_level();
        match (result, persistence) {
            (Ok(()), Persistence::Session) => {
                app.status(format!("Thinking level: {}", level.as_str()));
            }
            (Ok(()), Persistence::Default) => {
                app.status(format!("Thinking level: {} (default)", level.as_str()));
            }
            (Err(error), _) => app.error(error.to_string()),
        }
        app.footer.refresh(&app.session);
    });
}
