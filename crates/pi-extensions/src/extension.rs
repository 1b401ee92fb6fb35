//! An extension file as an [`Extension`] of a session.
//!
//! Events and questions become calls of the handlers that the file registered with `pi.on`; what it
//! registers otherwise reaches the registry through `native:session`.

pub(crate) mod answer;
mod output;
mod tool;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use pi_coding_agent::extension::{
    Answer, Extension, ExtensionApi, ExtensionContext, ExtensionError, LoadReason, Question, Reply,
};
use pi_coding_agent::resources::SourceInfo;
use pi_coding_agent::session::SessionEvent;
use rquickjs::IntoJs as _;

use crate::error::ScriptError;
use crate::host::{ExtensionId, Loaded};
use crate::hosting::ExtensionHost;
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
    host: ExtensionHost,
    /// Set when the extension is loaded.
    thread: OnceLock<JsThread>,
    id: ExtensionId,
    path: Arc<str>,
    source: SourceInfo,
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
    pub(crate) fn new(host: ExtensionHost, id: ExtensionId, source: &SourceInfo) -> Self {
        let path = source.path.to_string_lossy().into_owned().into();
        let (thread, source) = (OnceLock::new(), source.clone());
        Self { host, thread, id, path, source, listeners: Listeners::default() }
    }

    /// Returns the thread of a loaded extension.
    fn thread(&self) -> Result<&JsThread, ExtensionError> {
        self.thread.get().ok_or_else(|| ExtensionError::new("the extension is not loaded"))
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
        let called = self.thread()?.call(id, "handle", move |ctx, host| {
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
            let thread = self.host.thread().map_err(ExtensionError::with_source)?;
            let thread = self.thread.get_or_init(|| thread);
            let (listeners, weak) = (self.listeners.clone(), thread.downgrade());
            let source = self.source.clone();
            let loaded = thread.call::<()>(id, "load", move |ctx, host| {
                let path = Arc::clone(&path);
                let loaded = Loaded {
                    path: Arc::clone(&path),
                    source,
                    api,
                    listeners,
                    thread: weak,
                    context: None,
                };
                host.set_extension(id, loaded);
                let is_reload = reason == LoadReason::Reload;
                Ok(vec![id.into_js(ctx)?, path.as_ref().into_js(ctx)?, is_reload.into_js(ctx)?])
            });
            loaded.await.map_err(failure)
        })
    }

    fn unload(&self) {
        let id = self.id;
        self.listeners.clear();
        if let Some(thread) = self.thread.get() {
            thread.post(move |ctx, host| {
                // Nothing in it can fail but the memory.
                let _ = id.into_js(ctx).and_then(|id| host.call_entry(ctx, "unload", vec![id]));
                host.remove_extension(id);
            });
        }
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
