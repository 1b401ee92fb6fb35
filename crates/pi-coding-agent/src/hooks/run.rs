//! The hooks of one event, one after the other: each sees what those before it changed, and the
//! strictest decision counts.

use std::sync::Arc;

use pi_config::settings::Profile;
use pi_config::{Settings, SettingsScope, SettingsStore};
use pi_protocol::CancelToken;
use pi_tools::supervisor::Supervisor;
use serde_json::{Map, Value, json};

use super::payload::Payload;
use super::{CommandRunner, Hook, HookDecision, HookEvent, HookVerdict, OnHookFailure};
use crate::AgentOptions;
use crate::create::load_settings;
use crate::{Environment, Tap};

/// The hooks of a project, ready to run.
#[derive(Debug, Clone)]
pub struct Hooks {
    hooks: Vec<Hook>,
    runner: CommandRunner,
    /// The failure of a gate is a refusal.
    strict: bool,
}

/// The combined answer of the hooks of one event.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct HookResult {
    /// The hook that blocked, with its reason. A failure that counts as a refusal is one.
    pub block: Option<HookReport>,
    /// The hooks that require approval, with their reasons.
    pub ask: Option<HookReport>,
    /// The hook that ends the run, with its reason.
    pub stop: Option<HookReport>,
    /// Replacement for the arguments of a tool call or the text of a prompt, with the last hook
    /// that changed it.
    pub updated_input: Option<(HookReport, Value)>,
    /// Replacement for the result of a tool call, with the last hook that changed it.
    pub updated_output: Option<(HookReport, String)>,
    /// Texts that the model gets in addition.
    pub context: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// Hooks that failed.
    pub failures: Vec<HookFailure>,
    /// Names of the hooks that ran.
    pub ran: Vec<String>,
}

/// A hook and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookReport {
    /// Name of the hook.
    pub hook: String,
    /// Reason of the decision.
    pub reason: String,
}

/// A hook that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookFailure {
    /// Name of the hook.
    pub hook: String,
    /// Description of the failure.
    pub error: String,
}

/// Returns the hooks of all settings files, with the owner of the file: `user` or `project`.
pub fn configured_hooks(settings: &SettingsStore) -> Vec<(&'static str, Hook)> {
    let owners = [("user", SettingsScope::User), ("project", SettingsScope::Project)];
    let hooks = owners.into_iter().flat_map(|(owner, scope)| {
        let group = settings.scope(scope).hooks.unwrap_or_default();
        group.0.into_iter().map(move |hook| (owner, hook))
    });
    hooks.collect()
}

impl Hooks {
    /// Creates the hooks of the settings; `None` if there are none.
    pub(crate) fn new(
        settings: &Settings,
        environment: &Environment,
        supervisor: Option<&Supervisor>,
        tap: Option<&Arc<dyn Tap>>,
    ) -> Option<Self> {
        let hooks = settings.hooks.as_ref()?.0.clone();
        if hooks.is_empty() {
            return None;
        }
        let runner = CommandRunner::new(environment, supervisor).with_tap(tap);
        let strict = settings.profile() != Profile::Explore;
        Some(Self { hooks, runner, strict })
    }

    /// Loads the hooks that a session with these options would have, for events outside of
    /// sessions and for tests of the configuration.
    pub fn load(options: &AgentOptions) -> Option<Self> {
        let (settings, _) = load_settings(options, None, &mut Vec::new());
        let (supervisor, tap) = (options.supervisor.as_ref(), options.tap.as_ref());
        Self::new(settings.settings(), &options.environment, supervisor, tap)
    }

    /// Returns all hooks.
    pub fn all(&self) -> &[Hook] {
        &self.hooks
    }

    /// Returns true if a hook runs at an event.
    pub fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Returns true if the failure of a gate is a refusal.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Runs the hooks of an event. `subject` is the text for their matchers. A hook that blocks or
    /// stops is the last one.
    pub async fn run(
        &self,
        event: HookEvent,
        subject: &str,
        fields: Map<String, Value>,
        cancel: &CancelToken,
    ) -> HookResult {
        let mut result = HookResult::default();
        let mut payload = Payload::new(event, self.runner.cwd(), fields);
        let matching = |hook: &&Hook| hook.event == event && hook.matcher.matches(subject);
        for hook in self.hooks.iter().filter(matching) {
            result.ran.push(hook.name.clone());
            match self.run_one(hook, &payload, cancel).await {
                Ok(decision) => result.add(hook, decision, &mut payload),
                Err(error) => {
                    result.failures.push(HookFailure { hook: hook.name.clone(), error });
                    if self.refuses(hook) {
                        let reason = "the hook failed, so this is refused".to_owned();
                        result.block = Some(HookReport { hook: hook.name.clone(), reason });
                    }
                }
            }
            if result.block.is_some() || result.stop.is_some() {
                break;
            }
        }
        result
    }

    async fn run_one(
        &self,
        hook: &Hook,
        payload: &Payload,
        cancel: &CancelToken,
    ) -> Result<HookDecision, String> {
        let mut variables = vec![("PI_HOOK_EVENT", hook.event.name().to_owned())];
        for (variable, field) in
            [("PI_SESSION_ID", "session_id"), ("PI_SESSION_FILE", "session_file")]
        {
            let value = payload.text(field).unwrap_or_default().to_owned();
            variables.push((variable, value));
        }
        let input = payload.for_hook(hook);
        let ran = self.runner.run(&hook.command, &input, &variables, hook.timeout, cancel).await;
        let finished = ran.map_err(|failure| failure.to_string())?;
        HookDecision::read(hook.event, &finished)
    }

    /// Returns true if the failure of a hook is a refusal.
    fn refuses(&self, hook: &Hook) -> bool {
        match hook.on_failure {
            Some(on_failure) => on_failure == OnHookFailure::Refuse,
            None => self.strict && hook.event.is_gate(),
        }
    }
}

impl HookResult {
    /// Redacts the texts that models and logs receive.
    pub(crate) fn redact(&mut self, redact: &dyn Fn(&str) -> String) {
        for report in [&mut self.block, &mut self.ask, &mut self.stop].into_iter().flatten() {
            report.reason = redact(&report.reason);
        }
        if let Some((report, text)) = &mut self.updated_output {
            report.reason = redact(&report.reason);
            *text = redact(text);
        }
        for text in &mut self.context {
            *text = redact(text);
        }
    }

    /// Adds the answer of one hook.
    fn add(&mut self, hook: &Hook, decision: HookDecision, payload: &mut Payload) {
        let report = |reason: Option<String>, default: &str| HookReport {
            hook: hook.name.clone(),
            reason: reason.unwrap_or_else(|| default.to_owned()),
        };
        let HookDecision { verdict, reason, .. } = decision;
        match verdict {
            Some(HookVerdict::Block) => {
                self.block = Some(report(reason.clone(), "the hook gave no reason"));
            }
            Some(HookVerdict::Ask) if self.ask.is_none() => {
                self.ask = Some(report(reason.clone(), "the hook requires approval"));
            }
            Some(HookVerdict::Ask | HookVerdict::Allow) | None => {}
        }
        if let Some(reason) = decision.stop {
            self.stop = Some(report(Some(reason), ""));
        }
        if let Some(input) = decision.updated_input {
            let field = if hook.event == HookEvent::BeforeTool { "tool_input" } else { "prompt" };
            payload.set(field, input.clone());
            self.updated_input = Some((report(reason.clone(), "the hook changed it"), input));
        }
        if let Some(output) = decision.updated_output {
            payload.set("tool_response", json!(output));
            self.updated_output = Some((report(reason, "the hook changed it"), output));
        }
        self.context.extend(decision.additional_context);
        self.messages.extend(decision.system_message);
    }
}
