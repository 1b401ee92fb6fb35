//! The extension that runs the checks of one format in a session.
//!
//! Hooks and guardrails have an extension each, hooks first: guardrails see what hooks changed and
//! added.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_agent::{BoxFuture, OutputChange, RequiredApproval};
use pi_base::lock;
use pi_config::hooks::HookEvent;
use pi_protocol::{CancelToken, CustomEntryMessage, EntryBody, UserBlock, UserContent};
use pi_session::ExtensionMessage;
use serde_json::{Map, Value, json};

use super::check::{Check, Subject, fields_of_call, position};
use super::events::word;
use super::result::{CheckReport, CheckResult};
use super::run::Checks;
use crate::extension::{
    Ask, BeforeAgentStart, BeforeCompact, BeforePrompt, BeforeSettle, Boundary, Compaction,
    ExtensionContext, ExtensionError, Handlers, MessageEnd, NotifyKind, PromptBlock,
    PromptDecision, RunOutcome, RunStart, ToolCall, ToolDecision, ToolResult,
};
use crate::session::{AgentSession, Intervention, InterventionAction, InterventionSource};

/// Number of times in a run that hooks can make the agent continue.
const MAX_CONTINUATIONS: u32 = 5;

/// The checks of a session.
pub(super) struct SessionChecks {
    pub(super) checks: Checks,
    /// Name of the agent, if the session is that of a sub-agent.
    pub(super) subagent: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// Texts of hooks before a tool call, for its result.
    of_calls: BTreeMap<String, Vec<String>>,
    /// Texts for the next prompt.
    pub(super) for_prompt: Vec<String>,
    /// The hook that does not let the session begin.
    pub(super) refusal: Option<CheckReport>,
    /// Number of times that hooks made this run continue.
    continuations: u32,
    /// The request for another answer than the one that was withheld.
    pub(super) ask_again: Option<String>,
    /// Number of answers of this run that were asked for again.
    pub(super) retries: u32,
}

/// Returns the extension that runs checks. Only the questions that they answer are registered.
pub(crate) fn extension(checks: Checks, subagent: Option<String>) -> Handlers {
    let has = |event| checks.has(event);
    let (calls, results) = (has(HookEvent::BeforeTool), has(HookEvent::AfterTool));
    let starts = has(HookEvent::SessionStart) || has(HookEvent::SubagentStart);
    let prompts = has(HookEvent::BeforePrompt) || starts;
    let answers = checks.all.iter().any(|check: &Check| check.event().is_none());
    let stops = has(HookEvent::Stop) || has(HookEvent::SubagentStop) || answers;
    let rewrites_results = results && checks.source == InterventionSource::Guardrail;
    let compactions = has(HookEvent::BeforeCompact);
    let receives_events = checks.source == InterventionSource::Hook;
    let all = Arc::new(SessionChecks { checks, subagent, state: Mutex::default() });
    // Each check has a limit of its own.
    let mut handlers = Handlers::new(all.path()).without_time_limit();
    handlers = answering(handlers, calls, &all, |all, call: ToolCall, context| {
        Box::pin(async move { all.before_tool(call, &context).await })
    });
    // The result of a call has the texts of the hooks before it.
    handlers = answering(handlers, calls || results, &all, |all, result: ToolResult, context| {
        Box::pin(async move { all.after_tool(result, &context).await })
    });
    handlers = answering(handlers, prompts, &all, |all, prompt: BeforePrompt, context| {
        Box::pin(async move { all.before_prompt(prompt, &context).await })
    });
    handlers = answering(handlers, stops, &all, |all, _: BeforeAgentStart, _| {
        let mut state = all.state();
        (state.continuations, state.ask_again, state.retries) = (0, None, 0);
        Box::pin(std::future::ready(Ok(RunStart::default())))
    });
    handlers = answering(handlers, stops, &all, |all, settle: BeforeSettle, context| {
        Box::pin(async move { all.before_settle(settle, &context).await })
    });
    handlers = answering(handlers, answers, &all, |all, end: MessageEnd, context| {
        Box::pin(async move { all.check_answer(end, &context).await })
    });
    handlers = answering(handlers, compactions, &all, |all, compact: BeforeCompact, context| {
        Box::pin(async move { all.before_compact(compact, &context).await })
    });
    if answers || rewrites_results {
        // What was shown cannot be withheld any more.
        handlers = handlers.setup(move |api| {
            if answers {
                api.withhold_answers();
            }
            if rewrites_results {
                api.withhold_results();
            }
            Ok(())
        });
    }
    if receives_events {
        handlers = handlers.on_event(move |event, context| {
            let all = Arc::clone(&all);
            async move {
                all.on_event(&event, &context).await;
                Ok(())
            }
        });
    }
    handlers
}

/// The future of a handler.
type Answering<Q> = BoxFuture<'static, Result<<Q as Ask>::Answer, ExtensionError>>;

/// Registers a handler if it is needed.
fn answering<Q: Ask>(
    handlers: Handlers,
    is_needed: bool,
    checks: &Arc<SessionChecks>,
    handler: fn(Arc<SessionChecks>, Q, ExtensionContext) -> Answering<Q>,
) -> Handlers {
    if !is_needed {
        return handlers;
    }
    let checks = Arc::clone(checks);
    handlers.on(move |question: Q, context| handler(Arc::clone(&checks), question, context))
}

impl SessionChecks {
    async fn before_tool(
        &self,
        call: ToolCall,
        context: &ExtensionContext,
    ) -> Result<ToolDecision, ExtensionError> {
        let Some(session) = context.session() else { return Ok(ToolDecision::allow()) };
        let (tool, id) = (call.tool_name.as_str(), call.tool_call_id.as_str());
        let event = HookEvent::BeforeTool;
        let (value, fields) = (json!(call.input), fields_of_call(tool, id, &call.input));
        let cancel = session.abort_token();
        let mut result = self.run(event, tool, value, fields, (&session, context), &cancel).await;
        let mut input = None;
        let mut refusal = result.refusal().map(|report| self.refusal(report, &report.reason));
        if let Some((report, updated)) = &result.updated_input
            && refusal.is_none()
        {
            match session.check_arguments(tool, updated) {
                Ok(updated) => input = Some(updated),
                Err(problem) if self.checks.source == InterventionSource::Guardrail => {
                    let error = format!("the changed arguments are invalid: {problem}");
                    refusal = Some(self.refusal(report, &error));
                }
                Err(problem) => {
                    let error = format!("invalid updatedInput: {problem}");
                    self.report_failure(self.position(event), &report.hook, &error, context).await;
                    if self.checks.strict {
                        refusal =
                            Some(format!("This was not run: {}: {error}", self.by(&report.hook)));
                    }
                    let is_kept = |action| action != InterventionAction::Rewrite;
                    result.interventions.retain(|(action, _)| is_kept(*action));
                }
            }
        }
        self.intervene(&session, event, &result, Some(id)).await;
        if let Some(refusal) = refusal {
            return Ok(ToolDecision::block(refusal));
        }
        let asked =
            result.interventions.iter().filter(|(action, _)| *action == InterventionAction::Ask);
        let approvals = asked.map(|(_, report)| RequiredApproval {
            reason: format!("{}: {}", self.by(&report.hook), report.reason),
            by: self.checks.source.name().to_owned(),
        });
        let approvals = approvals.collect();
        // Replaces the texts of a call with the same id that was blocked later.
        self.state().of_calls.insert(id.to_owned(), result.context);
        Ok(ToolDecision::requiring(input, approvals))
    }

    async fn after_tool(
        &self,
        asked: ToolResult,
        context: &ExtensionContext,
    ) -> Result<OutputChange, ExtensionError> {
        let Some(session) = context.session() else { return Ok(OutputChange::default()) };
        let (tool, id) = (asked.tool_name.as_str(), asked.tool_call_id.as_str());
        let mut texts = self.state().of_calls.remove(id).unwrap_or_default();
        let event = HookEvent::AfterTool;
        let shown = asked.result.content.iter().filter_map(UserBlock::as_text);
        let value = json!(shown.collect::<Vec<_>>().join("\n"));
        let mut fields = fields_of_call(tool, id, &asked.input);
        fields["tool_response"] = value.clone();
        fields["is_error"] = json!(asked.is_error);
        let cancel = session.abort_token();
        let result = self.run(event, tool, value, fields, (&session, context), &cancel).await;
        self.intervene(&session, event, &result, Some(id)).await;
        let mut change = OutputChange::default();
        let mut content = asked.result.content.clone();
        let mut changed = false;
        if let Some((_, output)) = &result.updated_output {
            content = vec![UserBlock::text(output)];
            changed = true;
        }
        texts.extend(result.context.iter().cloned());
        match self.checks.source {
            InterventionSource::Hook => {
                if let Some(CheckReport { hook, reason }) = &result.block {
                    texts.push(format!("[Hook {hook}: {reason}]"));
                    change.is_error = Some(true);
                }
            }
            InterventionSource::Guardrail => {
                if let Some(CheckReport { hook, reason }) = result.refusal() {
                    let text = format!("[The result was withheld by guardrail {hook}: {reason}]");
                    content = vec![UserBlock::text(text)];
                    change.is_error = Some(true);
                    changed = true;
                }
                // Images and details may show what the text does not any more.
                change.details = changed.then(|| json!({}));
            }
        }
        changed |= !texts.is_empty();
        content.extend(texts.into_iter().map(UserBlock::text));
        change.content = changed.then_some(content);
        Ok(change)
    }

    async fn before_prompt(
        &self,
        prompt: BeforePrompt,
        context: &ExtensionContext,
    ) -> Result<PromptDecision, ExtensionError> {
        let mut decision = PromptDecision::default();
        let Some(session) = context.session() else { return Ok(decision) };
        let blocked = |report: &CheckReport| PromptBlock {
            by: self.by(&report.hook),
            reason: report.reason.clone(),
        };
        let earlier = self.state().refusal.clone();
        if let Some(refusal) = earlier {
            decision.block = Some(blocked(&refusal));
            return Ok(decision);
        }
        let event = HookEvent::BeforePrompt;
        let mut fields = json!({ "prompt": prompt.text });
        if self.checks.source == InterventionSource::Hook {
            fields["source"] = json!(prompt.source);
        }
        // The prompt may come during a run, whose end does not concern it.
        let cancel = CancelToken::new();
        let value = json!(prompt.text);
        let result = self.run(event, "", value, fields, (&session, context), &cancel).await;
        self.intervene(&session, event, &result, None).await;
        if let Some(report) = result.refusal() {
            decision.block = Some(blocked(report));
            return Ok(decision);
        }
        if let Some((_, Value::String(text))) = result.updated_input {
            decision.text = Some(text);
        }
        let waiting = std::mem::take(&mut self.state().for_prompt);
        let texts = waiting.into_iter().chain(result.context);
        decision.context = texts.map(|text| self.message(text)).collect();
        Ok(decision)
    }

    async fn before_settle(
        &self,
        BeforeSettle(settle): BeforeSettle,
        context: &ExtensionContext,
    ) -> Result<Boundary, ExtensionError> {
        let withheld = self.state().ask_again.take();
        let Some(session) = context.session() else { return Ok(Boundary::default()) };
        if settle.outcome != RunOutcome::Completed {
            return Ok(Boundary::default());
        }
        if let Some(request) = withheld {
            return Ok(self.continuing(settle.entries, request));
        }
        let event = match &self.subagent {
            Some(_) => HookEvent::SubagentStop,
            None => HookEvent::Stop,
        };
        let continuations = self.state().continuations;
        let answer = settle.message.as_ref().map(|answer| answer.text());
        let fields = json!({
            "stop_hook_active": continuations > 0, "last_assistant_message": answer,
            "agent_name": self.subagent,
        });
        let cancel = session.abort_token();
        let agent = self.subagent.clone().unwrap_or_default();
        let at = (&session, context);
        let result = self.run(event, &agent, Value::Null, fields, at, &cancel).await;
        if let Some(stop) = &result.stop {
            self.tell(&session, event, stop, InterventionAction::Stop).await;
            return Ok(Boundary::default());
        }
        let Some(block) = &result.block else { return Ok(Boundary::default()) };
        if continuations >= MAX_CONTINUATIONS {
            let (by, reason) = (self.by(&block.hook), &block.reason);
            let error =
                format!("{by} has made the agent continue {MAX_CONTINUATIONS} times: {reason}");
            context.report_failure(&self.path(), event.name(), &error).await;
            if self.checks.strict {
                self.tell(&session, event, block, InterventionAction::Stop).await;
            }
            return Ok(Boundary::default());
        }
        self.state().continuations += 1;
        self.tell(&session, event, block, InterventionAction::Continue).await;
        let mut texts = vec![block.reason.clone()];
        texts.extend(result.context.clone());
        Ok(self.continuing(settle.entries, texts.join("\n\n")))
    }

    async fn before_compact(
        &self,
        compact: BeforeCompact,
        context: &ExtensionContext,
    ) -> Result<Compaction, ExtensionError> {
        let Some(session) = context.session() else { return Ok(Compaction::Proceed) };
        let event = HookEvent::BeforeCompact;
        let reason = word(&compact.reason);
        let fields = json!({ "trigger": reason, "custom_instructions": compact.instructions });
        let (at, cancel) = ((&session, context), &compact.cancel);
        let result = self.run(event, &reason, Value::Null, fields, at, cancel).await;
        self.intervene(&session, event, &result, None).await;
        Ok(if result.refusal().is_some() { Compaction::Cancel } else { Compaction::Proceed })
    }

    /// Runs the checks of an event and reports those that fail. Texts are redacted.
    pub(super) async fn run(
        &self,
        event: HookEvent,
        matched: &str,
        value: Value,
        own_fields: Value,
        (session, context): (&AgentSession, &ExtensionContext),
        cancel: &CancelToken,
    ) -> CheckResult {
        let mut fields = Map::new();
        if self.checks.source == InterventionSource::Hook {
            let file = session.file();
            fields.insert("session_id".to_owned(), json!(session.id()));
            fields.insert("session_file".to_owned(), json!(file));
            fields.insert("transcript_path".to_owned(), json!(file));
            if let Some(guard) = session.guard() {
                fields.insert("profile".to_owned(), json!(guard.plan().profile));
            }
        }
        if let Value::Object(own) = own_fields {
            fields.extend(own);
        }
        let subject = Subject { session: Some(session), value, fields, cancel };
        let mut result = self.checks.run(event, matched, subject).await;
        for failure in &result.failures {
            let position = self.position(event);
            self.report_failure(position, &failure.hook, &failure.error, context).await;
        }
        for message in &result.messages {
            context.ui().notify(message.as_str(), NotifyKind::Info);
        }
        if let Some(guard) = session.guard() {
            result.redact(&|text| guard.redact(text).into_owned());
        }
        result
    }

    /// Emits and records everything that the checks decided.
    async fn intervene(
        &self,
        session: &AgentSession,
        event: HookEvent,
        result: &CheckResult,
        call_id: Option<&str>,
    ) {
        for (action, CheckReport { hook, reason }) in &result.interventions {
            let told = (*action, hook.as_str(), reason.as_str());
            self.intervene_once(session, self.position(event), told, call_id).await;
        }
    }

    /// Emits and records one decision: the action, the name of the check, and the reason.
    pub(super) async fn intervene_once(
        &self,
        session: &AgentSession,
        position: &str,
        (action, name, reason): (InterventionAction, &str, &str),
        call_id: Option<&str>,
    ) {
        let mut one = Intervention::new(self.checks.source, name, position, action, reason);
        if let Some(id) = call_id {
            one = one.of_call(id);
        }
        session.intervene(one).await;
    }

    /// Emits and records the decision of a hook at an event.
    pub(super) async fn tell(
        &self,
        session: &AgentSession,
        event: HookEvent,
        CheckReport { hook, reason }: &CheckReport,
        action: InterventionAction,
    ) {
        let told = (action, hook.as_str(), reason.as_str());
        self.intervene_once(session, event.name(), told, None).await;
    }

    /// Reports a check that could not be evaluated.
    pub(super) async fn report_failure(
        &self,
        position: &str,
        check: &str,
        error: &str,
        context: &ExtensionContext,
    ) {
        let error = format!("{}: {error}", self.by(check));
        context.report_failure(&self.path(), position, &error).await;
    }

    fn position(&self, event: HookEvent) -> &'static str {
        position(self.checks.source, event)
    }

    /// Returns the name of the extension in reports.
    pub(super) fn path(&self) -> String {
        format!("builtin:{}s", self.checks.source.name())
    }

    /// Describes a check: `guardrail NAME` or `hook NAME`.
    pub(super) fn by(&self, check: &str) -> String {
        format!("{} {check}", self.checks.source.name())
    }

    /// Returns the tool error for a blocked call.
    fn refusal(&self, report: &CheckReport, reason: &str) -> String {
        format!(
            "This was not run: {} blocked it: {}. Do not work around this: continue without it, \
             or tell the user.",
            self.by(&report.hook),
            reason.trim_end_matches('.')
        )
    }

    /// Makes the agent continue with a message.
    fn continuing(&self, mut entries: Vec<EntryBody>, text: String) -> Boundary {
        let ExtensionMessage { custom_type, content, display, details, .. } = self.message(text);
        let message = CustomEntryMessage { custom_type, content, display, details };
        entries.push(EntryBody::CustomMessage(Box::new(message)));
        Boundary { entries: Some(entries), continues: Some(true) }
    }

    fn message(&self, text: String) -> ExtensionMessage {
        ExtensionMessage {
            custom_type: self.checks.source.name().to_owned(),
            content: UserContent::Text(text),
            display: true,
            ..ExtensionMessage::default()
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
