//! Changes of what is shown, without an answer.

use pi_coding_agent::extension::{NotifyKind, UiUpdate, WidgetPlacement};
use serde_json::Value;

use super::ui_of;
use crate::host::Natives;

/// `update(id, name, fields)`: one of the changes below. An unknown one is dropped.
pub(super) const FUNCTIONS: Natives = &[("update", |call| {
    let update = update(&call.text(1)?, &call.json(2)?);
    if let (Some(ui), Some(update)) = (ui_of(call.host, call.id(0)?), update) {
        ui.interface().update(update);
    }
    call.done()
})];

/// Reads a change of `js/pi/ui.js`. A field that is absent clears or restores.
fn update(name: &str, fields: &Value) -> Option<UiUpdate> {
    let text = |name: &str| fields[name].as_str().map(str::to_owned);
    let lines = |name: &str| {
        let lines = fields[name].as_array()?.iter();
        Some(lines.map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
    };
    Some(match name {
        "notify" => {
            let kind = match fields["kind"].as_str() {
                Some("warning") => Some(NotifyKind::Warning),
                Some("error") => Some(NotifyKind::Error),
                Some(_) => Some(NotifyKind::Info),
                None => None,
            };
            UiUpdate::Notify { message: text("message")?, kind }
        }
        "setStatus" => UiUpdate::SetStatus { key: text("key")?, text: text("text") },
        "setWidget" => UiUpdate::SetWidget {
            key: text("key")?,
            lines: lines("lines"),
            placement: fields["placement"].as_str().map(placement),
        },
        "setTitle" => UiUpdate::SetTitle { title: text("title")? },
        "setEditorText" => UiUpdate::SetEditorText { text: text("text")? },
        "pasteToEditor" => UiUpdate::PasteToEditor { text: text("text")? },
        "setWorkingMessage" => UiUpdate::SetWorkingMessage { message: text("message") },
        "setWorkingVisible" => {
            UiUpdate::SetWorkingVisible { visible: fields["visible"].as_bool()? }
        }
        "setWorkingIndicator" => UiUpdate::SetWorkingIndicator {
            frames: lines("frames"),
            interval_ms: fields["intervalMs"].as_f64().filter(|time| *time >= 1.0).map(whole),
        },
        "setHiddenThinkingLabel" => UiUpdate::SetHiddenThinkingLabel { label: text("label") },
        "setToolsExpanded" => {
            UiUpdate::SetToolsExpanded { expanded: fields["expanded"].as_bool()? }
        }
        _ => return None,
    })
}

/// Reads the place of a widget.
pub(super) fn placement(name: &str) -> WidgetPlacement {
    match name {
        "belowEditor" => WidgetPlacement::BelowEditor,
        _ => WidgetPlacement::AboveEditor,
    }
}

// The number is positive, and casts saturate.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}
