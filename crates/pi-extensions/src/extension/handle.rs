//! A registered function of an extension that stays in JavaScript, under a number.

use rquickjs::{Ctx, FromJs, IntoJs as _, Value};

use crate::error::ScriptError;
use crate::host::{ExtensionId, Host};
use crate::thread::WeakJsThread;

/// A registered function of an extension, or an object with functions. Dropping the handle releases
/// it in JavaScript.
#[derive(Debug)]
pub(crate) struct JsHandle {
    thread: WeakJsThread,
    pub(crate) extension: ExtensionId,
    number: u32,
}

impl JsHandle {
    pub(crate) fn new(thread: WeakJsThread, extension: ExtensionId, number: u32) -> Self {
        Self { thread, extension, number }
    }

    /// Calls a function of the entry object with the number and further arguments.
    pub(crate) async fn call<T>(
        &self,
        function: &'static str,
        arguments: impl for<'js> FnOnce(&Ctx<'js>, &Host) -> rquickjs::Result<Vec<Value<'js>>>
        + Send
        + 'static,
    ) -> Result<T, ScriptError>
    where
        T: for<'a> FromJs<'a> + Send + 'static,
    {
        let thread = self.thread.upgrade().ok_or_else(stopped)?;
        let number = self.number;
        let called = thread.call(self.extension, function, move |ctx, host| {
            let mut all = vec![number.into_js(ctx)?];
            all.extend(arguments(ctx, host)?);
            Ok(all)
        });
        called.await
    }

    /// Returns the number and the thread.
    pub(crate) fn parts(&self) -> (u32, &WeakJsThread) {
        (self.number, &self.thread)
    }
}

impl Drop for JsHandle {
    fn drop(&mut self) {
        let Some(thread) = self.thread.upgrade() else { return };
        let number = self.number;
        thread.post(move |ctx, host| {
            // Fails only if the engine is out of memory; the entry then stays until the end.
            let number = Value::new_number(ctx.clone(), f64::from(number));
            let _ = host.call_entry(ctx, "release", vec![number]);
        });
    }
}

fn stopped() -> ScriptError {
    let message = "the extension was stopped".to_owned();
    ScriptError { stack: message.clone(), message }
}
