//! Changing the profile of a session. The guard belongs to a session from its start, so that the
//! session is opened anew.

use std::sync::Arc;

use pi_coding_agent::session::Persistence;
use pi_coding_agent::{AgentSession, SessionSelector};
use pi_jsonrpc::Error;
use pi_protocol::{Model, ThinkingLevel};

use super::{Live, Open, Session, Started, start};
use crate::config;
use crate::update::{Severity, Update};

/// What a session keeps when it is opened anew.
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
    /// Selects another profile.
    pub(crate) async fn set_profile(self: &Arc<Self>, profile: &str) -> Result<(), Error> {
        if !self.plan.profiles.contains(&profile) {
            return Err(config::unknown(config::PROFILE, profile));
        }
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else {
            return Err(Error::new(
                Error::INVALID_REQUEST,
                "the profile cannot change during a run; cancel the run or wait for its end",
            ));
        };
        let (this, profile) = (Arc::clone(self), profile.to_owned());
        // A task of its own: a request that is cancelled does not leave half a session.
        let changing = tokio::spawn(async move {
            let changed = this.change_profile(&profile).await;
            drop(turn);
            changed
        });
        changing.await.unwrap_or_else(|error| {
            *self.parts() = Open::Closed;
            Err(Error::internal(format!("the change of the profile: {error}")))
        })
    }

    async fn change_profile(&self, profile: &str) -> Result<(), Error> {
        let previous = {
            let mut open = self.parts();
            match std::mem::replace(&mut *open, Open::Reopening) {
                Open::Live(live) if live.profile != profile => live,
                unchanged => {
                    *open = unchanged;
                    drop(open);
                    return self.agent().map(|_| ());
                }
            }
        };
        let (kept, before) = (Kept::of(&previous.runtime.session()), previous.profile.clone());
        previous.runtime.shut_down().await;
        // The log is locked until then.
        drop(previous);
        let (opened, failure) = match self.reopen(&kept, profile).await {
            Ok(opened) => (opened, None),
            Err(failure) => match self.reopen(&kept, &before).await {
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
        self.report(Update::Mode(profile.to_owned())).await;
        self.reporter()?.options().await;
        Ok(())
    }

    /// Opens the session again. Returns what the user should know, too.
    async fn reopen(&self, kept: &Kept, profile: &str) -> Result<(Live, Vec<String>), Error> {
        let (client, plan, selector) = (&self.client, &self.plan, kept.selector.clone());
        let (id, ui, approvals) = (Some(&*self.id), &self.ui, &self.approvals);
        let started = start(client, plan, selector, id, Some(profile), ui, approvals).await?;
        let Started { live, mut notices, .. } = started;
        notices.extend(kept.restore(&live.runtime.session()).await);
        Ok((live, notices))
    }
}
