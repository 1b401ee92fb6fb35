//! Output of `console` and of the standard streams.

use rquickjs::{Ctx, Function, Object};

use crate::host::Host;
use crate::host_process::OutputStream;
use crate::value::Bytes;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let functions = [
        ("write", OutputStream::Console),
        ("writeStdout", OutputStream::Stdout),
        ("writeStderr", OutputStream::Stderr),
    ];
    for (name, stream) in functions {
        let state = host.clone();
        object.set(
            name,
            Function::new(ctx.clone(), move |ctx: Ctx<'js>, value: rquickjs::Value<'js>| {
                let bytes = match value.as_string() {
                    Some(text) => text.to_string().map(String::into_bytes),
                    None => rquickjs::FromJs::from_js(&ctx, value).map(|bytes: Bytes| bytes.0),
                };
                // A slow reader of the output must not look like a slow extension.
                bytes.map(|bytes| state.block(|| (state.process.options.output)(stream, &bytes)))
            })?,
        )?;
    }
    let state = host.clone();
    // `[columns, rows]`, or nothing if the standard streams are no terminal.
    object.set(
        "terminalSize",
        Function::new(ctx.clone(), move || {
            let size = (state.process.options.terminal)();
            size.map(|(columns, rows)| vec![columns, rows])
        })?,
    )?;
    Ok(object)
}
