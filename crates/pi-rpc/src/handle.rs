//! The execution of each command, for a caller that owns the runtime and its events.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::QueueMode;
use pi_protocol::{AgentMessage, Entry, History, Model, ThinkingLevel};
use pi_session::{ForkPosition, HtmlOptions, ListOptions, SessionError, SessionIndex};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{Command, PROTOCOL_VERSION, Response};
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{
    AgentSession, BashOptions, CycleDirection, Navigation, Persistence, PromptOptions, QueuedTexts,
    Run, SettingChange, no_model,
};
use pi_coding_agent::{AgentRuntime, ReplaceError, Replaced};

/// A command that was executed.
#[derive(Debug)]
pub struct Executed {
    /// The response for the client.
    pub response: Response,
    /// The run that the command started. The caller drives it to its end, after the response.
    pub run: Option<Run>,
}

/// Data of a response, and the run that the command started.
struct Handled {
    data: Option<Box<RawValue>>,
    run: Option<Run>,
}

type Result<T> = std::result::Result<T, String>;

/// Data of the response to `get_state`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State {
    model: Arc<Model>,
    thinking_level: ThinkingLevel,
    is_streaming: bool,
    is_compacting: bool,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<PathBuf>,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<String>,
    auto_compaction_enabled: bool,
    message_count: usize,
    pending_message_count: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entries {
    entries: Vec<Entry>,
    leaf_id: Option<String>,
}

#[derive(Serialize)]
struct Messages {
    messages: History<AgentMessage>,
}

/// Executes the command of a request on the current session of a runtime. A command that could not
/// be parsed is refused with its error.
pub async fn execute(
    runtime: &AgentRuntime,
    id: Option<Value>,
    name: Option<Value>,
    command: Result<Box<Command>>,
) -> Executed {
    let handled = match command {
        Ok(command) => Box::pin(handle(runtime, id.as_ref(), *command)).await,
        Err(error) => Err(error),
    };
    let (result, run) = match handled {
        Ok(Handled { data, run }) => (Ok(data), run),
        Err(error) => (Err(error), None),
    };
    Executed { response: Response::new(id, name, result), run }
}

/// Executes a command.
async fn handle(runtime: &AgentRuntime, id: Option<&Value>, command: Command) -> Result<Handled> {
    let session = runtime.session();
    match command {
        Command::Prompt { message, images, streaming_behavior } => {
            let options = PromptOptions::default().images(images).fit_images();
            let mut options = options.source(InputSource::Rpc);
            options.streaming_behavior = streaming_behavior;
            let begun = session.turn(message, options).begin().await.map_err(text)?;
            let data = raw(&json!({ "disposition": begun.disposition().as_str() }))?;
            Ok(Handled { data: Some(data), run: begun.into_run() })
        }
        Command::Steer { message, images } => {
            let (message, images) = session.fitted(message, images).await;
            let queued = session.steer(&message, images, InputSource::Rpc).await.map_err(text)?;
            with(&json!({ "disposition": queued.as_str() }))
        }
        Command::FollowUp { message, images } => {
            let (message, images) = session.fitted(message, images).await;
            let queued =
                session.follow_up(&message, images, InputSource::Rpc).await.map_err(text)?;
            with(&json!({ "disposition": queued.as_str() }))
        }
        Command::Abort => {
            session.abort().await;
            nothing()
        }
        Command::ClearQueue => {
            let QueuedTexts { steering, follow_up, .. } = session.clear_queue().await;
            with(&json!({ "steering": steering, "followUp": follow_up }))
        }
        Command::GetState => with(&state(&session)),
        Command::SetModel { provider, model_id } => {
            let model = session.look_up_model(&provider, &model_id).await.map_err(text)?;
            session.set_model(Arc::clone(&model), Persistence::Session).await.map_err(text)?;
            with(&model)
        }
        Command::CycleModel => {
            with(&session.cycle_model(CycleDirection::Forward).await.map_err(text)?)
        }
        Command::GetAvailableModels => with(&json!({ "models": session.available_models() })),
        Command::SetThinkingLevel { level } => {
            let level: ThinkingLevel = level.parse().map_err(text)?;
            session.set_thinking_level(level, Persistence::Session).await.map_err(text)?;
            nothing()
        }
        Command::CycleThinkingLevel => {
            let level = session.cycle_thinking_level().await.map_err(text)?;
            with(&level.map(|level| json!({ "level": level })))
        }
        Command::GetAvailableThinkingLevels => {
            with(&json!({ "levels": session.thinking_levels() }))
        }
        Command::SetSteeringMode { mode } => change(&session, &SettingChange::SteeringMode(mode)),
        Command::SetFollowUpMode { mode } => change(&session, &SettingChange::FollowUpMode(mode)),
        Command::SetAutoCompaction { enabled } => {
            change(&session, &SettingChange::AutoCompaction(enabled))
        }
        Command::SetAutoRetry { enabled } => change(&session, &SettingChange::AutoRetry(enabled)),
        Command::Compact { custom_instructions } => {
            with(&session.compact(custom_instructions.as_deref()).await.map_err(text)?)
        }
        Command::AbortRetry => {
            session.abort_retry();
            nothing()
        }
        Command::Bash { command, exclude_from_context } => {
            let id = id.filter(|id| !id.is_null());
            let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            let exclude = exclude_from_context.unwrap_or(false);
            let options = BashOptions::default().exclude_from_context(exclude).id(id);
            with(&session.execute_bash(&command, options).await.map_err(text)?)
        }
        Command::AbortBash => {
            session.abort_bash();
            nothing()
        }
        Command::NewSession { parent_session } => {
            let parent = parent_session.map(Into::into);
            replaced(runtime.new_session(parent).await)
        }
        Command::SwitchSession { session_path } => {
            let path = session.workspace().resolve(&session_path);
            replaced(runtime.switch_session(&path).await)
        }
        Command::Fork { entry_id } => replaced(runtime.fork(&entry_id, ForkPosition::Before).await),
        Command::Clone => replaced(runtime.clone_session().await),
        Command::GetSessionStats => with(&session.totals().map_err(text)?),
        Command::ExportHtml { output_path } => {
            with(&json!({ "path": export_html(&session, output_path.as_deref())? }))
        }
        Command::GetForkMessages => fork_messages(&session),
        Command::GetEntries { since } => with(&entries(&session, since.as_deref())?),
        Command::GetTree => tree(&session),
        Command::GetLastAssistantText => match session.last_assistant_text() {
            Some(text) => with(&json!({ "text": text })),
            None => with(&json!({})),
        },
        Command::SetSessionName { name } => {
            let name = name.trim();
            if name.is_empty() {
                return Err("Session name cannot be empty".to_owned());
            }
            session.set_name(name).await.map_err(text)?;
            nothing()
        }
        Command::GetMessages => with(&Messages { messages: session.messages() }),
        Command::GetCommands => with(&json!({ "commands": session.commands() })),
        Command::Hello { .. } => with(&json!({
            "name": "pi",
            "version": env!("CARGO_PKG_VERSION"),
            "protocolVersion": PROTOCOL_VERSION,
            "commands": Command::names(),
            "capabilities": ["list_sessions", "navigate_tree", "set_label", "validated_input"],
        })),
        Command::ListSessions { all } => list_sessions(&session, all),
        Command::NavigateTree { entry_id, summarize, custom_instructions, label } => {
            let navigation = Navigation::default()
                .summarize(summarize)
                .instructions(custom_instructions)
                .label(label);
            navigate(&session, &entry_id, navigation).await
        }
        Command::SetLabel { entry_id, label } => {
            session.set_label(&entry_id, label.as_deref()).map_err(text)?;
            nothing()
        }
    }
}

fn replaced(result: std::result::Result<Replaced, ReplaceError>) -> Result<Handled> {
    let replaced = result.map_err(text)?;
    match replaced.text {
        Some(text) => with(&json!({ "text": text, "cancelled": replaced.cancelled })),
        None => with(&json!({ "cancelled": replaced.cancelled })),
    }
}

async fn navigate(
    session: &AgentSession,
    entry_id: &str,
    navigation: Navigation,
) -> Result<Handled> {
    let moved = session.navigate(entry_id, navigation).await.map_err(text)?;
    let mut data = json!({ "cancelled": moved.cancelled });
    if let Some(text) = moved.text {
        data["text"] = text.into();
    }
    if let Some(summary) = moved.summary {
        data["summaryEntryId"] = summary.id.clone().into();
    }
    with(&data)
}

fn fork_messages(session: &AgentSession) -> Result<Handled> {
    let messages = session.user_messages().map_err(text)?.into_iter();
    let messages: Vec<Value> = messages
        .map(|message| json!({ "entryId": message.entry_id, "text": message.text }))
        .collect();
    with(&json!({ "messages": messages }))
}

fn state(session: &AgentSession) -> State {
    let settings = session.settings();
    State {
        model: session.model().unwrap_or_else(|| Arc::new(no_model())),
        thinking_level: session.thinking_level(),
        is_streaming: session.is_streaming(),
        is_compacting: session.is_compacting(),
        steering_mode: settings.steering_mode,
        follow_up_mode: settings.follow_up_mode,
        session_file: session.file(),
        session_id: session.id(),
        session_name: session.name(),
        auto_compaction_enabled: settings.compaction.enabled,
        message_count: session.message_count(),
        pending_message_count: session.queued_count(),
    }
}

fn entries(session: &AgentSession, since: Option<&str>) -> Result<Entries> {
    session.with_log(|log| {
        if let Some(id) = since
            && !log.contains(id)
        {
            return Err(format!("Entry not found: {id}"));
        }
        let mut seen = since.is_none();
        let mut entries = Vec::new();
        for entry in log.entries() {
            match entry {
                Ok(entry) if seen => entries.push(entry),
                Ok(entry) => seen = Some(entry.id.as_str()) == since,
                Err(SessionError::Damaged { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(Entries { entries, leaf_id: log.leaf_id().map(str::to_owned) })
    })
}

fn tree(session: &AgentSession) -> Result<Handled> {
    session.with_log(|log| {
        let mut json = b"{\"tree\":".to_vec();
        log.tree().map_err(text)?.write_json(&mut json).map_err(text)?;
        json.extend_from_slice(b",\"leafId\":");
        serde_json::to_writer(&mut json, &log.leaf_id()).map_err(text)?;
        json.push(b'}');
        let json = String::from_utf8(json).map_err(text)?;
        Ok(Handled { data: Some(RawValue::from_string(json).map_err(text)?), run: None })
    })
}

/// Writes an HTML page and returns its name: the given one, or one in the working directory.
fn export_html(session: &AgentSession, path: Option<&str>) -> Result<String> {
    if session.messages().is_empty() {
        return Err("Nothing to export yet - start a conversation first".to_owned());
    }
    let name = match path {
        None | Some("") => {
            let file = session.file();
            let stem = file.as_deref().and_then(Path::file_stem);
            let stem =
                stem.map_or_else(|| session.id(), |stem| stem.to_string_lossy().into_owned());
            format!("pi-session-{stem}.html")
        }
        Some(name) => name.to_owned(),
    };
    let path = session.workspace().resolve(&name);
    // The path as it was given, unless it names the home directory.
    let name = if name.starts_with('~') { path.to_string_lossy().into_owned() } else { name };
    let cannot = |error: std::io::Error| format!("Cannot write {}: {error}", path.display());
    let (secrets, effects) = (session.secrets(), session.effects_resolver());
    session.with_log(|log| {
        let mut out = BufWriter::new(std::fs::File::create(&path).map_err(cannot)?);
        let mut redacted = pi_coding_agent::redacted_session(log, &secrets).map_err(text)?;
        let shown = redacted.as_mut().unwrap_or(log);
        let options = HtmlOptions::default().effects(effects.clone());
        shown.export_html(&options, &mut out).map_err(text)?;
        out.flush().map_err(cannot)
    })?;
    Ok(name)
}

fn list_sessions(session: &AgentSession, all: bool) -> Result<Handled> {
    let (directory, cwd) =
        session.with_log(|log| (log.directory().map(Path::to_owned), log.cwd().to_owned()));
    let Some(directory) = directory else { return with(&json!({ "sessions": [] })) };
    let root = match directory.parent() {
        Some(parent) if all => parent.to_owned(),
        _ => directory,
    };
    let mut options = ListOptions::default();
    options.cwd = (!all).then_some(cwd);
    let listing = SessionIndex::new(root, None).list(&options);
    let sessions: Vec<Value> = listing
        .sessions
        .into_iter()
        .map(|info| {
            json!({
                "path": info.path,
                "id": info.id,
                "cwd": info.cwd,
                "name": info.name,
                "parentSession": info.parent_session,
                "created": info.created,
                "modified": info.modified,
                "messageCount": info.message_count,
                "firstMessage": info.first_message,
            })
        })
        .collect();
    with(&json!({ "sessions": sessions }))
}

fn change(session: &AgentSession, change: &SettingChange) -> Result<Handled> {
    session.change_setting(change);
    nothing()
}

fn nothing() -> Result<Handled> {
    Ok(Handled { data: None, run: None })
}

fn with(data: &impl Serialize) -> Result<Handled> {
    Ok(Handled { data: Some(raw(data)?), run: None })
}

fn raw(data: &impl Serialize) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(data).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
