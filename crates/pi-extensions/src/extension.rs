//! An extension file as an [`Extension`] of a session.
//!
//! Events and questions become calls of the handlers that the file registered with `pi.on`; what it
//! registers otherwise reaches the registry through `native:session`.

pub(crate) mod answer;
mod bash;
mod partial;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use pi_coding_agent::extension::{
    Answer, Extension, ExtensionApi, ExtensionContext, ExtensionError, ExtensionEvent, LoadReason,
    Question, Reply, UserBashHandling,
};
use pi_config::resources::SourceInfo;
use pi_protocol::CancelToken;
use rquickjs::IntoJs as _;
use serde_json::Value;

use crate::error::ScriptError;
use crate::host::{Arguments, ExtensionId, JsThread, Listeners, Loaded, function};
use crate::hosting::ExtensionHost;
use crate::value::to_js;

use bash::JsOperations;
use partial::{Lent, Partial};

/// An extension file on a JavaScript thread.
#[derive(Debug)]
pub(crate) struct JsExtension {
    host: ExtensionHost,
    /// Set when the extension is loaded.
    thread: OnceLock<JsThread>,
    id: ExtensionId,
    path: Arc<str>,
    source: SourceInfo,
    listeners: Listeners,
}

impl JsExtension {
    pub(crate) fn new(host: ExtensionHost, source: &SourceInfo) -> Self {
        let id = host.next_id();
        let path = source.path.to_string_lossy().into_owned().into();
        let (thread, source) = (OnceLock::new(), source.clone());
        Self { host, thread, id, path, source, listeners: Listeners::default() }
    }

    /// Returns the thread of a loaded extension.
    fn thread(&self) -> Result<&JsThread, ExtensionError> {
        self.thread.get().ok_or_else(|| ExtensionError::new("the extension is not loaded"))
    }

    /// Builds the arguments of a call of a handler.
    fn arguments(
        &self,
        handler: usize,
        payload: Arc<Value>,
        context: &ExtensionContext,
        further: Option<Further>,
    ) -> Arguments {
        let (id, context) = (self.id, context.clone());
        Arguments::built(move |ctx, host| {
            host.set_context(id, context);
            // Each handler has an event of its own, which it may change.
            let payload = to_js(ctx, &payload)?;
            let mut arguments = vec![id.into_js(ctx)?, handler.into_js(ctx)?, payload];
            match further {
                Some(Further::Signal(signal)) => arguments.push(signal.into_js(ctx)?),
                Some(Further::Partial(lent)) => {
                    let read = function(ctx, host, move |call| call.reply(lent.read()));
                    arguments.push(read?.into_value());
                }
                None => {}
            }
            Ok(arguments)
        })
    }
}

impl Extension for JsExtension {
    fn path(&self) -> &str {
        &self.path
    }

    fn source_info(&self) -> serde_json::Value {
        serde_json::json!(self.source)
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, reason: LoadReason) -> Reply<'a, ()> {
        Box::pin(async move {
            self.listeners.clear();
            let (id, path, api) = (self.id, Arc::clone(&self.path), api.clone());
            let thread = self.host.thread(&self.source)?;
            let thread = self.thread.get_or_init(|| thread);
            let (listeners, weak) = (self.listeners.clone(), thread.downgrade());
            let arguments = Arguments::built(move |ctx, host| {
                let path = Arc::clone(&path);
                let loaded =
                    Loaded { path: Arc::clone(&path), api, listeners, thread: weak, context: None };
                host.set_extension(id, loaded);
                let is_reload = reason == LoadReason::Reload;
                Ok(vec![id.into_js(ctx)?, path.as_ref().into_js(ctx)?, is_reload.into_js(ctx)?])
            });
            match thread.call(id, "load", arguments).await {
                Ok(Value::String(problem)) => Err(ExtensionError::new(problem)),
                Ok(_) => Ok(()),
                Err(error) => Err(load_failure(error)),
            }
        })
    }

    fn bind(&self, context: &ExtensionContext) {
        let (id, context) = (self.id, context.clone());
        if let Some(thread) = self.thread.get() {
            thread.post(move |_, host| host.set_context(id, context));
        }
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

    fn handlers(&self, name: &str) -> Vec<usize> {
        self.listeners.numbers(name)
    }

    fn on_event<'a>(
        &'a self,
        event: &'a ExtensionEvent<'a>,
        handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            let Some(payload) = event.payload() else { return Ok(()) };
            let partial = event.partial().map(Partial::new);
            let lent = partial.as_ref().map(Partial::lend);
            let arguments = self.arguments(handler, payload, context, lent.map(Further::Partial));
            let called = self.thread()?.run(self.id, "notify", arguments).await;
            called.map(drop).map_err(failure)
        })
    }

    fn ask<'a>(
        &'a self,
        question: Question,
        handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        Box::pin(async move {
            let (thread, payload) = (self.thread()?, Arc::new(question.payload()));
            let cancel = match &question {
                Question::BeforeCompact(asked) => Some(asked.cancel.clone()),
                Question::BeforeTree(asked) => Some(asked.cancel.clone()),
                _ => None,
            };
            let answered = match cancel {
                None => {
                    let arguments = self.arguments(handler, payload, context, None);
                    thread.call(self.id, "ask", arguments).await
                }
                Some(cancel) => {
                    with_signal(thread, &cancel, |signal| {
                        let arguments = self.arguments(
                            handler,
                            payload,
                            context,
                            Some(Further::Signal(signal)),
                        );
                        thread.call(self.id, "ask", arguments)
                    })
                    .await
                }
            };
            let answered = answered.map_err(failure)?;
            if let Question::UserBash(_) = question
                && let Some(number) = answered["result"]["operations"].as_u64()
            {
                let (thread, extension) = (thread.clone(), self.id);
                let number = u32::try_from(number).unwrap_or_default();
                let operations = JsOperations { thread, extension, number };
                return Ok(Answer::UserBash(UserBashHandling::Operations(Arc::new(operations))));
            }
            answer::from_json(&question, &answered).map_err(ExtensionError::new)
        })
    }
}

/// The last argument of a call of a handler.
enum Further {
    /// The number of an `AbortSignal`.
    Signal(u32),
    /// The message that grows.
    Partial(Lent),
}

/// The number of the next signal.
static NEXT_SIGNAL: AtomicU32 = AtomicU32::new(1);

/// Makes a call with the number of an `AbortSignal` that is aborted when `cancel` is.
async fn with_signal<T, F: Future<Output = T>>(
    thread: &JsThread,
    cancel: &CancelToken,
    call: impl FnOnce(u32) -> F,
) -> T {
    let signal = NEXT_SIGNAL.fetch_add(1, Ordering::Relaxed);
    let mut called = std::pin::pin!(call(signal));
    tokio::select! {
        biased;
        result = &mut called => return result,
        () = cancel.cancelled() => {}
    }
    // A listener of the signal may throw.
    thread.poster().post_call("abortSignal", vec![signal.into()]);
    called.await
}

fn failure(error: ScriptError) -> ExtensionError {
    ExtensionError::new(error.message)
}

/// Describes why an extension cannot be loaded. Conflicts between extensions are no fault of the
/// file.
fn load_failure(error: ScriptError) -> ExtensionError {
    let is_conflict = error.message.contains("\" conflicts with ");
    if is_conflict {
        failure(error)
    } else {
        ExtensionError::new(format!("Failed to load extension: {}", error.message))
    }
}
