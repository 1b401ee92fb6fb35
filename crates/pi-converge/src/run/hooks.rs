//! Hooks at the start and the end of a run, and the interventions during it.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::CreateError;
use pi_coding_agent::hooks::{HookEvent, HookResult, Hooks};
use pi_coding_agent::session::{AgentSession, Intervention, SessionEvent, Subscription};
use serde_json::{Map, Value, json};

use super::options::agent_options;
use super::terms::terms;
use super::{Ended, Running};
use crate::outcome::Outcome;

/// The decisions of guardrails and hooks in a run. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interventions(Arc<Mutex<Vec<Intervention>>>);

impl Interventions {
    /// Collects the interventions of a session until the subscription is dropped.
    pub(crate) fn collect(&self, session: &AgentSession) -> Subscription {
        let list = self.clone();
        session.subscribe(move |event| {
            if let SessionEvent::Guardrail { intervention } = event {
                lock(&list.0).push((**intervention).clone());
            }
        })
    }

    /// Returns the interventions so far.
    pub(crate) fn list(&self) -> Vec<Intervention> {
        lock(&self.0).clone()
    }
}

impl Running {
    /// Runs the hooks at the start. A run that is resumed has started before.
    pub(super) async fn run_start_hooks(&mut self) -> Result<(), Ended> {
        self.hooks = self.find_hooks()?;
        if self.resuming.is_some() {
            return Ok(());
        }
        let result = self.run_hooks(HookEvent::RunStart, Map::new()).await?;
        if let Some(report) = result.stop.or(result.block) {
            let reason = format!("The hook {} stopped the run: {}", report.hook, report.reason);
            return Err(Ended::new(Outcome::Guardrail, reason));
        }
        self.context = result.context;
        Ok(())
    }

    /// Runs the hooks at the end, which change nothing.
    pub(super) async fn run_end_hooks(&mut self, ended: &Ended) {
        if self.options.tape.is_replay() {
            return;
        }
        let fields = Map::from_iter([
            ("outcome".to_owned(), json!(ended.outcome)),
            ("exit_code".to_owned(), json!(ended.outcome.exit_code())),
            ("reason".to_owned(), json!(ended.reason)),
        ]);
        if let Err(failed) = self.run_hooks(HookEvent::RunEnd, fields).await {
            self.work.problems.push(failed.reason);
        }
    }

    /// Returns the hooks of the run, with the files of their commands as they are now: before an
    /// agent can change them.
    fn find_hooks(&self) -> Result<Option<Hooks>, Ended> {
        let mut options = agent_options(&self.contract, &self.options.agent)?;
        options.tap = self.options.tape.tap();
        Hooks::of(&options).map_err(|error| Ended::from(&CreateError::Guard(error)))
    }

    async fn run_hooks(
        &mut self,
        event: HookEvent,
        mut fields: Map<String, Value>,
    ) -> Result<HookResult, Ended> {
        if self.hooks.is_none() {
            self.hooks = self.find_hooks()?;
        }
        let Some(hooks) = self.hooks.clone().filter(|hooks| hooks.has(event)) else {
            return Ok(HookResult::default());
        };
        fields.insert("run_id".to_owned(), json!(self.directory.id()));
        fields.insert("name".to_owned(), json!(self.contract.name));
        fields.insert("goal".to_owned(), json!(self.contract.goal));
        fields.insert("session_file".to_owned(), json!(self.session_file));
        let result = hooks.run(event, "", fields, self.options.interrupt.token()).await;
        let failures = result.failures.iter();
        self.work
            .problems
            .extend(failures.map(|failure| format!("hook {}: {}", failure.hook, failure.error)));
        Ok(result)
    }

    /// Returns the prompt with the goal, the terms of the contract, and what hooks added.
    pub(super) fn goal_prompt(&self) -> String {
        let mut prompt = self.contract.prompt();
        for text in terms(&self.contract).iter().chain(&self.context) {
            prompt.push_str("\n\n");
            prompt.push_str(text);
        }
        prompt
    }
}
