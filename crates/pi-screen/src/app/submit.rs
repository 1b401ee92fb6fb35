//! The way of a text from the editor to the session: commands, shell commands, prompts, queues.

use std::path::PathBuf;

use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::{
    AgentSession, BashOptions, PromptError, PromptOptions, StreamingBehavior,
};
use pi_tools::{Attachment, attach};

use pi_ai::ImageContent;

use crate::activity::Work;
use crate::app::App;
use crate::app::clipboard;
use crate::app::commands;
use crate::app::first_run;
use crate::app::prompt_history;
use crate::queue::Message;

/// Submits the text of the editor. While the session works, it steers.
pub(crate) fn submit(app: &mut App, message: Message) {
    deliver(app, message, StreamingBehavior::Steer);
}

/// Queues the text of the editor until the run ends; without a run, submits it.
pub(crate) fn follow_up(app: &mut App) -> bool {
    if let Some(text) = app.editor.take_text() {
        let images = app.editor.take_submitted_images();
        prompt_history::add(app, &text);
        deliver(app, Message { text, images }, StreamingBehavior::FollowUp);
    }
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
        let mut taken: Vec<String> = waiting.into_iter().map(|message| message.text).collect();
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
    set_text(app, &texts.join("\n\n"));
}

/// Replaces the text of the editor. Paths of images that were attached before are attached again.
pub(crate) fn set_text(app: &mut App, text: &str) {
    let images: Vec<(String, PathBuf)> =
        app.attached.iter().map(|path| (clipboard::word(path), path.clone())).collect();
    app.editor.set_text_with_images(text, &images);
}

fn deliver(app: &mut App, message: Message, behavior: StreamingBehavior) {
    let text = &message.text;
    if text.trim().is_empty() {
        return;
    }
    if let Some(command) = text.strip_prefix('!') {
        let (command, excluded) = match command.strip_prefix('!') {
            Some(command) => (command, true),
            None => (command, false),
        };
        if !command.trim().is_empty() {
            return shell(app, command.trim(), excluded, text);
        }
    }
    let asked = app.presses.unknown_command.take();
    if commands::run(app, text) || asks_about_unknown(app, text, asked.as_deref()) {
        return;
    }
    prompt(app, message, behavior);
}

/// Says that a text begins with an unknown command, and puts it back into the editor. Submitted
/// again as it is, the text is a message.
fn asks_about_unknown(app: &mut App, text: &str, asked: Option<&str>) -> bool {
    if asked == Some(text) {
        return false;
    }
    let Some(commands::Unknown { name, near }) = commands::unknown(&app.session, text) else {
        return false;
    };
    let near = near.map(|near| format!("; did you mean /{near}?")).unwrap_or_default();
    let key = app.keymap.label("tui.input.submit");
    let hint = format!("Press {key} again to send it as a message; /help lists the commands");
    app.transcript.notice(
        NotifyKind::Warning,
        format!("unknown command /{name}{near}"),
        Some(hint),
    );
    set_text(app, text);
    app.presses.unknown_command = Some(text.to_owned());
    true
}

/// Submits a prompt of the command line.
pub(crate) fn prompt_with_images(app: &mut App, text: String, images: Vec<ImageContent>) {
    let options =
        PromptOptions::default().images(images).streaming_behavior(StreamingBehavior::FollowUp);
    start(app, Message::new(text), options);
}

/// Submits a prompt. A prompt that is not accepted comes back into the editor.
fn prompt(app: &mut App, message: Message, behavior: StreamingBehavior) {
    if matches!(app.activity.work(), Work::Compacting(_) | Work::Summarizing)
        && app.session.is_compacting()
        && !app.session.is_streaming()
    {
        app.queue.after_compaction.push(message);
        app.status("The message waits for the end of the compaction");
        return;
    }
    start(app, message, PromptOptions::default().streaming_behavior(behavior));
}

fn start(app: &mut App, message: Message, mut options: PromptOptions) {
    let session = app.session.clone();
    let submitted = async move {
        let Message { text, images } = message;
        let prompt = match read_images(&session, &images).await {
            Ok((images, notes)) => {
                options.images.extend(images);
                format!("{text}{notes}")
            }
            Err(error) => return Err((Refused::Image(error), text)),
        };
        let prompted = Box::pin(session.prompt(&prompt, options)).await;
        prompted.map(drop).map_err(|error| (Refused::Prompt(error), text))
    };
    app.tasks.spawn(submitted, |app, result| {
        if let Err((refused, text)) = result {
            match refused {
                Refused::Image(error) => app.error(error),
                Refused::Prompt(error) => {
                    let hint = || (app.program.prompt_hint)(&error);
                    let (problem, hint) = match first_run::advice(&error) {
                        Some((problem, hint)) => (problem, Some(hint)),
                        None => (error.to_string(), hint()),
                    };
                    app.error_with_hint(problem, hint);
                }
            }
            restore(app, vec![text]);
        }
        app.footer.refresh(&app.session);
    });
}

/// Reasons why a message does not reach the session.
enum Refused {
    /// An attached image cannot be read.
    Image(String),
    Prompt(PromptError),
}

/// Reads attached images, and returns what the model has to know about them.
async fn read_images(
    session: &AgentSession,
    paths: &[PathBuf],
) -> Result<(Vec<ImageContent>, String), String> {
    let (mut images, mut text) = (Vec::new(), String::new());
    for path in paths {
        let file = attach(session.workspace(), &path.to_string_lossy()).await;
        let notes = match file.map_err(|error| error.to_string())?.content {
            Attachment::Image { image, notes } => {
                images.extend(image);
                notes.join("\n")
            }
            Attachment::Note(note) => note,
            Attachment::Text(_) => return Err(format!("{} is not an image", path.display())),
        };
        if !notes.is_empty() {
            text.push_str(&format!("\n\n<file name=\"{}\">{notes}</file>", path.display()));
        }
    }
    Ok((images, text))
}

/// Sends the messages that waited for the end of a compaction.
pub(crate) fn flush_after_compaction(app: &mut App) {
    for message in std::mem::take(&mut app.queue.after_compaction) {
        prompt(app, message, StreamingBehavior::Steer);
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
