//! Extensions that are programs of their own, in any language, over lines of JSON.
//!
//! The program is started with its standard streams as the connection: requests and answers are
//! JSON-RPC 2.0 objects, one per line; standard error is for its messages. The protocol is
//! documented in `docs/extension-process.md`. What a handler returns is what a TypeScript handler
//! would return, so both share `extension::answer`.

mod connection;
mod manifest;
mod registration;
mod requests;

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::extension::{
    Answer, Extension, ExtensionApi, ExtensionContext, ExtensionError, ExtensionEvent, LoadReason,
    Question, Reply,
};
use pi_config::resources::SourceInfo;
use pi_protocol::Message;
use serde_json::{Value, json};

use crate::extension::answer;
use crate::hosting::ExtensionHost;
use connection::Connection;
use manifest::Manifest;
pub(crate) use manifest::is_manifest;
use registration::Registrations;

/// An extension that is a program of its own.
#[derive(Debug)]
pub(crate) struct ProcessExtension {
    host: ExtensionHost,
    source: SourceInfo,
    path: Arc<str>,
    state: Mutex<State>,
}

/// The running program and what it registered.
#[derive(Debug, Default)]
struct State {
    connection: Option<Arc<Connection>>,
    events: Vec<String>,
}

impl ProcessExtension {
    pub(crate) fn new(host: ExtensionHost, source: &SourceInfo) -> Self {
        let (path, source) = (source.path.to_string_lossy().into(), source.clone());
        Self { host, source, path, state: Mutex::default() }
    }

    /// Returns the running program, or starts it.
    async fn connection(&self, reason: LoadReason) -> Result<Arc<Connection>, ExtensionError> {
        if let Some(connection) = self.running()
            && reason == LoadReason::Session
            && !connection.is_closed()
        {
            return Ok(connection);
        }
        // The old program ends with its last handle.
        lock(&self.state).connection = None;
        let manifest =
            Manifest::read(Path::new(&*self.path)).map_err(ExtensionError::with_source)?;
        let program = manifest.command.first().map(String::as_str).unwrap_or_default();
        self.host.check_program(&self.source, program)?;
        let options = self.host.options();
        let started =
            Connection::start(&manifest, &options.process.variables, &options.programs).await;
        let connection = Arc::new(started.map_err(ExtensionError::with_source)?);
        lock(&self.state).connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    fn running(&self) -> Option<Arc<Connection>> {
        lock(&self.state).connection.clone()
    }

    async fn call(
        &self,
        method: &str,
        params: Value,
        context: &ExtensionContext,
    ) -> Result<Value, ExtensionError> {
        let gone = || ExtensionError::new("the program is not running");
        let connection = self.running().ok_or_else(gone)?;
        connection.set_context(context.clone());
        connection.call(method, params).await.map_err(ExtensionError::with_source)
    }
}

impl Extension for ProcessExtension {
    fn path(&self) -> &str {
        &self.path
    }

    fn load<'a>(&'a self, api: &'a ExtensionApi, reason: LoadReason) -> Reply<'a, ()> {
        Box::pin(async move {
            let connection = self.connection(reason).await?;
            let reason = match reason {
                LoadReason::Session => "session",
                LoadReason::Reload => "reload",
            };
            let params = json!({ "protocol": 1, "path": *self.path, "reason": reason });
            let answered =
                connection.call("load", params).await.map_err(ExtensionError::with_source)?;
            let registrations: Registrations = serde_json::from_value(answered)
                .map_err(|error| ExtensionError::new(format!("invalid answer to load: {error}")))?;
            let events = registrations.register(api, &connection)?;
            lock(&self.state).events = events;
            Ok(())
        })
    }

    fn handlers(&self, name: &str) -> Vec<usize> {
        let state = lock(&self.state);
        if state.events.iter().any(|event| event == name) { vec![0] } else { Vec::new() }
    }

    fn on_event<'a>(
        &'a self,
        event: &'a ExtensionEvent<'a>,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            let Some(payload) = event.payload() else { return Ok(()) };
            let mut payload = Value::clone(&payload);
            if let Some(message) = event.partial() {
                payload["message"] = json!(Message::Assistant(Arc::clone(message)));
            }
            self.call("event", payload, context).await.map(drop)
        })
    }

    fn ask<'a>(
        &'a self,
        question: Question,
        _handler: usize,
        context: &'a ExtensionContext,
    ) -> Reply<'a, Answer> {
        Box::pin(async move {
            let payload = question.payload();
            let answered = self.call("event", payload.clone(), context).await?;
            // A program cannot change the event in place: it answers with a new one.
            let event = answered.get("event").cloned().unwrap_or(payload);
            let answered = json!({ "result": answered, "event": event });
            answer::from_json(&question, &answered).map_err(ExtensionError::new)
        })
    }
}
