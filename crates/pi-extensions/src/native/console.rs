//! Output of `console` and of the standard streams.

use std::io::Write as _;

use rquickjs::{Ctx, Function, Object};

use crate::host::Host;

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    // Standard output belongs to the program's own protocol.
    object.set(
        "write",
        Function::new(ctx.clone(), |text: String| {
            let _ = std::io::stderr().write_all(text.as_bytes());
        })?,
    )?;
    Ok(object)
}
