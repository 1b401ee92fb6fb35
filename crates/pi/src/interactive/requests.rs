//! What extensions and the guard request of the screen.

use pi_coding_agent::extension::UiUpdate;

use super::actions;
use super::app::App;
use super::ui::UiRequest;
use super::widgets::Widget;

/// Carries out a request.
pub(super) fn apply(app: &mut App, request: UiRequest) {
    match request {
        UiRequest::Update(update) => self::update(app, update),
        UiRequest::SelectTheme(name) => {
            if let Err(error) = app.themes.select(&name) {
                app.error(error);
            }
        }
        UiRequest::Dialog { answer, .. } => drop(answer),
        UiRequest::Custom { answer, .. } => drop(answer),
        UiRequest::Redraw => app.transcript.blocks().touch_all(),
        UiRequest::Mount { .. } | UiRequest::AddCompletions(_) => {}
    }
}

fn update(app: &mut App, update: UiUpdate) {
    match update {
        UiUpdate::Notify { message, kind } => app.transcript.notice(kind, message, None),
        UiUpdate::SetStatus { key, text } => {
            match text {
                Some(text) => app.footer.statuses.insert(key, text),
                None => app.footer.statuses.remove(&key),
            };
        }
        UiUpdate::SetWidget { key, lines, placement } => {
            app.widgets.set(key, lines.map(Widget::Lines), placement);
        }
        UiUpdate::SetTitle { title } => app.display.set_title_text(&title),
        UiUpdate::SetEditorText { text } => app.editor.set_text(&text),
        UiUpdate::PasteToEditor { text } => app.editor.insert(&text),
        UiUpdate::SetWorkingMessage { message } => app.activity.message = message,
        UiUpdate::SetWorkingVisible { visible } => app.activity.is_hidden = !visible,
        UiUpdate::SetWorkingIndicator { frames } => app.activity.frames = frames,
        UiUpdate::SetHiddenThinkingLabel { label } => {
            app.transcript.set_hidden_thinking_label(label);
        }
        UiUpdate::SetToolsExpanded { expanded } => {
            actions::set_expanded(app, expanded);
        }
        _ => {}
    }
}
