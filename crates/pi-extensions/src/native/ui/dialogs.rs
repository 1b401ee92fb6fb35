//! Dialogs: requests that wait for the user.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use pi_coding_agent::extension::{Dialog, DialogAnswer, DialogOptions};
use pi_protocol::CancelToken;

use super::ui_of;
use crate::error::NativeError;
use crate::host::Natives;
use crate::value::Plain;

/// The dialogs that can be closed, by the number that JavaScript gave them.
type Dialogs = RefCell<BTreeMap<u32, CancelToken>>;

pub(super) const FUNCTIONS: Natives = &[
    // `dialog(id, number, request)`: a promise for the text, the decision or nothing.
    ("dialog", |call| {
        let request = call.json(2)?;
        let Some(dialog) = dialog(&request) else {
            return Err(NativeError::of("TypeError", "invalid dialog").into());
        };
        let cancel = CancelToken::new();
        call.host.area::<Dialogs>().borrow_mut().insert(call.id(1)?, cancel.clone());
        let ui = ui_of(call.host, call.id(0)?);
        call.promise_on_main(async move {
            let Some(ui) = ui else { return Ok(Plain::Nothing) };
            let options = DialogOptions { timeout: timeout(&request), cancel: Some(cancel) };
            Ok(match ui.dialog(dialog, options).await {
                Some(DialogAnswer::Text(text)) => Plain::Text(text),
                Some(DialogAnswer::Confirmed(yes)) => Plain::Flag(yes),
                _ => Plain::Nothing,
            })
        })
    }),
    // `closeDialog(number)`: closes a dialog that is open, and forgets one that is answered.
    ("closeDialog", |call| {
        if let Some(token) = call.host.area::<Dialogs>().borrow_mut().remove(&call.id(0)?) {
            token.cancel();
        }
        call.done()
    }),
];

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
