//! Hooks at events of a session that are no questions: its start, its end, and notifications.

use std::sync::Arc;

use pi_config::hooks::HookEvent;
use pi_protocol::CancelToken;
use serde_json::{Value, json};

use super::extension::SessionChecks;
use crate::extension::{ExtensionContext, RunMode};
use crate::session::{AgentSession, InterventionAction, SessionEvent, ShutdownReason, StartReason};

impl SessionChecks {
    pub(super) async fn on_event(
        self: &Arc<Self>,
        event: &SessionEvent,
        context: &ExtensionContext,
    ) {
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
        let (at, cancel) = ((&session, context), CancelToken::new());
        let result = self.run(event, &subject, Value::Null, fields, at, &cancel).await;
        let refusal = match (result.stop, result.block) {
            (Some(stop), _) => Some((stop, InterventionAction::Stop)),
            (None, Some(block)) if event == HookEvent::SubagentStart => {
                Some((block, InterventionAction::Block))
            }
            (None, Some(block)) => {
                self.report_failure(event.name(), &block.hook, &block.reason, context).await;
                None
            }
            (None, None) => None,
        };
        if let Some((report, action)) = refusal {
            self.tell(&session, event, &report, action).await;
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
        let (at, cancel) = ((&session, context), CancelToken::new());
        self.run(HookEvent::SessionEnd, &reason, Value::Null, fields, at, &cancel).await;
    }

    /// Runs notification hooks when the guard asks for an approval.
    fn observe_approvals(self: &Arc<Self>, session: &AgentSession, context: &ExtensionContext) {
        if !self.checks.has(HookEvent::Notification) {
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
        let event = HookEvent::Notification;
        if !self.checks.has(event) {
            return;
        }
        let fields = json!({ "notification_type": kind, "message": message });
        let (hooks, context) = (Arc::clone(self), context.clone());
        tokio::spawn(async move {
            let Some(session) = context.session() else { return };
            let (at, cancel) = ((&session, &context), CancelToken::new());
            hooks.run(event, kind, Value::Null, fields, at, &cancel).await;
        });
    }
}

/// Returns the name of a value of an enum.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
