//! A component of an extension on the screen.
//!
//! The component itself stays on the JavaScript thread, under a number. The screen draws frames and
//! must not wait for JavaScript that is busy: lines that come late are shown in a later frame.

use pi_coding_agent::extension::{Component, ComponentFactory, ComponentMessage};
use rquickjs::{Ctx, IntoJs as _, Value};
use serde_json::Value as JsonValue;

use crate::host::{ComponentId, Host, Link, WeakJsThread};

/// Returns the factory of a component for the screen.
pub(crate) fn factory(thread: WeakJsThread, id: ComponentId, link: Link) -> ComponentFactory {
    Box::new(move |handle| {
        link.attach(handle);
        Box::new(JsComponent { thread, id, lines: Vec::new() })
    })
}

/// A component on a JavaScript thread.
struct JsComponent {
    thread: WeakJsThread,
    id: ComponentId,
    /// The lines of the last time.
    lines: Vec<String>,
}

impl Component for JsComponent {
    fn render(&mut self, width: usize) -> Vec<String> {
        let id = self.id;
        let rendered = self.thread.upgrade().and_then(|thread| {
            thread.call_for_screen(move |ctx, host| {
                call(ctx, host, "render", vec![id.into_js(ctx)?, width.into_js(ctx)?])
                    .and_then(|lines| lines.get::<Vec<String>>())
            })
        });
        // An error was reported by `js/pi/components.js`, which closes the component.
        if let Some(Ok(lines)) = rendered {
            self.lines = lines;
        }
        self.lines.clone()
    }

    fn handle_input(&mut self, data: &str) {
        let data = data.to_owned();
        self.post("input", move |ctx| Ok(vec![data.into_js(ctx)?]));
    }

    fn invalidate(&mut self) {
        self.post("invalidate", |_| Ok(Vec::new()));
    }

    fn set_text(&mut self, text: &str) {
        let text = text.to_owned();
        self.post("setText", move |ctx| Ok(vec![text.into_js(ctx)?]));
    }

    fn is_live(&self) -> bool {
        true
    }

    fn is_late(&self) -> bool {
        self.thread.upgrade().is_none_or(|thread| thread.is_late())
    }
}

impl JsComponent {
    /// Calls a function of `js/pi/components.js` with the number of the component.
    fn post(
        &self,
        function: &'static str,
        arguments: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<Vec<Value<'js>>> + Send + 'static,
    ) {
        let id = self.id;
        let Some(thread) = self.thread.upgrade() else { return };
        thread.post(move |ctx, host| {
            let called = arguments(ctx).and_then(|mut values| {
                values.insert(0, id.into_js(ctx)?);
                call(ctx, host, function, values)
            });
            if let Err(error) = called {
                host.report_uncaught(ctx, &error);
            }
        });
    }
}

impl Drop for JsComponent {
    fn drop(&mut self) {
        self.post("closed", |_| Ok(Vec::new()));
    }
}

/// Calls a function of the modules that draw.
pub(crate) fn call<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    function: &'static str,
    mut arguments: Vec<Value<'js>>,
) -> rquickjs::Result<Value<'js>> {
    arguments.insert(0, function.into_js(ctx)?);
    host.call_entry(ctx, "screen", arguments)
}

/// Ends a component with the result of its custom view. The value itself stays in JavaScript.
pub(crate) fn done() -> ComponentMessage {
    ComponentMessage::Done(JsonValue::Null)
}
