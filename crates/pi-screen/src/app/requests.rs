//! Requests of extensions and the guard to the screen.

use std::time::{Duration, Instant};

use pi_coding_agent::extension::{NotifyKind, UiUpdate};
use tokio::sync::oneshot;

use crate::app::App;
use crate::app::actions;
use crate::app::completion;
use crate::app::mounts;
use crate::app::notify;
use crate::panel::Panel;
use crate::panels::approval::ApprovalPanel;
use crate::panels::dialog::DialogPanel;
use crate::tasks::until;
use crate::ui::UiRequest;
use crate::widgets::Widget;

/// Attempts to get completions from a source that works in the background.
const SUGGESTION_TRIES: usize = 20;

/// Carries out a request.
pub(crate) fn apply(app: &mut App, request: UiRequest) {
    match request {
        UiRequest::Update(update) => self::update(app, update),
        UiRequest::SelectTheme(name) => {
            if let Err(error) = app.themes.select(&name) {
                app.error(error);
            }
        }
        UiRequest::Dialog { dialog, timeout, answer } => {
            notify::blocked(app, dialog.title());
            let (reply, chosen) = oneshot::channel();
            let panel = DialogPanel::new(dialog, timeout, reply, &app.keymap);
            show(app, panel, chosen, answer, timeout, None);
        }
        UiRequest::Approve { request, answer } => {
            notify::blocked(app, "An action needs your approval");
            let (reply, chosen) = oneshot::channel();
            let call = request.tool_call_id.clone();
            app.transcript.call_waits(&call, true);
            let panel = ApprovalPanel::new(*request, reply, &app.keymap);
            show(app, panel, chosen, answer, None, Some(call));
        }
        UiRequest::Custom { factory, options, answer } => {
            mounts::custom(app, factory, &options, answer);
        }
        UiRequest::Mount { slot, factory } => mounts::mount(app, slot, factory),
        UiRequest::Redraw => app.transcript.blocks().touch_all(),
        UiRequest::RedrawRendered => app.transcript.redraw_rendered(),
        UiRequest::Suspend(confirm) => {
            app.display.pause();
            // The caller may be gone.
            let _ = confirm.send(());
        }
        UiRequest::Resume => app.display.resume(),
        UiRequest::Complete { request, answer } => {
            completion::suggest(app, request, answer, SUGGESTION_TRIES);
        }
        UiRequest::AddCompletions(provider) => app.completions.add_provider(provider),
    }
}

/// Shows a panel until it is answered, its time is over, or no one waits for the answer. `call` is the
/// tool call that it is about.
fn show<T: 'static>(
    app: &mut App,
    panel: impl Panel + 'static,
    chosen: oneshot::Receiver<Option<T>>,
    mut answer: oneshot::Sender<Option<T>>,
    timeout: Option<Duration>,
    call: Option<String>,
) {
    let id = app.panels.open(panel);
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let wait = async move {
        tokio::select! {
            biased;
            // The caller may be gone; then there is no one to tell.
            chosen = chosen => drop(answer.send(chosen.ok().flatten())),
            () = answer.closed() => {}
            () = until(end) => {}
        }
    };
    app.tasks.spawn(wait, move |app, ()| {
        app.panels.close(id);
        if let Some(call) = call {
            app.transcript.call_waits(&call, false);
        }
    });
}

fn update(app: &mut App, update: UiUpdate) {
    match update {
        UiUpdate::Notify { message, kind } => match kind {
            None | Some(NotifyKind::Info) => app.status(message),
            Some(kind) => app.transcript.notice(kind, message, None),
        },
        UiUpdate::SetStatus { key, text } => {
            match text {
                Some(text) => app.footer.statuses.insert(key, text),
                None => app.footer.statuses.remove(&key),
            };
        }
        UiUpdate::SetWidget { key, lines, placement } => {
            app.widgets.set(key, lines.map(Widget::Lines), placement.unwrap_or_default());
        }
        UiUpdate::SetTitle { title } => app.display.set_title_text(&title),
        UiUpdate::SetEditorText { text } => app.editor.set_text(&text),
        UiUpdate::PasteToEditor { text } => app.editor.insert(&text),
        UiUpdate::SetWorkingMessage { message } => app.activity.message = message,
        UiUpdate::SetWorkingVisible { visible } => app.activity.is_hidden = !visible,
        UiUpdate::SetWorkingIndicator { frames, interval_ms } => {
            app.activity.frames = frames;
            app.activity.interval = interval_ms.map(Duration::from_millis);
        }
        UiUpdate::SetHiddenThinkingLabel { label } => {
            app.transcript.set_hidden_thinking_label(label);
        }
        UiUpdate::SetToolsExpanded { expanded } => {
            actions::set_expanded(app, expanded);
        }
        UiUpdate::AddThemes { paths } => app.themes.add(&paths),
        UiUpdate::Reset => reset(app),
        _ => {}
    }
}

/// Removes everything that extensions have put on the screen.
fn reset(app: &mut App) {
    app.footer.statuses.clear();
    app.widgets = Default::default();
    app.activity.message = None;
    app.activity.frames = None;
    app.activity.interval = None;
    app.activity.is_hidden = false;
    app.transcript.set_hidden_thinking_label(None);
    app.completions.forget_added();
    app.themes.forget_added();
    mounts::reset(app);
}
