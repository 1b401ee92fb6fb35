//! A registered function of an extension that stays in JavaScript, under a number.

use rquickjs::IntoJs as _;

use crate::error::ScriptError;
use crate::host::{Arguments, Called, ExtensionId, JsThread, WeakJsThread};

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
    pub(crate) fn call(&self, function: &'static str, arguments: impl Into<Arguments>) -> Called {
        self.call_boxed(function, arguments.into(), JsThread::call)
    }

    /// Calls a function without a use for its value.
    pub(crate) fn run(&self, function: &'static str, arguments: impl Into<Arguments>) -> Called {
        self.call_boxed(function, arguments.into(), JsThread::run)
    }

    fn call_boxed(
        &self,
        function: &'static str,
        arguments: Arguments,
        call: fn(&JsThread, ExtensionId, &'static str, Arguments) -> Called,
    ) -> Called {
        let Some(thread) = self.thread.upgrade() else {
            return Box::pin(async { Err(ScriptError::new("the extension was stopped")) });
        };
        let number = self.number;
        let arguments = Arguments::built(move |ctx, host| {
            let mut all = vec![number.into_js(ctx)?];
            all.extend(arguments.build(ctx, host)?);
            Ok(all)
        });
        call(&thread, self.extension, function, arguments)
    }

    /// Returns the number and the thread.
    pub(crate) fn parts(&self) -> (u32, &WeakJsThread) {
        (self.number, &self.thread)
    }
}

impl Drop for JsHandle {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.upgrade() {
            thread.poster().post_call("release", vec![self.number.into()]);
        }
    }
}
