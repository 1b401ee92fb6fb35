//! Opening a session anew: with another profile, or as another request for it says. The guard, the
//! directories and the MCP servers belong to a session from its start.

use std::sync::Arc;

use pi_coding_agent::session::Persistence;
use pi_coding_agent::{AgentSession, SessionSelector};
use pi_jsonrpc::Error;
use pi_protocol::{Model, ThinkingLevel};
use tokio::sync::OwnedMutexGuard;

use super::{Live, Open, OpenPlan, Session, Started, start};
use crate::config;
use crate::errors::no_session;
use crate::update::{Severity, Update};

/// State that a session keeps when it is opened anew.
struct Kept {
    selector: SessionSelector,
    model: Option<Arc<Model>>,
    thinking: ThinkingLevel,
}

impl Kept {
    fn of(session: &AgentSession) -> Self {
        let saved = session.with_log(|log| log.is_saved()).then(|| session.file()).flatten();
        let selector = match saved {
            Some(file) => SessionSelector::Existing(file.to_string_lossy().into_owned()),
            // Ids are searched in the directory of one working directory only, which is no problem
            // for a log that is not stored yet.
            None => SessionSelector::WithId(session.id()),
        };
        Self { selector, model: session.model(), thinking: session.thinking_level() }
    }

    /// Selects the model and the thinking level again: a log that is not saved does not have them,
    /// and the options of the program may say something else. Returns what could not be selected.
    async fn restore(&self, session: &AgentSession) -> Vec<String> {
        let mut problems = Vec::new();
        let same =
            |one: &Model, other: &Model| one.provider == other.provider && one.id == other.id;
        if let Some(model) = &self.model
            && !session.model().is_some_and(|now| same(&now, model))
        {
            let found = session.look_up_model(&model.provider, &model.id).await;
            let set = match found {
                Ok(model) => session.set_model(model, Persistence::Session).await,
                Err(error) => Err(error),
            };
            if let Err(error) = set {
                problems.push(format!("the model {} is not selected: {error}", model.id));
            }
        }
        let set = session.set_thinking_level(self.thinking, Persistence::Session).await;
        if let Err(error) = set {
            problems.push(format!("the thinking level is not {}: {error}", self.thinking.as_str()));
        }
        problems
    }
}

impl Session {
    /// Selects another profile, after the run that goes on now.
    pub(crate) async fn set_profile(self: &Arc<Self>, profile: &str) -> Result<(), Error> {
        if !self.profiles.contains(&profile) {
            return Err(config::unknown(config::PROFILE, profile));
        }
        let turn = match Arc::clone(&self.turn).try_lock_owned() {
            Ok(turn) => turn,
            Err(_) => {
                let text = format!("the profile becomes {profile} when the run has ended");
                let notice = self.report(Update::Notice { severity: Severity::Info, text });
                // The turn comes first: a prompt that follows the request gets the next one.
                tokio::join!(Arc::clone(&self.turn).lock_owned(), notice).0
            }
        };
        let plan = self.with_live(|live| (live.profile != profile).then(|| live.plan.clone()))?;
        let Some(plan) = plan else {
            return Ok(());
        };
        self.open_anew(profile.to_owned(), plan, turn).await
    }

    /// Applies another request for the session, which is open. A run keeps what it has.
    pub(crate) async fn adopt(self: &Arc<Self>, plan: OpenPlan) -> Result<(), Error> {
        let is_same = |live: &Live| live.plan.asks_for_the_same_as(&plan);
        if self.with_live(is_same)? {
            return Ok(());
        }
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else {
            let text = "the session is running: its directories and MCP servers stay as they are";
            let severity = Severity::Warning;
            self.report(Update::Notice { severity, text: text.to_owned() }).await;
            return Ok(());
        };
        let profile = self.with_live(|live| live.profile.clone())?;
        self.open_anew(profile, Arc::new(plan), turn).await
    }

    /// Opens the session anew and reports it. If that fails, it is opened as it was before.
    async fn open_anew(
        self: &Arc<Self>,
        profile: String,
        plan: Arc<OpenPlan>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<(), Error> {
        let this = Arc::clone(self);
        // A task of its own: a request that is cancelled does not leave half a session.
        let opening = tokio::spawn(async move {
            let opened = this.replace(&profile, &plan).await;
            drop(turn);
            opened
        });
        opening.await.unwrap_or_else(|error| {
            *self.parts() = Open::Closed;
            Err(Error::internal(format!("opening the session anew: {error}")))
        })
    }

    async fn replace(&self, profile: &str, plan: &Arc<OpenPlan>) -> Result<(), Error> {
        let previous = {
            let mut open = self.parts();
            match std::mem::replace(&mut *open, Open::Reopening) {
                Open::Live(live) => live,
                Open::Reopening | Open::Closed => {
                    *open = Open::Closed;
                    return Err(no_session(&self.id));
                }
            }
        };
        let kept = Kept::of(&previous.runtime.session());
        let before = (previous.profile.clone(), Arc::clone(&previous.plan));
        previous.runtime.shut_down().await;
        // The log is locked until then.
        drop(previous);
        let (opened, failure) = match self.reopen(&kept, profile, plan).await {
            Ok(opened) => (opened, None),
            Err(failure) => match self.reopen(&kept, &before.0, &before.1).await {
                Ok(opened) => (opened, Some(failure)),
                Err(_) => {
                    self.ui.unbind();
                    *self.parts() = Open::Closed;
                    return Err(failure);
                }
            },
        };
        let (live, notices) = opened;
        *self.parts() = Open::Live(live);
        for text in notices {
            self.report(Update::Notice { severity: Severity::Warning, text }).await;
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if before.0 != profile {
            self.report(Update::Mode(profile.to_owned())).await;
            self.reporter()?.options().await;
        }
        Ok(())
    }

    /// Opens the session again. Returns what the user should know, too.
    async fn reopen(
        &self,
        kept: &Kept,
        profile: &str,
        plan: &Arc<OpenPlan>,
    ) -> Result<(Live, Vec<String>), Error> {
        let (client, selector) = (&self.client, kept.selector.clone());
        let (id, ui, approvals) = (Some(&*self.id), &self.ui, &self.approvals);
        let started = start(client, plan, selector, id, Some(profile), ui, approvals).await?;
        let Started { live, mut notices, .. } = started;
        notices.extend(kept.restore(&live.runtime.session()).await);
        Ok((live, notices))
    }
}
