//! The way of a text from the editor to the session: commands, shell commands, prompts, queues.

use pi_coding_agent::session::{BashOptions, PromptOptions, StreamingBehavior};

use pi_ai::ImageContent;

use crate::activity::Work;
use crate::app::App;
use crate::app::commands;

/// Submits the text of the editor. While the session works, it steers.
pub(crate) fn submit(app: &mut App, text: String) {
    deliver(app, text, StreamingBehavior::Steer);
}

/// Queues the text of the editor until the run ends; without a run, submits it.
pub(crate) fn follow_up(app: &mut App) -> bool {
    let text = app.editor.text().trim().to_owned();
    if text.is_empty() {
        return true;
    }
    app.editor.add_history(&text);
    app.editor.clear();
    deliver(app, text, StreamingBehavior::FollowUp);
    true
}

/// Takes all queued messages back into the editor.
pub(crate) fn dequeue(app: &mut App) -> bool {
    if app.queue.is_empty() {
        app.status("No messages are queued");
        return true;
    }
    let waiting = std::mem::take(&mut app.queue.after_compaction);
    let session = app.session.clone();
    app.tasks.spawn(async move { session.clear_queue().await }, move |app, texts| {
        let mut taken = waiting;
        taken.extend(texts.steering);
        taken.extend(texts.follow_up);
        take_back(app, taken);
    });
    true
}

/// Puts queued messages into the editor, and says so.
pub(crate) fn take_back(app: &mut App, queued: Vec<String>) {
    let noun = match queued.len() {
        0 => return,
        1 => "message is",
        _ => "messages are",
    };
    app.status(format!("{} queued {noun} back in the editor", queued.len()));
    restore(app, queued);
}

/// Puts messages before what is in the editor, separated by empty lines.
pub(crate) fn restore(app: &mut App, mut texts: Vec<String>) {
    let draft = app.editor.text();
    if !draft.trim().is_empty() {
        texts.push(draft);
    }
    app.editor.set_text(&texts.join("\n\n"));
}

fn deliver(app: &mut App, text: String, behavior: StreamingBehavior) {
    if text.trim().is_empty() {
        return;
    }
    if let Some(command) = text.strip_prefix('!') {
        let (command, excluded) = match command.strip_prefix('!') {
            Some(command) => (command, true),
            None => (command, false),
        };
        if !command.trim().is_empty() {
            return shell(app, command.trim(), excluded, &text);
        }
    }
    if commands::run(app, &text) {
        return;
    }
    prompt(app, text, behavior);
}

/// Submits a prompt of the command line.
pub(crate) fn prompt_with_images(app: &mut App, text: String, images: Vec<ImageContent>) {
    let options =
        PromptOptions::default().images(images).streaming_behavior(StreamingBehavior::FollowUp);
    start(app, text, options);
}

/// Submits a prompt. A prompt that is not accepted comes back into the editor.
pub(crate) fn prompt(app: &mut App, text: String, behavior: StreamingBehavior) {
    if matches!(app.activity.work(), Work::Compacting(_) | Work::Summarizing)
        && app.session.is_compacting()
        && !app.session.is_streaming()
    {
        app.queue.after_compaction.push(text);
        app.status("The message waits for the end of the compaction");
        return;
    }
    start(app, text, PromptOptions::default().streaming_behavior(behavior));
}

fn start(app: &mut App, text: String, options: PromptOptions) {
    let session = app.session.clone();
    let submitted = async move {
        let prompted = Box::pin(session.prompt(&text, options)).await;
        prompted.map_err(|error| (error, text))
    };
    app.tasks.spawn(submitted, |app, result| {
        if let Err((error, text)) = result {
            let hint = (app.program.prompt_hint)(&error);
            app.error_with_hint(error.to_string(), hint);
            restore(app, vec![text]);
        }
        app.footer.refresh(&app.session);
    });
}

/// Sends the messages that waited for the end of a compaction.
pub(crate) fn flush_after_compaction(app: &mut App) {
    for text in std::mem::take(&mut app.queue.after_compaction) {
        deliver(app, text, StreamingBehavior::Steer);
    }
}

/// Runs a shell command of the user. Only one runs at a time.
fn shell(app: &mut App, command: &str, excluded: bool, typed: &str) {
    if app.session.is_bash_running() {
        let key = app.keymap.label("app.interrupt");
        app.warning(format!("A shell command is running; press {key} to stop it first"));
        app.editor.set_text(typed);
        return;
    }
    let id = format!("shell-{}", app.transcript.next_shell());
    app.transcript.shell_started(&id, command, excluded);
    let (session, command) = (app.session.clone(), command.to_owned());
    let options = BashOptions::default().exclude_from_context(excluded).id(Some(id.clone()));
    let run = async move { session.execute_bash(&command, options).await };
    app.tasks.spawn(run, move |app, result| {
        app.transcript.shell_ended(&id, &result);
        crate::app::events::refresh_branch(app);
    });
}
