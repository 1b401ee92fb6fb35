//! Requests of virtual models: the router of the extension picks the model of each.
//!
//! The selection of the session names the virtual model. Everything below this file sees the model
//! that was picked: providers, hooks, the prompt cache and the answers.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantMessage, AssistantStream, CancelToken, Message, Model, Provider,
    Request, ThinkingLevel,
};
use pi_session::compaction::should_compact;
use serde_json::{Value, json};

use super::{AgentSession, CompactionReason, WeakAgentSession, lock};
use crate::extension::{Route, RouteReason, RouteRequest, VIRTUAL_API};

/// Type of the entry with the state of a router.
const STATE_ENTRY: &str = "pi.virtual-model-state";

/// Passes each request of a virtual model on to the model that its router picks.
pub(super) struct VirtualProvider {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) session: WeakAgentSession,
    pub(super) origin: RequestOrigin,
}

/// The origin of requests, which decides how they are routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// The loop. The router sees the run and keeps its state.
    Run,
    /// The session or an extension, outside of the loop.
    Outside,
}

/// Routing of a session.
#[derive(Debug, Default)]
pub(super) struct Routing {
    /// The failed answer whose request is made again.
    failed: Option<Arc<AssistantMessage>>,
    /// Model and level of the last request.
    last: Option<(Arc<Model>, ThinkingLevel)>,
}

impl Provider for VirtualProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        if request.model.api != VIRTUAL_API {
            return self.provider.stream(request, cancel);
        }
        let selected = Arc::clone(&request.model);
        let session = self.session.upgrade();
        let (provider, origin) = (Arc::clone(&self.provider), self.origin);
        AssistantStream::deferred(&selected, cancel, move |cancel| async move {
            let Some(session) = session else {
                return AssistantStream::failed(&request.model, "the session has ended");
            };
            let selected = Arc::clone(&request.model);
            match session.routed(request, origin, &cancel).await {
                Ok((request, level)) => {
                    let mut stream = provider.stream(request, cancel);
                    if let Some(message) = stream.message_mut() {
                        message.thinking_level = Some(level);
                    }
                    stream
                }
                Err(problem) => AssistantStream::failed(&selected, problem),
            }
        })
    }
}

impl AgentSession {
    /// Returns the model and level of the last request, if the selected model is a virtual one.
    pub fn routed_model(&self) -> Option<(Arc<Model>, ThinkingLevel)> {
        if !is_virtual(self.model()?.as_ref()) {
            return None;
        }
        lock(&self.0.routing).last.clone()
    }

    /// Returns the model whose limits apply: that of the latest answer if the selected model is a
    /// virtual one, else the selected one.
    pub(super) fn effective_model(&self) -> Option<Arc<Model>> {
        let selected = self.model()?;
        if !is_virtual(&selected) {
            return Some(selected);
        }
        let messages = self.messages();
        let answers = messages.iter().rev().filter_map(AgentMessage::as_assistant);
        let mut answers = answers.filter(|answer| is_response(answer));
        let answer = answers.next();
        answer
            .and_then(|answer| self.known_model(&answer.provider, &answer.model))
            .or(Some(selected))
    }

    /// Returns the model for a summary: the selected one, with the limits that apply.
    pub(super) fn summary_model(&self) -> Option<Arc<Model>> {
        let (selected, effective) = (self.model()?, self.effective_model()?);
        if !is_virtual(&selected) {
            return Some(selected);
        }
        let Model { context_window, max_tokens, .. } = *effective;
        Some(Arc::new(Model { context_window, max_tokens, ..(*selected).clone() }))
    }

    /// Notes that a failed request is made again.
    pub(super) fn retries(&self, failed: &Arc<AssistantMessage>) {
        if self.model().is_some_and(|model| is_virtual(&model)) {
            lock(&self.0.routing).failed = Some(Arc::clone(failed));
        }
    }

    /// Forgets a failure before a new run.
    pub(super) fn forget_failure(&self) {
        lock(&self.0.routing).failed = None;
    }

    /// Routes a request. Returns it for the model that was picked, with its level.
    async fn routed(
        &self,
        mut request: Request,
        origin: RequestOrigin,
        cancel: &CancelToken,
    ) -> Result<(Request, ThinkingLevel), String> {
        let selected = Arc::clone(&request.model);
        let (provider, id) = (&selected.provider, &selected.id);
        let router = self.0.extensions.registry().router(provider, id);
        let router =
            router.ok_or_else(|| format!("Virtual model {provider}/{id} is not registered."))?;
        let question = self.route_request(&request, origin);
        let route = router(question, cancel.clone()).await?;
        let name = format!("{}/{}", route.provider, route.id);
        let refused = |why: &str| format!("Virtual model {provider}/{id} routed to {name}, {why}.");
        let model = self
            .known_model(&route.provider, &route.id)
            .ok_or_else(|| refused("which is not a known model"))?;
        if is_virtual(&model) {
            return Err(refused("which is not a physical model"));
        }
        if !self.is_available(&model.provider) {
            return Err(refused("which has no credentials"));
        }
        let level = model.clamp_thinking(route.thinking_level);
        if origin == RequestOrigin::Run {
            self.store_route_state(&selected, &route).await;
            lock(&self.0.routing).last = Some((Arc::clone(&model), level));
            if self.compact_for(&model).await {
                let convert = super::loop_events::convert(self.settings().block_images);
                let messages = self.0.agent.messages();
                request.context.messages = messages.iter().filter_map(|one| convert(one)).collect();
            }
            request.options.hooks = self.request_hooks(&model);
        }
        request.options.reasoning = Some(level).filter(|level| *level != ThinkingLevel::Off);
        request.model = model;
        Ok((request, level))
    }

    fn route_request(&self, request: &Request, origin: RequestOrigin) -> RouteRequest {
        let is_loop = origin == RequestOrigin::Run;
        let messages: Vec<Message> = request.context.clone().normalize();
        let failed = if is_loop { lock(&self.0.routing).failed.take() } else { None };
        let last = messages.iter().rev().find(|message| !matches!(message, Message::System(_)));
        let reason = match (is_loop, &failed, last) {
            (false, ..) => RouteReason::Direct,
            (true, Some(_), _) => RouteReason::Retry,
            (true, None, Some(Message::User(_))) => RouteReason::User,
            (true, None, _) => RouteReason::Continuation,
        };
        let of = |answer: &AssistantMessage| {
            let model = self.known_model(&answer.provider, &answer.model)?;
            Some((model, answer.thinking_level))
        };
        let previous = messages.iter().rev().find_map(|message| match message {
            Message::Assistant(answer) if is_response(answer) => Some(of(answer)),
            _ => None,
        });
        // A router that failed itself has no model to report.
        let failed = failed.filter(|answer| answer.api != VIRTUAL_API).and_then(|answer| {
            let (model, level) = of(&answer)?;
            Some((model, level, answer))
        });
        RouteRequest {
            model: Arc::clone(&request.model),
            thinking_level: request.options.reasoning.unwrap_or(ThinkingLevel::Off),
            reason,
            previous: previous.flatten(),
            failed,
            state: if is_loop { self.route_state(&request.model) } else { None },
            messages,
        }
    }

    /// Returns the state that the router of a virtual model last returned on this branch.
    fn route_state(&self, model: &Model) -> Option<Value> {
        let is_own = |data: &Value| {
            data["provider"] == model.provider.as_str() && data["modelId"] == model.id.as_str()
        };
        // A log that cannot be read is reported where it is used.
        let mut data = self.log().last_custom(STATE_ENTRY, is_own).ok().flatten()?;
        Some(data["state"].take())
    }

    async fn store_route_state(&self, model: &Model, route: &Route) {
        let Some(state) = &route.state else { return };
        let data = json!({ "provider": model.provider, "modelId": model.id, "state": state });
        if let Err(error) = self.append_entry(STATE_ENTRY, Some(data)).await {
            self.warn(format!(
                "The state of {}/{} was not stored: {error}",
                model.provider, model.id
            ));
        }
    }

    /// Compacts if the conversation does not fit into the model of the next request. Returns true
    /// if the messages have changed.
    async fn compact_for(&self, model: &Model) -> bool {
        let settings = self.compaction_settings(model);
        let tokens = self.log().context_tokens().ok().flatten();
        if !tokens.is_some_and(|tokens| should_compact(tokens, model.context_window, &settings)) {
            return false;
        }
        self.compact_automatically(CompactionReason::Threshold, false).await
    }
}

/// Returns true for the record of a virtual model.
pub(super) fn is_virtual(model: &Model) -> bool {
    model.api == VIRTUAL_API
}

/// Returns true for an answer that a model gave.
fn is_response(answer: &AssistantMessage) -> bool {
    answer.api != VIRTUAL_API && !answer.stop_reason.is_failure()
}
