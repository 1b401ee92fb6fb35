//! Virtual models: models that can be selected and that route each request to another model.

use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, CancelToken, HookFuture, InputKind, Message, Model, ThinkingLevel,
};
use serde_json::Value;

/// Wire format of the records of virtual models. No request is sent with it.
pub const VIRTUAL_API: &str = "pi-virtual";

/// Picks the model of a request. The error is the reason why there is none.
pub type Router =
    Arc<dyn Fn(RouteRequest, CancelToken) -> HookFuture<Result<Route, String>> + Send + Sync>;

/// A virtual model.
#[derive(Clone)]
#[non_exhaustive]
pub struct VirtualModel {
    /// Record of the model, as it can be selected.
    pub model: Arc<Model>,
    /// Picks the model of each request.
    pub router: Router,
}

/// A request for which a model is picked.
#[derive(Debug, Clone)]
pub struct RouteRequest {
    /// The virtual model that is selected.
    pub model: Arc<Model>,
    /// The level that is selected.
    pub thinking_level: ThinkingLevel,
    /// Occasion of the request.
    pub reason: RouteReason,
    /// Model and level of the latest successful answer in `messages`.
    pub previous: Option<(Arc<Model>, Option<ThinkingLevel>)>,
    /// Model, level and answer of the failed request that is repeated. It is not in `messages`.
    pub failed: Option<(Arc<Model>, Option<ThinkingLevel>, Arc<AssistantMessage>)>,
    /// State that the router last returned on this branch of the session.
    pub state: Option<Value>,
    /// The conversation, with system messages.
    pub messages: Vec<Message>,
}

/// Occasion of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouteReason {
    /// The first request after a message of the user.
    User,
    /// Another request of a run, such as after tool results.
    Continuation,
    /// A failed request is repeated.
    Retry,
    /// A request outside of a run, such as for a summary.
    Direct,
}

/// The model that a router picked.
#[derive(Debug, Clone)]
pub struct Route {
    /// Id of the provider.
    pub provider: String,
    /// Id of the model.
    pub id: String,
    /// Level, which is clamped to those of the model.
    pub thinking_level: ThinkingLevel,
    /// New state for later requests on this branch; `None` keeps the present one.
    pub state: Option<Value>,
}

impl RouteReason {
    /// Returns the name of the reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Continuation => "continuation",
            Self::Retry => "retry",
            Self::Direct => "direct",
        }
    }
}

impl VirtualModel {
    /// Creates a virtual model that is listed under a provider, with the levels that can be
    /// selected. It accepts text and images; its limits are unknown.
    pub fn new(
        provider: impl Into<String>,
        id: impl Into<String>,
        levels: &[ThinkingLevel],
        router: Router,
    ) -> Self {
        let id = id.into();
        let offered = |level: ThinkingLevel| {
            (level, levels.contains(&level).then(|| level.as_str().to_owned()))
        };
        let can_think = levels.iter().any(|level| *level != ThinkingLevel::Off);
        let map = if can_think { ThinkingLevel::ALL.map(offered).into() } else { [].into() };
        let model = Model {
            name: id.clone(),
            id,
            api: VIRTUAL_API.to_owned(),
            provider: provider.into(),
            reasoning: can_think,
            thinking_level_map: map,
            input: vec![InputKind::Text, InputKind::Image],
            ..Model::default()
        };
        Self { model: Arc::new(model), router }
    }
}

pi_protocol::debug_fields!(VirtualModel, model);
