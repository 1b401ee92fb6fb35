//! `/tree`: shows all branches of the session and moves between them.

use pi_coding_agent::session::Navigation;
use pi_host::undo::{RewindPlan, RewindScope, plan_rewind};

use super::undo;
use crate::app::App;
use crate::app::clipboard;
use crate::panels::entry::Entry;
use crate::panels::question::Question;
use crate::panels::tree::{Answer, TreePanel};
use crate::panels::undo::UndoPanel;

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
        Answer::Go { entry } => plan(app, entry),
        Answer::Stay => app.status("The session is at this entry already"),
        Answer::Copy(text) => clipboard::copy(app, &text),
        Answer::Label { entry, label } => {
            if let Err(error) = app.session.set_label(&entry, label.as_deref()) {
                app.error(error.to_string());
            }
        }
    });
}

/// Looks for file changes of the messages that are left, and asks about them.
fn plan(app: &mut App, entry: String) {
    let (session, store) = (app.session.clone(), undo::store(app));
    let work = move || plan_rewind(&session, &store, &entry).map_err(|error| (entry, error));
    app.tasks.spawn_blocking(work, |app, planned| match planned {
        Ok(plan) => match &plan.files {
            None => ask_for_summary(app, plan, RewindScope::Conversation),
            Some(preview) => {
                let panel = UndoPanel::leave(preview, &app.keymap);
                app.panels.open_then(panel, move |app, scope| match scope {
                    RewindScope::Files => {
                        undo::rewind(app, plan.clone(), scope, Navigation::default());
                    }
                    scope => ask_for_summary(app, plan.clone(), scope),
                });
            }
        },
        // The conversation can move without its files.
        Err((entry, error)) => {
            app.warning(format!("The files cannot be restored: {error}"));
            ask_for_summary(app, RewindPlan::conversation(entry), RewindScope::Conversation);
        }
    });
}

fn ask_for_summary(app: &mut App, plan: RewindPlan, scope: RewindScope) {
    if app.settings.settings().branch_summary.skip_prompt {
        return undo::rewind(app, plan, scope, Navigation::default());
    }
    let answers = vec![
        (Some(Summary::No), "No summary"),
        (Some(Summary::Standard), "Summarize"),
        (Some(Summary::OwnInstructions), "Summarize with custom prompt"),
    ];
    let title = "Summarize the branch that you leave?";
    let question = Question::with_answers(title, "", answers, None, &app.keymap);
    app.panels.open_then(question, move |app, answer| {
        let plan = plan.clone();
        let navigation = Navigation::default();
        match answer {
            // Back to the tree, so that another entry can be selected.
            None => open(app, plan.entry.as_deref()),
            Some(Summary::No) => undo::rewind(app, plan, scope, navigation),
            Some(Summary::Standard) => undo::rewind(app, plan, scope, navigation.summarize(true)),
            Some(Summary::OwnInstructions) => ask_for_instructions(app, plan, scope),
        }
    });
}

fn ask_for_instructions(app: &mut App, plan: RewindPlan, scope: RewindScope) {
    let question = Entry::new("Instructions for the summary", &app.keymap);
    app.panels.open_then(question, move |app, instructions| {
        let instructions = Some(instructions.trim().to_owned()).filter(|text| !text.is_empty());
        let navigation = Navigation::default().summarize(true).instructions(instructions);
        undo::rewind(app, plan.clone(), scope, navigation);
    });
}
