//! Errors on both sides of the border: of native functions for JavaScript, and of JavaScript for
//! the session.

use std::borrow::Cow;

use rquickjs::{Ctx, FromJs as _, Object, Value, function::Constructor};

use crate::value::Json;

/// An error that a native function throws.
#[derive(Debug, Clone, Default)]
pub(crate) struct NativeError {
    /// Global constructor of the error: `Error`, `TypeError`, `RangeError`.
    pub(crate) class: Cow<'static, str>,
    pub(crate) message: String,
    /// Further properties, such as `code`.
    pub(crate) properties: Vec<(&'static str, serde_json::Value)>,
}

impl NativeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { class: "Error".into(), message: message.into(), properties: Vec::new() }
    }

    pub(crate) fn of(class: &'static str, message: impl Into<String>) -> Self {
        Self { class: class.into(), message: message.into(), properties: Vec::new() }
    }

    /// Adds a property, such as `code`.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<serde_json::Value>) -> Self {
        self.properties.push((name, value.into()));
        self
    }

    /// Creates the error object.
    pub(crate) fn to_value<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let constructor: Constructor<'js> = ctx.globals().get(self.class.as_ref())?;
        let error: Object<'js> = constructor.construct((self.message.as_str(),))?;
        for (name, value) in &self.properties {
            error.set(*name, Json(value.clone()))?;
        }
        Ok(error.into_value())
    }

    /// Throws the error.
    pub(crate) fn throw(&self, ctx: &Ctx<'_>) -> rquickjs::Error {
        match self.to_value(ctx) {
            Ok(value) => ctx.throw(value),
            Err(error) => error,
        }
    }
}

impl<E: std::error::Error> From<E> for NativeError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// An error that JavaScript threw.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptError {
    /// The message; of a thrown value that is no error, its text.
    pub(crate) message: String,
    /// Name and message with the stack, with positions of the source files.
    pub(crate) stack: String,
}

/// Message of an error of code that was stopped.
pub(crate) const STOPPED: &str = "stopped, because it ran for too long without a pause";

impl ScriptError {
    /// Creates an error that no script threw.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { stack: message.clone(), message }
    }

    /// Describes a thrown value.
    pub(crate) fn from_value<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        let error = Self::describe(ctx, value);
        // The engine's own words for it, which no script can catch.
        if error.message == "interrupted" {
            return Self {
                message: STOPPED.to_owned(),
                stack: error.stack.replace("interrupted", STOPPED),
            };
        }
        error
    }

    fn describe<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        if let Some(object) = value.as_object()
            && let Ok(Some(message)) = object.get::<_, Option<String>>("message")
        {
            let stack = object.get::<_, Option<String>>("stack").ok().flatten().unwrap_or_default();
            let stack = if stack.is_empty() { message.clone() } else { stack };
            return Self { message, stack: stack.trim_end().to_owned() };
        }
        if let Some(symbol) = value.as_symbol() {
            let name = symbol.description().ok().and_then(|name| name.get::<String>().ok());
            return Self::new(format!("Symbol({})", name.unwrap_or_default()));
        }
        if value.is_null() {
            // The engine throws null if there is no memory left for an error.
            return Self::new("null (a script threw it, or the engine is out of memory)");
        }
        let text = rquickjs::Coerced::<String>::from_js(ctx, value.clone());
        Self::new(text.map_or_else(|_| "unknown error".to_owned(), |text| text.0))
    }

    /// Takes the exception that a call left behind.
    pub(crate) fn catch(ctx: &Ctx<'_>, error: &rquickjs::Error) -> Self {
        if matches!(error, rquickjs::Error::Exception) {
            let thrown = ctx.catch();
            return Self::from_value(ctx, &thrown);
        }
        Self::new(error.to_string())
    }
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Returns the files that a stack names, innermost first.
pub(crate) fn files_of_stack(stack: &str) -> Vec<String> {
    let frames = stack.lines().filter_map(|line| line.trim().strip_prefix("at "));
    let place = |frame: &str| {
        let inner = frame.rsplit_once('(').map_or(frame, |(_, inner)| inner).trim_end_matches(')');
        let mut parts = inner.rsplitn(3, ':');
        parts.nth(2).map(str::to_owned)
    };
    frames.filter_map(place).collect()
}
