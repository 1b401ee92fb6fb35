//! Reactions to the events of the session.

use std::path::Path;
use std::time::Instant;

use pi_coding_agent::Severity;
use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::{SessionEvent, StartReason};
use pi_protocol::{AgentMessage, Message, Usage};

use crate::app::App;
use crate::app::completion;
use crate::app::header;
use crate::app::notify;
use crate::app::prompt_history;
use crate::app::submit;
use crate::footer::Totals;

/// Applies an event to every part that shows it.
pub(crate) fn apply(app: &mut App, event: &SessionEvent) {
    let now = Instant::now();
    app.activity.on_event(event, now);
    notify::on_event(app, event, now);
    app.transcript.on_event(event);
    match event {
        // The same session goes on: what is shown of it stays.
        SessionEvent::SessionStart { reason: StartReason::Reload, .. } => refresh_commands(app),
        SessionEvent::SessionStart { .. } => session_started(app),
        SessionEvent::SessionTree { summary_entry, .. } => {
            rebuild(app);
            app.footer.is_uncounted |= summary_entry.is_some();
        }
        SessionEvent::QueueUpdate { steering, follow_up } => {
            app.queue.steering.clone_from(steering);
            app.queue.follow_up.clone_from(follow_up);
        }
        SessionEvent::MessageEnd { message: AgentMessage::Llm(Message::Assistant(message)) } => {
            app.footer.totals.add(&message.usage);
            app.footer.cache_hit = cache_hit(&message.usage);
            app.footer.refresh(&app.session);
        }
        SessionEvent::MessageEnd { .. } | SessionEvent::TurnStart { .. } => {
            app.footer.refresh(&app.session);
        }
        SessionEvent::CompactionEnd { result, .. } => {
            if result.is_some() {
                rebuild(app);
                // The summary cost tokens, too.
                app.footer.is_uncounted = true;
            }
            app.footer.refresh(&app.session);
        }
        SessionEvent::Diagnostic { severity, path, message, hint } => {
            let kind = match severity {
                Severity::Warning => NotifyKind::Warning,
                Severity::Error => NotifyKind::Error,
            };
            let path = path.as_ref().map(|path| format!("{}: ", path.display()));
            let text = format!("{}{message}", path.unwrap_or_default());
            app.transcript.notice(kind, text, hint.clone());
        }
        SessionEvent::ExtensionError { extension_path, event, error } => {
            app.error(format!("{extension_path} failed at {event}: {error}"));
        }
        SessionEvent::Guardrail { intervention } => {
            app.transcript.notice(NotifyKind::Warning, intervention.to_string(), None);
        }
        SessionEvent::ModelSelect { .. }
        | SessionEvent::ThinkingLevelChanged { .. }
        | SessionEvent::SessionInfoChanged { .. } => {
            app.footer.refresh(&app.session);
            app.display.set_title(&app.session);
        }
        SessionEvent::AgentSettled { .. } => {
            refresh_branch(app);
            app.footer.refresh(&app.session);
            submit::flush_after_compaction(app);
            // A run that failed leaves its queue, which nothing would deliver.
            if !app.session.is_streaming() && app.session.queued_count() > 0 {
                submit::dequeue(app);
            }
        }
        _ => {}
    }
}

/// Returns the part of a request that came from the cache, in percent.
fn cache_hit(usage: &Usage) -> Option<f64> {
    let read = usage.input + usage.cache_read + usage.cache_write;
    (read > 0).then_some(usage.cache_read as f64 * 100.0 / read as f64)
}

/// Shows the session that is the current one now.
pub(crate) fn session_started(app: &mut App) {
    app.session = app.runtime.session();
    app.queue = crate::queue::Queue::default();
    app.footer.totals = Totals::default();
    rebuild(app);
    app.footer.cache_hit = app.transcript.last_usage().and_then(|usage| cache_hit(&usage));
    let guard = app.session.guard().and_then(|guard| guard.status());
    app.footer.profile = guard.map(|status| status.profile);
    refresh_branch(app);
    refresh_commands(app);
    completion::follow_servers(app);
    app.display.set_title(&app.session);
    app.footer.is_uncounted = true;
}

/// Reads the commands and the figures of the session again.
fn refresh_commands(app: &mut App) {
    app.completions.refresh(&app.session, app.settings.settings().enable_skill_commands);
    app.footer.refresh(&app.session);
}

/// Builds the transcript from the log.
pub(crate) fn rebuild(app: &mut App) {
    let prefix = header::blocks(app);
    app.transcript.rebuild(&app.session, prefix);
    prompt_history::show(app);
}

/// Reads the usage of all answers of the log, on another thread: the log may be long.
pub(crate) fn count_totals(app: &mut App) {
    app.footer.is_uncounted = false;
    app.footer.count_providers(&app.session);
    let before = app.footer.totals;
    let (id, file) = (app.session.id(), app.session.file());
    let Some(file) = file.filter(|file| file.exists()) else { return };
    let count = move || {
        let log = pi_session::Session::open(&file, &pi_session::OpenOptions::read())?;
        log.stats()
    };
    app.tasks.spawn_blocking(count, move |app, stats| {
        let Ok(stats) = stats else { return };
        if app.session.id() != id {
            return;
        }
        if app.footer.totals != before {
            // An answer came meanwhile, and may or may not be among those that were counted.
            count_totals(app);
        } else {
            app.footer.totals = Totals {
                input: stats.tokens.input,
                output: stats.tokens.output,
                cache_read: stats.tokens.cache_read,
                cache_write: stats.tokens.cache_write,
                cost: stats.cost,
            };
        }
    });
}

/// Reads the branch of the working directory.
pub(crate) fn refresh_branch(app: &mut App) {
    app.footer.branch = branch(app.session.workspace().cwd());
}

/// Returns the branch of the repository of a directory, without starting git.
fn branch(directory: &Path) -> Option<String> {
    for directory in directory.ancestors() {
        let git = directory.join(".git");
        let head = match std::fs::read_to_string(git.join("HEAD")) {
            Ok(head) => head,
            // In a worktree, `.git` is a file that names the directory.
            Err(_) => {
                let Ok(link) = std::fs::read_to_string(&git) else { continue };
                let target = link.strip_prefix("gitdir:")?.trim();
                std::fs::read_to_string(directory.join(target).join("HEAD")).ok()?
            }
        };
        let head = head.trim();
        return Some(match head.strip_prefix("ref: refs/heads/") {
            Some(name) => name.to_owned(),
            None => "detached".to_owned(),
        });
    }
    None
}
