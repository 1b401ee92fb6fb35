//! `/help [topic]`: commands, the most important keys and topics, or a page of the documentation.

use pi_config::suggest;
use pi_tui::input::Keymap;

use crate::app::App;
use crate::app::commands;
use crate::document::Document;
use crate::report::{Item, Report};

/// The topics that help first, each with its content.
const TOPICS: [(&str, &str); 5] = [
    ("getting-started", "The first sessions"),
    ("screen", "Everything on this screen"),
    ("models", "Models, keys and models.json"),
    ("guard", "Approvals, rules and the sandbox"),
    ("troubleshooting", "Problems and what to do about them"),
];

/// The actions whose keys are listed.
const KEYS: &[(&str, &str)] = &[
    ("tui.input.submit", "Sends the message; during a run, steers it"),
    ("tui.input.newLine", "Begins a new line"),
    ("app.interrupt", "Stops what is running"),
    ("app.message.followUp", "Queues a message for the end of the run"),
    ("app.history.search", "Searches the prompts of all sessions"),
    ("app.tools.expand", "Shows tool output whole, or its end"),
    ("app.model.select", "Selects a model"),
    ("app.thinking.cycle", "Changes the thinking level"),
    ("app.clear", "Stops what is running, or clears the editor; twice, leaves"),
];

pub(super) fn run(app: &mut App, topic: &str) {
    if topic.is_empty() {
        let items = overview(app);
        app.transcript.push(Box::new(Report::new(items)));
        return;
    }
    match (app.program.help_topic)(topic) {
        Some(page) => drop(app.transcript.push(Box::new(Document::new(page)))),
        None => {
            let near = suggest::nearest(topic, (app.program.help_topics)().into_iter());
            let near = near.map(|near| format!("; did you mean /help {near}?"));
            let text = format!("There is no topic `{topic}`{}", near.unwrap_or_default());
            app.error_with_hint(text, Some("/help lists the topics".to_owned()));
        }
    }
}

fn overview(app: &App) -> Vec<Item> {
    let mut items = vec![Item::Heading("Commands".to_owned())];
    items.extend(commands::of(&app.session).map(|command| {
        let arguments = command.arguments.map(|it| format!(" {it}")).unwrap_or_default();
        Item::Row(format!("/{}{arguments}", command.name), command.description.to_owned())
    }));
    let others = app.session.commands().len();
    if others > 0 {
        let text =
            format!("Extensions, templates and skills have {others} more; type / to see them.");
        items.push(Item::Note(text));
    }
    items.extend([Item::Gap, Item::Heading("Keys".to_owned())]);
    items.extend(keys(&app.keymap));
    items.push(Item::Note("/hotkeys lists all keys.".to_owned()));
    items.extend([Item::Gap, Item::Heading("Topics".to_owned())]);
    let topic =
        |(name, about): &(&str, &str)| Item::Row(format!("/help {name}"), (*about).to_owned());
    items.extend(TOPICS.iter().map(topic));
    let mut others = (app.program.help_topics)();
    others.retain(|other| TOPICS.iter().all(|(name, _)| name != other));
    items.push(Item::Note(format!("More topics: {}", others.join(", "))));
    items
}

fn keys(keymap: &Keymap) -> impl Iterator<Item = Item> {
    let typed = [("!", "Runs a shell command"), ("@", "Names a file")];
    let typed = typed.map(|(key, meaning)| (key.to_owned(), meaning));
    let bound = KEYS.iter().map(|(action, meaning)| (keymap.label(action), *meaning));
    let keys = bound.filter(|(key, _)| !key.is_empty()).chain(typed);
    keys.map(|(key, meaning)| Item::Row(key, meaning.to_owned()))
}
