//! Keys of raw terminal input.

use pi_tui::input::{Decoder, Event, Input, Key, KeyId, KeyKind};
use rquickjs::{Ctx, Function, Object};

use super::text::Text;
use crate::host::Host;

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    // The id of the one key that the data is, and the text that it types.
    object.set(
        "parse",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, data: Text| {
            let Some(key) = key_of(&data.0) else { return Ok(None) };
            let object = Object::new(ctx)?;
            object.set("id", key.id().to_string())?;
            object.set("text", key.text)?;
            Ok::<_, rquickjs::Error>(Some(object))
        })?,
    )?;
    // The canonical form of a key id.
    object.set(
        "normalize",
        Function::new(ctx.clone(), |id: Text| id.0.parse::<KeyId>().ok().map(|id| id.to_string()))?,
    )?;
    Ok(object)
}

/// Returns the input events of data that is complete.
pub(super) fn decode(data: &str) -> Vec<Input> {
    let mut events = Vec::new();
    let mut decoder = Decoder::default();
    decoder.push(data.as_bytes(), &mut events);
    decoder.flush(&mut events);
    let inputs = events.into_iter().filter_map(|event| match event {
        Event::Input(input) => Some(input),
        _ => None,
    });
    inputs.collect()
}

/// Returns the key, if the data is exactly one.
fn key_of(data: &str) -> Option<Key> {
    let mut inputs = decode(data).into_iter();
    match (inputs.next(), inputs.next()) {
        (Some(Input::Key(key)), None) => Some(Key { kind: KeyKind::Press, ..key }),
        _ => None,
    }
}
