//! `/api/v1/sessions`: lists, starts, describes and deletes sessions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use pi_coding_agent::session::Persistence;
use pi_coding_agent::{AgentSession, SessionSelector, session_index};
use pi_host::ui_hub::{OpenQuestion, QuestionKind};
use pi_host::{Hosted, OpenPlan};
use pi_session::{ListOptions, SessionInfo, is_locked};
use pi_web::http::StatusCode;
use pi_web::server::empty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, ApiError, Call, json};
use crate::entrance::Identity;
use crate::state::ServeState;
use crate::summary::{Status, Summary};

/// Sessions of a page of the list, unless the client asks for another number.
const PAGE: u64 = 50;

/// Most sessions of a page.
const LARGEST_PAGE: u64 = 500;

/// A page of the list of sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// The sessions: those that wait or run first, then the newest.
    pub sessions: Vec<Summary>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The time at which this was true.
    pub as_of: String,
}

/// A session to start.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSession {
    /// Working directory: one of the server, or below it.
    pub cwd: Option<String>,
    /// Model, as `provider/id`.
    pub model: Option<String>,
    /// Name of the session.
    pub name: Option<String>,
}

/// A session with its state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The session as the list shows it.
    #[serde(flatten)]
    pub summary: Summary,
    /// Number of entries of its log: the sequence number of the next one.
    pub length: u64,
    /// Time at which this was true.
    pub as_of: String,
    /// The model that the session uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The thinking level of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Counts of messages and tokens, cost and size of the context, as `get_session_stats` of the
    /// protocol returns them.
    pub stats: Value,
    /// Prompts that wait for the agent.
    pub queue: Queue,
    /// Questions that wait for an answer.
    pub questions: Vec<Question>,
}

/// The model of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelName {
    /// Name of the provider.
    pub provider: String,
    /// Id of the model.
    pub id: String,
    /// Name of the model for people.
    pub name: String,
    /// Most tokens of its context.
    pub context_window: u64,
}

/// Prompts that wait for the agent.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Prompts for the next turn of the run.
    pub steering: Vec<String>,
    /// Prompts for the end of the run.
    pub follow_up: Vec<String>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Id of the session that asks.
    pub session_id: String,
    /// Title of the session.
    pub session_title: String,
    /// Working directory of the session.
    pub cwd: String,
    /// Kind of the question: `approval` or `dialog`.
    pub kind: &'static str,
    /// The question in one line, or the action that needs approval.
    pub title: String,
    /// Id of the tool call that needs approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Questions of all sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NeedsYou {
    /// The questions, oldest first in each session.
    pub questions: Vec<Question>,
    /// Time at which this was true.
    pub as_of: String,
}

/// Returns the time, for `asOf`.
pub(crate) fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// Answers with a page of the list of sessions.
pub(crate) async fn list(call: Call) -> Answer {
    let limit = call.number("limit")?.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let cursor = call.query("cursor").map(|cursor| Cursor::parse(&cursor)).transpose()?;
    let (words, cwd) = (call.query("q").unwrap_or_default(), call.query("cwd").map(PathBuf::from));
    let as_of = now();
    let mut all = summaries(&call.state, words, cwd).await?;
    let identity = call.identity()?;
    all.retain(|summary| identity.reaches(&summary.id));
    let is_active = |summary: &Summary| summary.status <= Status::Running;
    let (mut page, rest): (Vec<Summary>, Vec<Summary>) = all.into_iter().partition(is_active);
    page.sort_by_key(|summary| (summary.status, std::cmp::Reverse(summary.modified)));
    if cursor.is_some() {
        page.clear();
    }
    let mut rest =
        rest.into_iter().filter(|summary| cursor.as_ref().is_none_or(|at| at.is_before(summary)));
    page.extend(rest.by_ref().take(limit.saturating_sub(page.len())));
    let has_more = rest.next().is_some();
    let last = page.last().filter(|last| !is_active(last));
    let next = has_more.then(|| last.map_or_else(Cursor::start, Cursor::of).to_string());
    let sessions = with_locks(page, &call.state).await;
    json(StatusCode::OK, &SessionList { sessions, next, as_of })
}

/// Returns the summaries of the sessions that have all words, the newest first.
pub(crate) async fn summaries(
    state: &Arc<ServeState>,
    words: String,
    cwd: Option<PathBuf>,
) -> Result<Vec<Summary>, ApiError> {
    let is_search = !words.trim().is_empty();
    let found = find(state, words, cwd.clone()).await?;
    let mut open: HashMap<String, (Arc<Hosted>, AgentSession)> = state
        .host
        .open_sessions()
        .into_iter()
        .filter_map(|hosted| Some((hosted.session().ok()?, hosted)))
        .map(|(session, hosted)| (session.id(), (hosted, session)))
        .collect();
    let mut summaries = Vec::with_capacity(found.len() + open.len());
    for (info, snippet) in &found {
        let mut summary = match open.remove(&info.id) {
            Some((hosted, session)) => Summary::open(&hosted, &session, Some(info)),
            None => Summary::stored(info),
        };
        summary.snippet.clone_from(snippet);
        summaries.push(summary);
    }
    // Sessions without a message have no file yet.
    for (hosted, session) in open.into_values().filter(|_| !is_search) {
        if cwd.as_deref().is_none_or(|cwd| session.workspace().cwd() == cwd) {
            summaries.push(Summary::open(&hosted, &session, None));
        }
    }
    summaries.sort_by(|one, other| (other.modified, &other.id).cmp(&(one.modified, &one.id)));
    Ok(summaries)
}

/// Finds stored sessions, with the text that matches.
async fn find(
    state: &ServeState,
    words: String,
    cwd: Option<PathBuf>,
) -> Result<Vec<(SessionInfo, Option<String>)>, ApiError> {
    let (environment, directory) =
        (state.host.environment().clone(), state.host.session_directory().map(PathBuf::from));
    let finding = tokio::task::spawn_blocking(move || {
        let mut options = ListOptions::default();
        options.cwd = cwd;
        let mut index = session_index(&environment, directory.as_ref());
        if words.trim().is_empty() {
            return index.list(&options).sessions.into_iter().map(|info| (info, None)).collect();
        }
        let hits = index.search(&words, &options).hits.into_iter();
        hits.map(|hit| (hit.session, Some(hit.snippet.text))).collect()
    });
    finding.await.map_err(|error| ApiError::internal(format!("the list of sessions: {error}")))
}

/// Marks the sessions that other processes have open.
async fn with_locks(page: Vec<Summary>, state: &Arc<ServeState>) -> Vec<Summary> {
    let state = Arc::clone(state);
    let fallback = page.clone();
    let looking = async move {
        let stored = state.host.stored(None).await.ok()?;
        let paths: HashMap<String, PathBuf> =
            stored.into_iter().map(|info| (info.id, info.path)).collect();
        let mut page = page;
        tokio::task::spawn_blocking(move || {
            let stored =
                |one: &&mut Summary| one.status == Status::Idle && state.live(&one.id).is_none();
            for summary in page.iter_mut().filter(stored) {
                if paths.get(&summary.id).is_some_and(|path| is_locked(path)) {
                    summary.status = Status::Elsewhere;
                }
            }
            page
        })
        .await
        .ok()
    };
    looking.await.unwrap_or(fallback)
}

/// The place after a session in the list.
struct Cursor {
    modified: i64,
    id: String,
}

impl Cursor {
    /// Returns the place before all sessions that are neither running nor waiting.
    fn start() -> Self {
        Self { modified: i64::MAX, id: "start".to_owned() }
    }

    fn of(summary: &Summary) -> Self {
        Self { modified: summary.modified, id: summary.id.clone() }
    }

    fn parse(text: &str) -> Result<Self, ApiError> {
        let parsed = text.split_once('_').and_then(|(modified, id)| {
            Some(Self { modified: modified.parse().ok()?, id: id.to_owned() })
        });
        parsed.ok_or_else(|| ApiError::bad_request("invalid_cursor", "the cursor is not valid"))
    }

    /// Returns true if a session comes after this place.
    fn is_before(&self, summary: &Summary) -> bool {
        (summary.modified, &summary.id) < (self.modified, &self.id)
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.modified, self.id)
    }
}

/// Starts a session in a directory of the server.
pub(crate) async fn create(call: Call) -> Answer {
    let state = Arc::clone(&call.state);
    let wish: NewSession = call.body().await?;
    let refused = |error: pi_host::DirectoryError| {
        ApiError::new(StatusCode::FORBIDDEN, "directory", error.to_string())
    };
    let cwd = state.options.directories.choose(wish.cwd.as_deref(), state.host.environment());
    let cwd = cwd.map_err(refused)?;
    let entered = state.host.open(SessionSelector::New, OpenPlan::new(cwd), None).await?;
    let (hosted, session) = (entered.session.clone(), entered.session.session()?);
    if let Err(error) = equip(&session, &wish).await {
        state.host.close(hosted.id()).await;
        return Err(error);
    }
    json(StatusCode::CREATED, &Summary::open(&hosted, &session, None))
}

/// Gives a new session its model and name.
async fn equip(session: &AgentSession, wish: &NewSession) -> Result<(), ApiError> {
    let conflict = |error: &dyn std::fmt::Display| {
        ApiError::new(StatusCode::CONFLICT, "model", error.to_string())
    };
    if let Some(model) = &wish.model {
        let Some((provider, id)) = model.split_once('/') else {
            return Err(ApiError::bad_request("invalid_body", "the model must be PROVIDER/ID"));
        };
        let model = session.look_up_model(provider, id).await.map_err(|error| conflict(&error))?;
        let set = session.set_model(model, Persistence::Session).await;
        set.map_err(|error| conflict(&error))?;
    }
    if let Some(name) = wish.name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        let set = session.set_name(name).await;
        set.map_err(|error| ApiError::internal(error.to_string()))?;
    }
    Ok(())
}

/// Answers with a session and its state.
pub(crate) async fn get(call: Call) -> Answer {
    let id = call.param(0)?;
    let as_of = now();
    if let Some((hosted, session)) = call.state.live(id) {
        let info = call.state.host.find(id).await.ok();
        let summary = Summary::open(&hosted, &session, info.as_ref());
        return json(StatusCode::OK, &live_details(&hosted, &session, summary, as_of)?);
    }
    let info = call.state.host.find(id).await?;
    let mut summary = Summary::stored(&info);
    let reading = tokio::task::spawn_blocking(move || {
        let session = pi_host::export::open(&info.path)?;
        let stats = session.stats()?;
        let elsewhere = is_locked(&info.path);
        Ok::<_, pi_host::export::ExportError>((session.len() as u64, stats, elsewhere))
    });
    let (length, stats, elsewhere) =
        joined(reading.await)?.map_err(|error| ApiError::internal(error.to_string()))?;
    if elsewhere {
        summary.status = Status::Elsewhere;
    }
    let stats = serde_json::to_value(stats).unwrap_or_default();
    let details = Details {
        summary,
        length,
        as_of,
        model: None,
        thinking_level: None,
        stats,
        queue: Queue::default(),
        questions: Vec::new(),
    };
    json(StatusCode::OK, &details)
}

/// Returns the result of a task on another thread.
pub(crate) fn joined<T>(result: Result<T, tokio::task::JoinError>) -> Result<T, ApiError> {
    result.map_err(|error| ApiError::internal(error.to_string()))
}

fn live_details(
    hosted: &Hosted,
    session: &AgentSession,
    summary: Summary,
    as_of: String,
) -> Result<Details, ApiError> {
    let totals = session.totals().map_err(|error| ApiError::internal(error.to_string()))?;
    let model = session.model().map(|model| ModelName {
        provider: model.provider.to_string(),
        id: model.id.to_string(),
        name: model.name.to_string(),
        context_window: model.context_window,
    });
    let queued = session.queued();
    Ok(Details {
        questions: questions(hosted, &summary),
        length: session.with_log(|log| log.len() as u64),
        summary,
        as_of,
        model,
        thinking_level: Some(session.thinking_level().as_str().to_owned()),
        stats: serde_json::to_value(totals).unwrap_or_default(),
        queue: Queue { steering: queued.steering, follow_up: queued.follow_up },
    })
}

/// Returns the open questions of a session.
fn questions(hosted: &Hosted, summary: &Summary) -> Vec<Question> {
    let question = |open: OpenQuestion| Question {
        session_id: summary.id.clone(),
        session_title: summary.title.clone(),
        cwd: summary.cwd.clone(),
        kind: match open.kind {
            QuestionKind::Approval => "approval",
            _ => "dialog",
        },
        title: open.title,
        tool_call_id: open.tool_call_id,
    };
    hosted.ui().open_questions().into_iter().map(question).collect()
}

/// Returns the open questions of all sessions that an identity reaches.
pub(crate) async fn open_questions(state: &ServeState, identity: &Identity) -> Vec<Question> {
    let asking: Vec<(Arc<Hosted>, AgentSession)> = state
        .host
        .open_sessions()
        .into_iter()
        .filter(|hosted| !hosted.ui().open_questions().is_empty())
        .filter_map(|hosted| Some((Arc::clone(&hosted), hosted.session().ok()?)))
        .filter(|(_, session)| identity.reaches(&session.id()))
        .collect();
    if asking.is_empty() {
        return Vec::new();
    }
    // The titles are those of the list.
    let stored = state.host.stored(None).await.unwrap_or_default();
    let mut all = Vec::new();
    for (hosted, session) in asking {
        let id = session.id();
        let info = stored.iter().find(|info| info.id == id);
        all.extend(questions(&hosted, &Summary::open(&hosted, &session, info)));
    }
    all
}

/// Lists the questions that wait for an answer, in all sessions.
pub(crate) async fn needs_you(call: Call) -> Answer {
    let as_of = now();
    let questions = open_questions(&call.state, call.identity()?).await;
    json(StatusCode::OK, &NeedsYou { questions, as_of })
}

/// Deletes a session with what belongs to it.
pub(crate) async fn delete(call: Call) -> Answer {
    let id = call.param(0)?;
    if let Some((hosted, _)) = call.state.live(id)
        && hosted.id() != id
    {
        call.state.host.close(hosted.id()).await;
    }
    call.state.host.delete(id).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}
