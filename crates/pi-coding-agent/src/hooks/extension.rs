//! The extension that runs hooks in a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::{OutputChange, RequiredApproval};
use pi_protocol::{CancelToken, CustomEntryMessage, EntryBody, UserBlock, UserContent};
use pi_session::ExtensionMessage;
use serde_json::{Map, Value, json};

use super::payload::text_of;
use super::{HookEvent, HookReport, HookResult, Hooks};
use crate::extension::{
    BeforeAgentStart, BeforeCompact, BeforePrompt, BeforeSettle, Boundary, Compaction,
    ExtensionContext, ExtensionError, Handlers, NotifyKind, PromptBlock, PromptDecision, RunMode,
    RunOutcome, RunStart, ToolCall, ToolDecision, ToolResult,
};
use crate::session::{
    AgentSession, Intervention, InterventionAction, InterventionSource, SessionEvent,
    ShutdownReason, StartReason,
};

/// Name of the extension in reports.
const PATH: &str = "builtin:hooks";

/// Type of the messages with texts of hooks.
const MESSAGE: &str = "hook";

/// Number of times in a run that hooks can make the agent continue.
const MAX_CONTINUATIONS: u32 = 5;

/// The hooks of a session.
struct SessionHooks {
    hooks: Hooks,
    /// Name of the agent, if the session is that of a sub-agent.
    subagent: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Texts of hooks before a tool call, for its result.
    of_calls: BTreeMap<String, Vec<String>>,
    /// Texts for the next prompt.
    for_prompt: Vec<String>,
    /// The hook that does not let the session begin.
    refusal: Option<HookReport>,
    /// Number of times that hooks made this run continue.
    continuations: u32,
}

/// Returns the extension that runs hooks. Only the questions that hooks answer are registered.
pub(crate) fn extension(hooks: Hooks, subagent: Option<String>) -> Handlers {
    let has = |event| hooks.has(event);
    let (tools, results) = (has(HookEvent::BeforeTool), has(HookEvent::AfterTool));
    let prompts = has(HookEvent::BeforePrompt)
        || has(HookEvent::SessionStart)
        || has(HookEvent::SubagentStart);
    let stops = has(HookEvent::Stop) || has(HookEvent::SubagentStop);
    let compactions = has(HookEvent::BeforeCompact);
    let state = Mutex::default();
    let hooks = Arc::new(SessionHooks { hooks, subagent, state });
    // Each hook has a limit of its own.
    let mut handlers = Handlers::new(PATH).without_time_limit();
    if tools {
        let hooks = Arc::clone(&hooks);
        handlers = handlers.on(move |call: ToolCall, context| {
            let hooks = Arc::clone(&hooks);
            async move { hooks.before_tool(call, &context).await }
        });
    }
    if tools || results {
        let hooks = Arc::clone(&hooks);
        handlers = handlers.on(move |result: ToolResult, context| {
            let hooks = Arc::clone(&hooks);
            async move { hooks.after_tool(result, &context).await }
        });
    }
    if prompts {
        let hooks = Arc::clone(&hooks);
        handlers = handlers.on(move |prompt: BeforePrompt, context| {
            let hooks = Arc::clone(&hooks);
            async move { hooks.before_prompt(prompt, &context).await }
        });
    }
    if stops {
        let (settling, starting) = (Arc::clone(&hooks), Arc::clone(&hooks));
        handlers = handlers
            .on(move |settle: BeforeSettle, context| {
                let hooks = Arc::clone(&settling);
                async move { hooks.before_settle(settle, &context).await }
            })
            .on(move |_: BeforeAgentStart, _| {
                starting.state().continuations = 0;
                std::future::ready(Ok(RunStart::default()))
            });
    }
    if compactions {
        let hooks = Arc::clone(&hooks);
        handlers = handlers.on(move |compact: BeforeCompact, context| {
            let hooks = Arc::clone(&hooks);
            async move { hooks.before_compact(compact, &context).await }
        });
    }
    handlers.on_event(move |event, context| {
        let hooks = Arc::clone(&hooks);
        async move {
            hooks.on_event(&event, &context).await;
            Ok(())
        }
    })
}

impl SessionHooks {
    async fn before_tool(
        &self,
        call: ToolCall,
        context: &ExtensionContext,
    ) -> Result<ToolDecision, ExtensionError> {
        let Some(session) = context.session() else { return Ok(ToolDecision::allow()) };
        let event = HookEvent::BeforeTool;
        let fields = json!({
            "tool_name": call.tool_name, "tool_use_id": call.tool_call_id, "tool_input": call.input,
        });
        let cancel = session.abort_token();
        let result = self.run(event, &call.tool_name, fields, context, &session, &cancel).await;
        let HookResult { block, ask, stop, updated_input, context: texts, .. } = result;
        let id = call.tool_call_id.as_str();
        let told = |report: &HookReport, action| intervention(event, report, action).of_call(id);
        if let Some(stop) = &stop {
            session.intervene(told(stop, InterventionAction::Stop)).await;
            return Ok(ToolDecision::block(refusal(stop)));
        }
        if let Some(block) = &block {
            session.intervene(told(block, InterventionAction::Block)).await;
            return Ok(ToolDecision::block(refusal(block)));
        }
        let mut input = None;
        if let Some((report, updated)) = updated_input {
            match session.check_arguments(&call.tool_name, &updated) {
                Ok(updated) => {
                    session.intervene(told(&report, InterventionAction::Rewrite)).await;
                    input = Some(updated);
                }
                Err(problem) => {
                    let error = format!("hook {}: invalid updatedInput: {problem}", report.hook);
                    context.report_failure(PATH, event.name(), &error).await;
                    if self.hooks.is_strict() {
                        return Ok(ToolDecision::block(format!("This was not run: {error}")));
                    }
                }
            }
        }
        let mut approvals = Vec::new();
        if let Some(ask) = &ask {
            session.intervene(told(ask, InterventionAction::Ask)).await;
            let reason = format!("hook {}: {}", ask.hook, ask.reason);
            approvals.push(RequiredApproval { reason, by: "hook".to_owned() });
        }
        if !texts.is_empty() {
            self.state().of_calls.insert(id.to_owned(), texts);
        }
        Ok(ToolDecision::requiring(input, approvals))
    }

    async fn after_tool(
        &self,
        asked: ToolResult,
        context: &ExtensionContext,
    ) -> Result<OutputChange, ExtensionError> {
        let Some(session) = context.session() else { return Ok(OutputChange::default()) };
        let event = HookEvent::AfterTool;
        let id = asked.tool_call_id.as_str();
        let mut texts = self.state().of_calls.remove(id).unwrap_or_default();
        let fields = json!({
            "tool_name": asked.tool_name, "tool_use_id": id, "tool_input": asked.input,
            "tool_response": text_of(&asked.result.content), "is_error": asked.is_error,
        });
        let cancel = session.abort_token();
        let result = self.run(event, &asked.tool_name, fields, context, &session, &cancel).await;
        let HookResult { block, stop, updated_output, context: added, .. } = result;
        let told = |report: &HookReport, action| intervention(event, report, action).of_call(id);
        let mut change = OutputChange::default();
        let mut content = asked.result.content.clone();
        let mut changed = false;
        if let Some((report, output)) = updated_output {
            session.intervene(told(&report, InterventionAction::Rewrite)).await;
            content = vec![UserBlock::text(output)];
            changed = true;
        }
        texts.extend(added);
        if let Some(block) = &block {
            session.intervene(told(block, InterventionAction::Block)).await;
            texts.push(format!("[Hook {}: {}]", block.hook, block.reason));
            change.is_error = Some(true);
        }
        if let Some(stop) = &stop {
            session.intervene(told(stop, InterventionAction::Stop)).await;
        }
        changed |= !texts.is_empty();
        content.extend(texts.into_iter().map(UserBlock::text));
        if changed {
            change.content = Some(content);
        }
        Ok(change)
    }

    async fn before_prompt(
        &self,
        prompt: BeforePrompt,
        context: &ExtensionContext,
    ) -> Result<PromptDecision, ExtensionError> {
        let mut decision = PromptDecision::default();
        let Some(session) = context.session() else { return Ok(decision) };
        let event = HookEvent::BeforePrompt;
        let earlier = self.state().refusal.clone();
        if let Some(refusal) = earlier {
            decision.block = Some(prompt_block(&refusal));
            return Ok(decision);
        }
        let fields = json!({ "prompt": prompt.text, "source": prompt.source });
        // The prompt may come during a run, whose end does not concern it.
        let cancel = CancelToken::new();
        let result = self.run(event, "", fields, context, &session, &cancel).await;
        for (report, action) in
            [(result.stop, InterventionAction::Stop), (result.block, InterventionAction::Block)]
        {
            if let Some(report) = report {
                session.intervene(intervention(event, &report, action)).await;
                decision.block = Some(prompt_block(&report));
                return Ok(decision);
            }
        }
        if let Some((report, Value::String(text))) = result.updated_input {
            let rewrite = intervention(event, &report, InterventionAction::Rewrite);
            session.intervene(rewrite).await;
            decision.text = Some(text);
        }
        let waiting = std::mem::take(&mut self.state().for_prompt);
        let texts = waiting.into_iter().chain(result.context);
        decision.context = texts.map(|text| message(&text)).collect();
        Ok(decision)
    }

    async fn before_settle(
        &self,
        BeforeSettle(settle): BeforeSettle,
        context: &ExtensionContext,
    ) -> Result<Boundary, ExtensionError> {
        let mut boundary = Boundary::default();
        let Some(session) = context.session() else { return Ok(boundary) };
        if settle.outcome != RunOutcome::Completed {
            return Ok(boundary);
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
        let result = self.run(event, &agent, fields, context, &session, &cancel).await;
        if let Some(stop) = &result.stop {
            session.intervene(intervention(event, stop, InterventionAction::Stop)).await;
            return Ok(boundary);
        }
        let Some(block) = &result.block else { return Ok(boundary) };
        if continuations >= MAX_CONTINUATIONS {
            let error = format!(
                "hook {} has made the agent continue {MAX_CONTINUATIONS} times: {}",
                block.hook, block.reason
            );
            context.report_failure(PATH, event.name(), &error).await;
            if self.hooks.is_strict() {
                let stop = intervention(event, block, InterventionAction::Stop);
                session.intervene(stop).await;
            }
            return Ok(boundary);
        }
        self.state().continuations += 1;
        session.intervene(intervention(event, block, InterventionAction::Continue)).await;
        let mut texts = vec![block.reason.clone()];
        texts.extend(result.context.clone());
        let mut entries = settle.entries;
        entries.push(EntryBody::CustomMessage(Box::new(CustomEntryMessage {
            custom_type: MESSAGE.to_owned(),
            content: UserContent::Text(texts.join("\n\n")),
            display: true,
            details: None,
        })));
        boundary.entries = Some(entries);
        boundary.continues = Some(true);
        Ok(boundary)
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
        let result = self.run(event, &reason, fields, context, &session, &compact.cancel).await;
        if let Some(stop) = &result.stop {
            session.intervene(intervention(event, stop, InterventionAction::Stop)).await;
            return Ok(Compaction::Cancel);
        }
        let Some(block) = &result.block else { return Ok(Compaction::Proceed) };
        session.intervene(intervention(event, block, InterventionAction::Block)).await;
        Ok(Compaction::Cancel)
    }

    async fn on_event(self: &Arc<Self>, event: &SessionEvent, context: &ExtensionContext) {
        match event {
            SessionEvent::SessionStart { reason, .. } => self.session_start(*reason, context).await,
            SessionEvent::SessionShutdown { reason, .. } => {
                self.session_end(*reason, context).await;
            }
            SessionEvent::UiPromptStart { kind, title, .. } => {
                let message = title.clone().unwrap_or_else(|| (*kind).to_owned());
                self.notify("dialog", &message, context);
            }
            SessionEvent::AgentSettled { .. }
                if matches!(context.mode(), RunMode::Tui | RunMode::Rpc) =>
            {
                self.notify("idle", "The agent waits for your input.", context);
            }
            _ => {}
        }
    }

    async fn session_start(self: &Arc<Self>, reason: StartReason, context: &ExtensionContext) {
        let Some(session) = context.session() else { return };
        self.observe_approvals(&session, context);
        let reason = word(&reason);
        let (event, subject) = match &self.subagent {
            Some(agent) => (HookEvent::SubagentStart, agent.clone()),
            None => (HookEvent::SessionStart, reason.clone()),
        };
        let fields = json!({ "source": reason, "agent_name": self.subagent });
        let cancel = CancelToken::new();
        let result = self.run(event, &subject, fields, context, &session, &cancel).await;
        let refusal = match (result.stop, result.block) {
            (Some(stop), _) => Some((stop, InterventionAction::Stop)),
            (None, Some(block)) if event == HookEvent::SubagentStart => {
                Some((block, InterventionAction::Block))
            }
            (None, Some(block)) => {
                let error = format!("hook {}: {}", block.hook, block.reason);
                context.report_failure(PATH, event.name(), &error).await;
                None
            }
            (None, None) => None,
        };
        if let Some((report, action)) = refusal {
            session.intervene(intervention(event, &report, action)).await;
            self.state().refusal = Some(report);
        }
        self.state().for_prompt.extend(result.context);
    }

    async fn session_end(&self, reason: ShutdownReason, context: &ExtensionContext) {
        let Some(session) = context.session() else { return };
        if self.subagent.is_some() {
            return;
        }
        let reason = word(&reason);
        let fields = json!({ "reason": reason });
        let cancel = CancelToken::new();
        self.run(HookEvent::SessionEnd, &reason, fields, context, &session, &cancel).await;
    }

    /// Runs notification hooks when the guard asks for an approval.
    fn observe_approvals(self: &Arc<Self>, session: &AgentSession, context: &ExtensionContext) {
        if !self.hooks.has(HookEvent::Notification) {
            return;
        }
        let Some(guard) = session.guard() else { return };
        let (hooks, context) = (Arc::downgrade(self), context.clone());
        guard.on_request(Box::new(move |request| {
            if let Some(hooks) = hooks.upgrade() {
                hooks.notify("approval", &format!("{}: {}", request.tool, request.what), &context);
            }
        }));
    }

    /// Runs notification hooks. Nothing waits for them.
    fn notify(self: &Arc<Self>, kind: &'static str, message: &str, context: &ExtensionContext) {
        if !self.hooks.has(HookEvent::Notification) {
            return;
        }
        let fields = json!({ "notification_type": kind, "message": message });
        let (hooks, context) = (Arc::clone(self), context.clone());
        tokio::spawn(async move {
            let Some(session) = context.session() else { return };
            let event = HookEvent::Notification;
            let cancel = CancelToken::new();
            hooks.run(event, kind, fields, &context, &session, &cancel).await;
        });
    }

    /// Runs the hooks of an event and reports those that fail. Texts are redacted.
    async fn run(
        &self,
        event: HookEvent,
        subject: &str,
        fields: Value,
        context: &ExtensionContext,
        session: &AgentSession,
        cancel: &CancelToken,
    ) -> HookResult {
        let mut all = Map::new();
        all.insert("session_id".to_owned(), json!(session.id()));
        let file = session.file();
        all.insert("session_file".to_owned(), json!(file));
        all.insert("transcript_path".to_owned(), json!(file));
        if let Some(guard) = session.guard() {
            all.insert("profile".to_owned(), json!(guard.plan().profile));
        }
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        let mut result = self.hooks.run(event, subject, all, cancel).await;
        for failure in &result.failures {
            let error = format!("hook {}: {}", failure.hook, failure.error);
            context.report_failure(PATH, event.name(), &error).await;
        }
        for message in &result.messages {
            context.ui().notify(message.as_str(), NotifyKind::Info);
        }
        if let Some(guard) = session.guard() {
            result.redact(&|text| guard.redact(text).into_owned());
        }
        result
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn intervention(event: HookEvent, report: &HookReport, action: InterventionAction) -> Intervention {
    let source = InterventionSource::Hook;
    Intervention::new(source, &report.hook, event.name(), action, &report.reason)
}

/// Returns the tool error for a blocked call.
fn refusal(report: &HookReport) -> String {
    format!(
        "This was not run: hook {} blocked it: {}. Do not work around this: continue without it, \
         or tell the user.",
        report.hook,
        report.reason.trim_end_matches('.')
    )
}

fn prompt_block(report: &HookReport) -> PromptBlock {
    PromptBlock { by: format!("hook {}", report.hook), reason: report.reason.clone() }
}

fn message(text: &str) -> ExtensionMessage {
    ExtensionMessage {
        custom_type: MESSAGE.to_owned(),
        content: UserContent::Text(text.to_owned()),
        display: true,
        ..ExtensionMessage::default()
    }
}

/// Returns the name of a value of an enum.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
