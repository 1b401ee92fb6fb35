//! Output of `console` and of the standard streams.

use crate::host::{Answer, Call, Natives};
use crate::host_process::OutputStream;

pub(super) const FUNCTIONS: Natives = &[
    ("write", |call| write(call, OutputStream::Console)),
    ("writeStdout", |call| write(call, OutputStream::Stdout)),
    ("writeStderr", |call| write(call, OutputStream::Stderr)),
    // `[columns, rows]`, or nothing if the standard streams are no terminal.
    ("terminalSize", |call| {
        let size = (call.host.process.options.terminal)();
        call.reply(size.map(|(columns, rows)| vec![f64::from(columns), f64::from(rows)]))
    }),
];

fn write<'js>(call: &Call<'_, 'js>, stream: OutputStream) -> Answer<'js> {
    let bytes = match call.value(0).as_string() {
        Some(text) => text.to_string()?.into_bytes(),
        None => call.bytes(0)?,
    };
    // A slow reader of the output must not look like a slow extension.
    call.host.block(|| (call.host.process.options.output)(stream, &bytes));
    call.done()
}
