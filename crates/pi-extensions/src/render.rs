//! Renderers of extensions: messages, entries, tool calls and Markdown on the screen.
//!
//! The function and its state stay in JavaScript (`js/pi/renderers.js`). The transcript draws
//! synchronously, so a thread that is busy counts as one that passes on.

use pi_coding_agent::extension::{RenderRequest, RenderTarget, Rendered, RenderedTool, Renderer};
use rquickjs::IntoJs as _;
use serde_json::{Value, json};

use crate::component;
use crate::host::{ExtensionId, WeakJsThread};
use crate::value::Json;

/// Returns the target of a registration, in the words of `js/pi/renderers.js`.
pub(crate) fn target(kind: &str, name: Option<String>) -> Option<RenderTarget> {
    Some(match (kind, name) {
        ("message", Some(name)) => RenderTarget::Message(name),
        ("entry", Some(name)) => RenderTarget::Entry(name),
        ("tool", Some(name)) => RenderTarget::Tool(name),
        ("anyTool", _) => RenderTarget::AnyTool,
        ("markdown", _) => RenderTarget::Markdown,
        _ => return None,
    })
}

/// Returns a renderer that calls JavaScript.
pub(crate) fn renderer(
    thread: WeakJsThread,
    extension: ExtensionId,
    target: &RenderTarget,
) -> Renderer {
    let kind = match target {
        RenderTarget::Message(_) => "message",
        RenderTarget::Entry(_) => "entry",
        RenderTarget::Markdown => "markdown",
        _ => "tool",
    };
    std::sync::Arc::new(move |request: &RenderRequest| {
        let RenderRequest { subject, key, width, expanded } = request;
        let request = json!({
            "kind": kind, "key": key, "width": width, "expanded": expanded, "subject": subject,
        });
        let answered = thread.upgrade()?.call_for_screen(move |ctx, host| {
            let arguments = vec![extension.into_js(ctx)?, Json(request).into_js(ctx)?];
            component::call(ctx, host, "renderSubject", arguments)?.get::<Json>()
        });
        // An error was reported by `js/pi/renderers.js`.
        rendered(kind, &answered?.ok()?.0)
    })
}

fn rendered(kind: &str, answer: &Value) -> Option<Rendered> {
    let lines = |value: &Value| -> Option<Vec<String>> {
        let lines = value.as_array()?.iter();
        Some(lines.map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
    };
    match kind {
        "markdown" => answer.as_str().map(|text| Rendered::Text(text.to_owned())),
        "tool" => {
            let answer = answer.as_object()?;
            let part = |name: &str| answer.get(name).and_then(lines);
            Some(Rendered::Tool(RenderedTool {
                is_unframed: answer.get("shell").and_then(Value::as_str) == Some("self"),
                call: part("call"),
                result: part("result"),
            }))
        }
        _ => lines(answer).map(Rendered::Lines),
    }
}
