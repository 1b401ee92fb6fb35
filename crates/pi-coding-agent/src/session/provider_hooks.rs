//! Requests to providers: routing to the providers of extensions, and the hooks in which
//! extensions see headers, bodies, responses and chunks.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_models::ModelRegistry;
use pi_protocol::{
    AssistantStream, CancelToken, HttpResponseInfo, Model, Provider, Request, RequestHooks,
};
use serde_json::{Map, Value};

use super::rate_limits::{LimitLog, credential_name};
use super::{AgentSession, SessionEvent, WeakAgentSession};
use crate::extension::{
    BeforeProviderHeaders, BeforeProviderRequest, HeaderMap, QuestionKind, Registry,
};

/// Sends each request to the extension that registered the model's provider, else to the client.
pub(super) struct RoutingProvider {
    pub(super) client: Arc<dyn Provider>,
    pub(super) registry: Registry,
    pub(super) models: Option<Arc<ModelRegistry>>,
    pub(super) limits: LimitLog,
}

impl Provider for RoutingProvider {
    fn stream(&self, mut request: Request, cancel: CancelToken) -> AssistantStream {
        let credential = credential_name(self.models.as_deref(), &request.model.provider);
        self.limits.watch(&mut request, credential);
        let custom = self.registry.stream_of(&request.model.provider);
        custom.as_ref().unwrap_or(&self.client).stream(request, cancel)
    }
}

/// Chunks that the provider sent since the last event of the loop.
#[derive(Default)]
pub(super) struct Chunks(Mutex<Vec<(Arc<Model>, String)>>);

impl Chunks {
    fn push(&self, model: &Arc<Model>, text: &str) {
        let mut chunks = lock(&self.0);
        chunks.push((Arc::clone(model), text.to_owned()));
    }

    fn take(&self) -> Vec<(Arc<Model>, String)> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl AgentSession {
    /// Returns the hooks of the requests of a run. What no extension asks for is not hooked.
    pub(super) fn request_hooks(&self, model: &Arc<Model>) -> RequestHooks {
        let mut hooks = RequestHooks::default();
        let this = self.downgrade();
        if self.is_answered(QuestionKind::BeforeProviderHeaders) {
            let this = this.clone();
            hooks.on_headers =
                Some(Arc::new(move |headers, _| Box::pin(asked_headers(this.clone(), headers))));
        }
        if self.is_answered(QuestionKind::BeforeProviderRequest) {
            let this = this.clone();
            hooks.on_payload =
                Some(Arc::new(move |payload, _| Box::pin(asked_payload(this.clone(), payload))));
        }
        if !self.0.extensions.registry().has_extensions() {
            return hooks;
        }
        hooks.on_response = Some({
            let this = this.clone();
            Arc::new(move |response| Box::pin(emit_response(this.clone(), response)))
        });
        if self.0.extensions.registry().wants_progress() {
            let model = Arc::clone(model);
            hooks.on_provider_event = Some(Arc::new(move |text: &str| {
                // The end of a stream is no event of it.
                if text != "[DONE]"
                    && let Some(session) = this.upgrade()
                {
                    session.0.chunks.push(&model, text);
                }
            }));
        }
        hooks
    }

    /// Emits the chunks that came since the last event. They wait for the loop, so that a slow
    /// extension holds the stream back instead of falling behind.
    pub(super) async fn emit_provider_chunks(&self) {
        for (model, text) in self.0.chunks.take() {
            self.emit(SessionEvent::ProviderStreamEvent {
                provider: model.provider.clone(),
                api: model.api.clone(),
                model: model.id.clone(),
                data: serde_json::from_str(&text).unwrap_or(Value::String(text)),
            })
            .await;
        }
    }
}

async fn asked_headers(this: WeakAgentSession, headers: HeaderMap) -> HeaderMap {
    match this.upgrade() {
        Some(session) => session.ask(BeforeProviderHeaders::new(headers)).await.question.headers,
        None => headers,
    }
}

async fn asked_payload(this: WeakAgentSession, payload: Value) -> Value {
    match this.upgrade() {
        Some(session) => {
            let asked = session.ask(BeforeProviderRequest::new(payload)).await;
            Arc::unwrap_or_clone(asked.question.payload)
        }
        None => payload,
    }
}

async fn emit_response(this: WeakAgentSession, response: HttpResponseInfo) {
    let Some(session) = this.upgrade() else { return };
    let headers: Map<String, Value> =
        response.headers.into_iter().map(|field| (field.name, field.value.into())).collect();
    session.emit(SessionEvent::AfterProviderResponse { status: response.status, headers }).await;
}
