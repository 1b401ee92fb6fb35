//! The checks of one position, one after the other: each sees what those before it changed, and the
//! strictest decision counts.

use pi_config::Settings;
use pi_config::hooks::{Hook, HookEvent, OnHookFailure};
use pi_config::settings::Profile;
use serde_json::{Map, Value, json};

use super::check::{Check, Subject};
use super::command::{Checking, CommandRunner};
use super::guardrail;
use super::result::{Answered, CheckResult};
use crate::session::{AgentSession, InterventionSource};
use pi_config::hooks::{HookDecision, HookVerdict};

/// The checks of one format, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    pub(super) source: InterventionSource,
    pub(super) all: Vec<Check>,
    pub(super) runner: CommandRunner,
    /// The failure of a hook at a gate is a refusal.
    pub(super) strict: bool,
}

impl Checks {
    /// Creates the hooks of the settings; `None` if there are none.
    pub(crate) fn hooks(settings: &Settings, runner: &CommandRunner) -> Option<Self> {
        let hooks = settings.hooks.clone()?.0.into_iter().map(Check::Hook);
        Self::new(InterventionSource::Hook, hooks.collect(), settings, runner)
    }

    /// Creates the guardrails of the settings; `None` if there are none.
    pub(crate) fn guardrails(settings: &Settings, runner: &CommandRunner) -> Option<Self> {
        let guardrails = settings.guardrails.clone()?.into_iter();
        let guardrails = guardrails.map(|one| Check::Guardrail(Box::new(one)));
        Self::new(InterventionSource::Guardrail, guardrails.collect(), settings, runner)
    }

    fn new(
        source: InterventionSource,
        all: Vec<Check>,
        settings: &Settings,
        runner: &CommandRunner,
    ) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let runner = runner.clone();
        let strict = settings.profile() != Profile::Explore;
        Some(Self { source, all, runner, strict })
    }

    /// Returns true if a check runs at an event.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.all.iter().any(|check| check.event() == Some(event))
    }

    /// Runs the checks of an event that accept the text `matched`. One that blocks or stops is the
    /// last one.
    pub(crate) async fn run(
        &self,
        event: HookEvent,
        matched: &str,
        mut subject: Subject<'_>,
    ) -> CheckResult {
        let mut result = CheckResult::default();
        let is_due = |check: &&Check| check.event() == Some(event) && check.concerns(matched);
        for check in self.all.iter().filter(is_due) {
            result.ran.push(check.name().to_owned());
            let answered = match check {
                Check::Hook(hook) => self.ask_hook(hook, &subject).await,
                Check::Guardrail(one) => {
                    let tripped = guardrail::check(one, &subject, &self.runner).await;
                    tripped.map(|tripped| tripped.answered(event)).unwrap_or_default()
                }
            };
            result.add(check.name(), answered, event, &mut subject);
            if result.refusal().is_some() {
                break;
            }
        }
        result
    }

    async fn ask_hook(&self, hook: &Hook, subject: &Subject<'_>) -> Answered {
        let mut variables = vec![("PI_HOOK_EVENT", hook.event.name().to_owned())];
        for (variable, field) in
            [("PI_SESSION_ID", "session_id"), ("PI_SESSION_FILE", "session_file")]
        {
            let value = subject.fields.get(field).and_then(Value::as_str).unwrap_or_default();
            variables.push((variable, value.to_owned()));
        }
        let input = self.hook_input(hook, &subject.fields);
        let checking = Checking {
            command: &hook.command,
            input: &input,
            variables: &variables,
            timeout: hook.timeout,
            is_lifted: hook.sandbox == Some(false),
            guard: subject.session.and_then(AgentSession::guard),
        };
        let ran = self.runner.run(checking, subject.cancel).await;
        let decision = ran
            .map_err(|failure| failure.to_string())
            .and_then(|finished| HookDecision::read(hook.event, &finished));
        match decision {
            Ok(decision) => Answered { decision, ..Answered::default() },
            Err(failure) => {
                let mut answered = Answered { failure: Some(failure), ..Answered::default() };
                if self.refuses(hook) {
                    answered.decision.verdict = Some(HookVerdict::Block);
                    let reason = "the hook failed, so this is refused".to_owned();
                    answered.decision.reason = Some(reason);
                }
                answered
            }
        }
    }

    /// Returns the input of a hook. The names are the widespread ones; `event` is
    /// ours. A hook knows the event by the name in its settings.
    fn hook_input(&self, hook: &Hook, fields: &Map<String, Value>) -> String {
        let mut input = Map::new();
        input.insert("event".to_owned(), json!(hook.event.name()));
        input.insert("cwd".to_owned(), json!(self.runner.cwd()));
        input.extend(fields.clone());
        input.insert("hook_event_name".to_owned(), json!(hook.written_event));
        Value::Object(input).to_string()
    }

    /// Returns true if the failure of a hook is a refusal.
    fn refuses(&self, hook: &Hook) -> bool {
        match hook.on_failure {
            Some(on_failure) => on_failure == OnHookFailure::Refuse,
            None => self.strict && hook.event.is_gate(),
        }
    }
}
