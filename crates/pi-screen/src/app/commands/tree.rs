//! `/tree`: shows all branches of the session and moves between them.

use std::time::Instant;

use pi_coding_agent::session::Navigation;

use crate::activity::Work;
use crate::app::App;
use crate::app::clipboard;
use crate::panels::entry::Entry;
use crate::panels::question::Question;
use crate::panels::tree::{Answer, TreePanel};

/// Treatment of the branch that is left.
#[derive(Clone, Copy)]
enum Summary {
    No,
    Standard,
    OwnInstructions,
}

pub(super) fn run(app: &mut App, _argument: &str) {
    open(app, None);
}

/// Shows the tree with an entry selected; by default the current one.
fn open(app: &mut App, at: Option<&str>) {
    let panel = TreePanel::new(&app.session, app.preferences.tree_filter.as_str(), at, &app.keymap);
    let panel = match panel {
        Ok(panel) if panel.is_empty() => return app.status("The session has no entries yet"),
        Ok(panel) => panel,
        Err(error) => return app.error(error.to_string()),
    };
    app.panels.open_then(panel, |app, answer| match answer {
        Answer::Go { entry } if app.settings.settings().branch_summary.skip_prompt => {
            navigate(app, entry, Navigation::default());
        }
        Answer::Go { entry } => ask_for_summary(app, entry),
        Answer::Stay => app.status("The session is at this entry already"),
        Answer::Copy(text) => clipboard::copy(app, &text),
        Answer::Label { entry, label } => {
            if let Err(error) = app.session.set_label(&entry, label.as_deref()) {
                app.error(error.to_string());
            }
        }
    });
}

fn ask_for_summary(app: &mut App, entry: String) {
    let answers = vec![
        (Some(Summary::No), "No summary"),
        (Some(Summary::Standard), "Summarize"),
        (Some(Summary::OwnInstructions), "Summarize with custom prompt"),
    ];
    let title = "Summarize the branch that you leave?";
    let question = Question::with_answers(title, "", answers, None, &app.keymap);
    app.panels.open_then(question, move |app, answer| {
        let entry = entry.clone();
        match answer {
            // Back to the tree, so that another entry can be selected.
            None => open(app, Some(&entry)),
            Some(Summary::No) => navigate(app, entry, Navigation::default()),
            Some(Summary::Standard) => navigate(app, entry, Navigation::default().summarize(true)),
            Some(Summary::OwnInstructions) => ask_for_instructions(app, entry),
        }
    });
}

fn ask_for_instructions(app: &mut App, entry: String) {
    let question = Entry::new("Instructions for the summary", &app.keymap);
    app.panels.open_then(question, move |app, instructions| {
        let instructions = Some(instructions.trim().to_owned()).filter(|text| !text.is_empty());
        let navigation = Navigation::default().summarize(true).instructions(instructions);
        navigate(app, entry.clone(), navigation);
    });
}

/// Moves to an entry. The events of the session rebuild the transcript.
fn navigate(app: &mut App, entry: String, navigation: Navigation) {
    let summarizes = navigation.summarize;
    if summarizes {
        app.activity.set(Work::Summarizing, Instant::now());
    }
    let session = app.session.clone();
    let moved = async move { session.navigate(&entry, navigation).await };
    app.tasks.spawn(moved, move |app, result| {
        if summarizes {
            app.activity.set(Work::Idle, Instant::now());
        }
        match result {
            Ok(moved) if moved.cancelled && summarizes => {
                app.status("Summary cancelled; the session stays where it was");
            }
            Ok(moved) if moved.cancelled => {
                app.status("An extension kept the session where it was");
            }
            Ok(moved) => {
                if let Some(text) = moved.text
                    && app.editor.is_empty()
                {
                    app.editor.set_text(&text);
                }
                app.footer.refresh(&app.session);
                app.status("Navigated to the selected entry");
            }
            Err(error) => app.error(error.to_string()),
        }
    });
}
