//! An extension file as an [`Extension`] of a session.
//!
//! Events and questions become calls of the handlers that the file registered with `pi.on`; what it
//! registers otherwise reaches the registry through `native:session`.

pub(crate) mod answer;
mod output;
mod tool;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use pi_coding_agent::extension::{
    Answer, Extension, ExtensionApi, ExtensionContext, ExtensionError, LoadReason, Question, Reply,
};
use pi_coding_agent::session::SessionEvent;
use rquickjs::IntoJs as _;

use crate::error::ScriptError;
use crate::host::{ExtensionId, Loaded};
use crate::thread::JsThread;
use crate::value::Json;

pub(crate) use output::output_from_json;
pub(crate) use tool::JsTool;

/// Returns true for events that come so often that they are sent only to extensions that listen to
/// them.
pub(crate) fn is_progress(event: &str) -> bool {
    matches!(event, "message_update" | "tool_execution_update" | "provider_stream_event")
}

/// An extension file on a JavaScript thread.
#[derive(Debug)]
pub struct JsExtension {
    thread: JsThread,
    id: ExtensionId,
    path: Arc<str>,
    listeners: Listeners,
}

/// The number of handlers per event, shared between the thread and the session: an event without a
/// handler must not cost a message to the thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listeners(Arc<RwLock<BTreeMap<String, usize>>>);

impl Listeners {
    pub(crate) fn count(&self, name: &str) -> usize {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counts.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn set(&self, name: String, count: usize) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name, count);
    }

    fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl JsExtension {
    pub(crate) fn new(thread: JsThread, id: ExtensionId, path: &Path) -> Self {
        let path = path.to_string_lossy().into_owned().into();
        Self { thread, id, path, listeners: Listeners::default() }
    }

    /// Calls a handler of an event and returns what it answered.
    async fn call_handler(
        &self,
        name: &'static str,
        handler: usize,
        payload: serde_json::Value,
        context: &ExtensionContext,
    ) -> Result<Json, ExtensionError> {
        let (id, context) = (self.id, context.clone());
        let called = self.thread.call(id, "handle", move |ctx, host| {
            host.set_context(id, context);
            let payload = Json(payload).into_js(ctx)?;
            Ok(vec![id.into_js(ctx)?, name.into_js(ctx)?, handler.into_js(ctx)?, payload])
        });
        called.await.map_err(failure)
    }
}

impl Extension for JsExtension {
    fn path(&self) -> &str {
        &self.path
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, reason: LoadReason) -> Reply<'a, ()> {
        Box::pin(async move {
            self.listeners.clear();
            let (id, path, api) = (self.id, Arc::clone(&self.path), api.clone());
            let (listeners, thread) = (self.listeners.clone(), self.thread.downgrade());
            let loaded = self.thread.call::<()>(id, "load", move |ctx, host| {
                let loaded =
                    Loaded { path: Arc::clone(&path), api, listeners, thread, context: None };
                host.set_extension(id, loaded);
                let is_reload = reason == LoadReason::Reload;
                Ok(vec![id.into_js(ctx)?, path.as_ref().into_js(ctx)?, is_reload.into_js(ctx)?])
            });
            loaded.await.map_err(failure)
        })
    }

    fn handlers(&self, name: &str) -> usize {
        self.listeners.count(name)
    }

    fn on_event<'a>(
        &'a self,
        event: &'a SessionEvent,
        handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            let Some((name, payload)) = event.extension_event() else { return Ok(()) };
            self.call_handler(name, handler, payload, context).await.map(drop)
        })
    }

    fn ask<'a>(
        &'a self,
        question: Question,
        handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        Box::pin(async move {
            let (name, payload) = (question.kind().name(), question.payload());
            let answered = self.call_handler(name, handler, payload, context).await?;
            answer::from_json(&question, &answered.0).map_err(ExtensionError::new)
        })
    }
}

fn failure(error: ScriptError) -> ExtensionError {
    ExtensionError::new(error.message)
}
