//! Keys of raw terminal input.

use pi_tui::input::{Input, Key, KeyId, KeyKind};
use serde_json::json;

use crate::host::Natives;

pub(super) const FUNCTIONS: Natives = &[
    // The id of the one key that the data is, and the text that it types.
    ("parse", |call| {
        let key = key_of(&call.any_text(0)?);
        call.reply(key.map(|key| match &key.text {
            Some(text) => json!({ "id": key.id().to_string(), "text": text }),
            None => json!({ "id": key.id().to_string() }),
        }))
    }),
    // The canonical form of a key id.
    ("normalize", |call| {
        let id = call.any_text(0)?.parse::<KeyId>().ok();
        call.reply(id.map(|id| id.to_string()))
    }),
];

/// Returns the key, if the data is exactly one.
fn key_of(data: &str) -> Option<Key> {
    let mut inputs = Input::decode(data).into_iter();
    match (inputs.next(), inputs.next()) {
        (Some(Input::Key(key)), None) => Some(Key { kind: KeyKind::Press, ..key }),
        _ => None,
    }
}
