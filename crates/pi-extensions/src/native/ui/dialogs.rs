//! Dialogs: requests that wait for the user.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use pi_coding_agent::extension::{Dialog, DialogAnswer, DialogOptions};
use pi_protocol::CancelToken;
use rquickjs::{Ctx, Function, IntoJs, Object, Value};

use super::ui_of;
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

/// The dialogs that can be closed, by the number that JavaScript gave them.
type Open = Rc<RefCell<BTreeMap<u32, CancelToken>>>;

/// The answer to a dialog.
enum Answered {
    Nothing,
    Text(String),
    Confirmed(bool),
}

impl<'js> IntoJs<'js> for Answered {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self {
            Self::Nothing => Ok(Value::new_undefined(ctx.clone())),
            Self::Text(text) => text.into_js(ctx),
            Self::Confirmed(yes) => yes.into_js(ctx),
        }
    }
}

pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let open = Open::default();
    let (state, tokens) = (host.clone(), Rc::clone(&open));
    // `dialog(id, number, request)`: a promise for the text, the decision or nothing.
    object.set(
        "dialog",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, number: u32, request: Json| {
                let Some(dialog) = dialog(&request.0) else {
                    return Err(NativeError::of("TypeError", "invalid dialog").throw(&ctx));
                };
                let cancel = CancelToken::new();
                tokens.borrow_mut().insert(number, cancel.clone());
                let ui = ui_of(&state, id);
                state.promise_on_main(&ctx, async move {
                    let Some(ui) = ui else { return Ok(Answered::Nothing) };
                    let options =
                        DialogOptions { timeout: timeout(&request.0), cancel: Some(cancel) };
                    Ok(match ui.dialog(dialog, options).await {
                        Some(DialogAnswer::Text(text)) => Answered::Text(text),
                        Some(DialogAnswer::Confirmed(yes)) => Answered::Confirmed(yes),
                        _ => Answered::Nothing,
                    })
                })
            },
        )?,
    )?;
    // `closeDialog(number)`: closes a dialog that is open, and forgets one that is answered.
    object.set(
        "closeDialog",
        Function::new(ctx.clone(), move |number: u32| {
            if let Some(token) = open.borrow_mut().remove(&number) {
                token.cancel();
            }
        })?,
    )
}

/// Reads a request of `js/pi/ui.js`.
fn dialog(request: &serde_json::Value) -> Option<Dialog> {
    let text = |name: &str| request[name].as_str().map(str::to_owned);
    let title = text("title").unwrap_or_default();
    Some(match request["kind"].as_str()? {
        "select" => {
            let options = request["options"].as_array()?.iter();
            let options = options.map(|option| option.as_str().unwrap_or_default().to_owned());
            Dialog::Select { title, options: options.collect() }
        }
        "confirm" => Dialog::Confirm { title, message: text("message").unwrap_or_default() },
        "input" => Dialog::Input { title, placeholder: text("placeholder") },
        "editor" => Dialog::Editor { title, prefill: text("prefill") },
        _ => return None,
    })
}

/// Returns the time after which a dialog closes. Zero and nonsense mean none.
fn timeout(request: &serde_json::Value) -> Option<Duration> {
    let milliseconds = request["timeout"].as_f64().filter(|time| *time > 0.0)?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}
