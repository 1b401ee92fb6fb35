//! One session of a client: prompts, cancellation, settings.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pi_agent::{Limit, Outcome};
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::guard::Approvals;
use pi_coding_agent::mcp::ConfiguredServer;
use pi_coding_agent::session::{Disposition, PromptError, PromptOptions, Run, Subscription};
use pi_coding_agent::{AgentRuntime, AgentSession, SessionSelector, WrapExecutor};
use pi_jsonrpc::Error;
use pi_protocol::{CancelToken, StopReason};
use pi_tools::{Executor, fit_images};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::client::Client;
use crate::config;
use crate::content::PromptContent;
use crate::errors::{auth_required, open_error};
use crate::events::Reporter;
use crate::executor::{Bound, ClientExecutor, Through};
use crate::options::{OpenRequest, OpenSession, Opened};
use crate::store::one_line;
use crate::ui::ClientUi;
use crate::update::{Block, State, Stop, Update};
use crate::wire::Version;

/// A session of a client.
pub(crate) struct Session {
    /// Id for the client: that of the log when the session was opened.
    pub(crate) id: String,
    pub(crate) client: Client,
    ui: Arc<ClientUi>,
    plan: OpenPlan,
    approvals: Approvals,
    /// Held while a prompt is answered or the session is opened anew.
    turn: Arc<tokio::sync::Mutex<()>>,
    open: Mutex<Option<Live>>,
}

/// What opening the session needs, now and later.
#[derive(Clone)]
pub(crate) struct OpenPlan {
    pub(crate) cwd: PathBuf,
    pub(crate) additional_directories: Vec<PathBuf>,
    pub(crate) mcp_servers: Vec<ConfiguredServer>,
    pub(crate) profiles: Vec<&'static str>,
    pub(crate) through: Through,
    pub(crate) open: OpenSession,
}

/// The parts of a session that is open.
struct Live {
    runtime: AgentRuntime,
    reporter: Arc<Reporter>,
    profile: String,
    _events: Subscription,
}

/// The answer to a prompt.
pub(crate) enum Answered {
    /// The run is over.
    Stopped(Stop),
    /// The prompt is part of the conversation, and its run goes on.
    Inserted(String),
}

impl Session {
    /// Opens a session.
    pub(crate) async fn open(
        client: Client,
        plan: OpenPlan,
        selector: SessionSelector,
    ) -> Result<(Self, Vec<String>), Error> {
        let approvals = Approvals::default();
        let ui = Arc::new(ClientUi::new(client.clone()));
        let (live, id, notices) = start(&client, &plan, selector, None, &ui, &approvals).await?;
        let turn = Arc::default();
        let open = Mutex::new(Some(live));
        Ok((Self { id, client, ui, plan, approvals, turn, open }, notices))
    }

    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session of the agent.
    pub(crate) fn agent(&self) -> Result<AgentSession, Error> {
        let live = self.live();
        let live = live.as_ref().ok_or_else(|| Error::internal("the session is closed"))?;
        Ok(live.runtime.session())
    }

    fn reporter(&self) -> Result<Arc<Reporter>, Error> {
        let live = self.live();
        let live = live.as_ref().ok_or_else(|| Error::internal("the session is closed"))?;
        Ok(Arc::clone(&live.reporter))
    }

    /// Returns the modes of version 1 and the options.
    pub(crate) fn settings(&self) -> Result<(Value, Value), Error> {
        let session = self.agent()?;
        let profile = self.live().as_ref().map(|live| live.profile.clone()).unwrap_or_default();
        let options = config::options(&session, &profile, &self.plan.profiles);
        let modes = config::modes(&profile, &self.plan.profiles);
        Ok((modes, self.client.version.options(&options)))
    }

    /// Reports something about the session.
    pub(crate) async fn report(&self, update: Update) {
        self.client.report(&self.id, update).await;
    }

    /// Cancels the run.
    pub(crate) fn cancel(&self) {
        if let Ok(session) = self.agent() {
            session.abort_bash();
            session.request_abort();
        }
    }

    /// Ends the session. Its log stays.
    pub(crate) async fn close(&self) {
        let live = self.live().take();
        if let Some(live) = live {
            live.runtime.shut_down().await;
        }
    }

    /// Selects another profile, model or thinking level.
    pub(crate) async fn set(&self, id: &str, value: &str) -> Result<(), Error> {
        if id == config::PROFILE {
            return self.set_profile(value).await;
        }
        config::set(&self.agent()?, id, value).await
    }

    /// Selects another profile. The guard belongs to a session from its start, so that the session
    /// is opened anew.
    pub(crate) async fn set_profile(&self, profile: &str) -> Result<(), Error> {
        if !self.plan.profiles.contains(&profile) {
            return Err(config::unknown(config::PROFILE, profile));
        }
        let Ok(_turn) = self.turn.try_lock() else {
            return Err(Error::new(
                Error::INVALID_REQUEST,
                "the profile cannot change during a run; cancel the run or wait for its end",
            ));
        };
        let (id, previous) = {
            let mut open = self.live();
            let live = open.take().ok_or_else(|| Error::internal("the session is closed"))?;
            if live.profile == profile {
                *open = Some(live);
                return Ok(());
            }
            (live.runtime.session().id(), live)
        };
        let before = previous.profile.clone();
        previous.runtime.shut_down().await;
        drop(previous);
        let opened = self.start(&id, profile).await;
        let failure = match opened {
            Ok(live) => {
                *self.live() = Some(live);
                None
            }
            Err(error) => {
                let live = self.start(&id, &before).await?;
                *self.live() = Some(live);
                Some(error)
            }
        };
        match failure {
            Some(error) => Err(error),
            None => {
                self.report(Update::Mode(profile.to_owned())).await;
                self.reporter()?.options().await;
                Ok(())
            }
        }
    }

    async fn start(&self, id: &str, profile: &str) -> Result<Live, Error> {
        let selector = SessionSelector::WithId(id.to_owned());
        let (client, plan) = (&self.client, &self.plan);
        let started = start(client, plan, selector, Some(profile), &self.ui, &self.approvals);
        Ok(started.await?.0)
    }

    /// Answers a prompt. In version 1 the run is over afterwards, in version 2 it has begun.
    pub(crate) async fn prompt(
        self: &Arc<Self>,
        content: PromptContent,
        cancel: CancelToken,
    ) -> Result<Answered, Error> {
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Answered::Stopped(Stop::Cancelled)),
            turn = Arc::clone(&self.turn).lock_owned() => turn,
        };
        let (inserted, waiting) = oneshot::channel();
        let this = Arc::clone(self);
        // A task of its own: if the client is gone, the run is aborted in order and its log written.
        let running = tokio::spawn(async move {
            this.ui.set_in_turn(true);
            let stop = match this.reporter() {
                Ok(reporter) => {
                    reporter.expect_message(Some(inserted));
                    let stop = this.run(&reporter, content, &cancel).await;
                    reporter.expect_message(None);
                    stop
                }
                Err(error) => Stop::Error(error),
            };
            this.ui.set_in_turn(false);
            drop(turn);
            stop
        });
        if self.client.version == Version::V2
            && let Ok(id) = waiting.await
        {
            return Ok(Answered::Inserted(id));
        }
        let stop = running.await.map_err(|error| Error::internal(format!("the run: {error}")))?;
        match stop {
            Stop::Error(error) => Err(error),
            stop => Ok(Answered::Stopped(stop)),
        }
    }

    /// Runs a prompt to its end.
    async fn run(&self, reporter: &Reporter, content: PromptContent, cancel: &CancelToken) -> Stop {
        let session = match self.agent() {
            Ok(session) => session,
            Err(error) => return Stop::Error(error),
        };
        if let Some(instructions) = compact_command(&content.text) {
            self.begin_local(reporter, content.text).await;
            let stop = self.compact(&session, instructions, cancel).await;
            self.end(stop.clone()).await;
            return stop;
        }
        let text = content.text.clone();
        let is_first = session.messages().is_empty();
        let submitted = tokio::select! {
            biased;
            () = cancel.cancelled() => return Stop::Cancelled,
            submitted = submit(&session, content) => submitted,
        };
        let run = match submitted {
            Ok(Disposition::Started(run)) => run,
            Ok(Disposition::Handled | Disposition::Queued) => {
                self.begin_local(reporter, text).await;
                self.end(Stop::EndTurn).await;
                return Stop::EndTurn;
            }
            Err(error) => return refused(error),
        };
        self.report(Update::State(State::Running)).await;
        if is_first && session.name().is_none() {
            let title = Some(one_line(&text));
            self.report(Update::Info { title, updated_at: None }).await;
        }
        let outcome = finish(&session, run, cancel).await;
        let stop = stop(&session, outcome);
        self.end(stop.clone()).await;
        stop
    }

    /// Compacts the session, which `/compact` asks for.
    async fn compact(
        &self,
        session: &AgentSession,
        instructions: Option<String>,
        cancel: &CancelToken,
    ) -> Stop {
        let compacting = session.compact(instructions.as_deref());
        tokio::pin!(compacting);
        let result = tokio::select! {
            biased;
            result = &mut compacting => result,
            () = cancel.cancelled() => {
                session.request_abort();
                compacting.await
            }
        };
        match result {
            _ if cancel.is_cancelled() => Stop::Cancelled,
            Ok(_) => {
                let text = "The session was compacted.".to_owned();
                self.report(Update::Text { id: "compaction".to_owned(), text }).await;
                Stop::EndTurn
            }
            Err(error) => Stop::Error(Error::internal(error)),
        }
    }

    /// Reports the begin of a command that needs no model.
    async fn begin_local(&self, reporter: &Reporter, text: String) {
        self.report(Update::State(State::Running)).await;
        let id = format!("command-{}", jiff::Timestamp::now().as_millisecond());
        reporter.insert_message(id, vec![Block::Text(text)]).await;
    }

    async fn end(&self, stop: Stop) {
        self.report(Update::State(State::Idle(Some(stop)))).await;
    }
}

async fn start(
    client: &Client,
    plan: &OpenPlan,
    session: SessionSelector,
    profile: Option<&str>,
    ui: &Arc<ClientUi>,
    approvals: &Approvals,
) -> Result<(Live, String, Vec<String>), Error> {
    let bound: Bound = Arc::new(OnceLock::new());
    let request = OpenRequest {
        cwd: plan.cwd.clone(),
        session,
        profile: profile.map(str::to_owned),
        additional_directories: plan.additional_directories.clone(),
        mcp_servers: plan.mcp_servers.clone(),
        ui: Arc::clone(ui) as Arc<_>,
        approvals: approvals.clone(),
        wrap_executor: wrap(client, plan.through, &bound),
    };
    let opened = (plan.open)(request).await;
    let Opened { runtime, notices } = opened.map_err(open_error)?;
    let agent = runtime.session();
    let id = agent.id();
    let profile = match agent.guard() {
        Some(guard) => guard.plan().profile.as_str().to_owned(),
        None => config::PROFILES[0].0.to_owned(),
    };
    let cost = match agent.with_log(|log| log.is_empty()) {
        true => 0.0,
        false => agent.totals().map_or(0.0, |totals| totals.stats.cost),
    };
    ui.bind(&id, runtime.downgrade());
    let reporter = Arc::new(Reporter::new(client.clone(), id.clone(), runtime.downgrade(), cost));
    reporter.set_profile(&profile, &plan.profiles);
    // Set once, just now.
    let _ = bound.set((id.clone(), Arc::clone(&reporter)));
    let events = runtime.add_listener(Arc::clone(&reporter) as Arc<_>);
    Ok((Live { runtime, reporter, profile, _events: events }, id, notices))
}

/// Returns the wrapper of the executor; `None` if nothing goes through the client.
fn wrap(client: &Client, through: Through, bound: &Bound) -> Option<WrapExecutor> {
    if !through.reads && !through.writes && !through.commands {
        return None;
    }
    let (client, bound) = (client.clone(), Arc::clone(bound));
    Some(Arc::new(move |inner: Arc<dyn Executor>| {
        let (client, bound) = (client.clone(), Arc::clone(&bound));
        Arc::new(ClientExecutor { inner, client, bound, through }) as Arc<dyn Executor>
    }))
}

/// Submits a prompt, with its images scaled for the model.
async fn submit(
    session: &AgentSession,
    content: PromptContent,
) -> Result<Disposition<Run>, PromptError> {
    let PromptContent { mut text, mut images } = content;
    if !images.is_empty() {
        let fitted = fit_images(images, session.workspace().image_settings()).await;
        if !fitted.notes.is_empty() {
            text = format!("{text}\n\n{}", fitted.notes.join("\n"));
        }
        images = fitted.images;
    }
    let options = PromptOptions::default().images(images).source(InputSource::Rpc);
    session.submit(&text, options).await
}

/// Finishes a run, which a cancellation aborts.
async fn finish(session: &AgentSession, run: Run, cancel: &CancelToken) -> Outcome {
    let finishing = run.finish();
    tokio::pin!(finishing);
    tokio::select! {
        biased;
        outcome = &mut finishing => return outcome,
        () = cancel.cancelled() => session.request_abort(),
    }
    finishing.await
}

/// Returns the instructions of `/compact`; `None` if the text is something else.
fn compact_command(text: &str) -> Option<Option<String>> {
    let rest = text.trim().strip_prefix("/compact")?;
    match rest.trim() {
        "" => Some(None),
        instructions if rest.starts_with(char::is_whitespace) => {
            Some(Some(instructions.to_owned()))
        }
        _ => None,
    }
}

/// Returns the end of a prompt that was not sent to the model.
fn refused(error: PromptError) -> Stop {
    match error {
        PromptError::Blocked { .. } => Stop::Refusal,
        PromptError::NoModel | PromptError::Unusable(_) => Stop::Error(auth_required(error)),
        error => Stop::Error(Error::internal(error)),
    }
}

fn stop(session: &AgentSession, outcome: Outcome) -> Stop {
    match outcome {
        Outcome::Completed => {
            let messages = session.messages();
            let answer = messages.iter().rev().find_map(|message| message.as_assistant());
            match answer.map(|answer| &answer.stop_reason) {
                Some(StopReason::Length) => Stop::MaxTokens,
                _ => Stop::EndTurn,
            }
        }
        Outcome::Aborted => Stop::Cancelled,
        Outcome::Failed { error } => Stop::Error(Error::internal(error)),
        Outcome::Limit { limit: Limit::Turns } => Stop::MaxTurnRequests,
        Outcome::Limit { limit: Limit::Tokens } => Stop::MaxTokens,
        Outcome::Limit { limit } => {
            Stop::Error(Error::internal(format!("the run ended at a limit: {limit}")))
        }
        Outcome::Stopped { by, reason } => {
            Stop::Error(Error::internal(format!("the run was stopped by {by}: {reason}")))
        }
        Outcome::Suspended => Stop::Error(Error::internal("the run waits for an approval")),
        Outcome::Repetition { repetition } => {
            let text = format!("the run ended because the model repeated itself: {repetition}");
            Stop::Error(Error::internal(text))
        }
        _ => Stop::Error(Error::internal("the run ended without an answer")),
    }
}
