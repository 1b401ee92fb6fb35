//! Native functions, grouped by area: one file per area, with a table of its functions.
//!
//! `js/host/main.js` hands an area to a host module that requires `native:AREA`. No other code can
//! reach it.

mod ai;
mod buffer;
mod child;
mod colors;
mod console;
mod crypto;
mod editor;
pub(crate) mod errno;
mod events;
mod fs;
mod http;
mod keys;
mod locale;
mod markdown;
mod modules;
mod net;
mod os;
mod os_network;
mod process;
mod session;
mod text;
mod timers;
mod tools;
mod ui;
mod url;
mod yaml;
mod zlib;

use rquickjs::{Ctx, Function};

use crate::error::NativeError;
use crate::host::{Host, Natives, function, object};

/// An area: its name, and tables of functions.
pub(crate) type Area = (&'static str, &'static [Natives]);

/// The areas of all threads.
const AREAS: &[Area] = &[
    ("buffer", &[buffer::FUNCTIONS]),
    ("child", &[child::FUNCTIONS]),
    ("colors", &[colors::FUNCTIONS]),
    ("ai", &[ai::FUNCTIONS, ai::STREAMS]),
    ("console", &[console::FUNCTIONS]),
    ("editor", &[editor::FUNCTIONS]),
    ("fs", &[fs::FUNCTIONS, fs::WATCHES]),
    ("keys", &[keys::FUNCTIONS]),
    ("crypto", &[crypto::FUNCTIONS]),
    ("net", &[net::FUNCTIONS]),
    ("zlib", &[zlib::FUNCTIONS]),
    ("http", &[http::FUNCTIONS]),
    ("events", &[events::FUNCTIONS]),
    ("markdown", &[markdown::FUNCTIONS]),
    ("locale", &[locale::FUNCTIONS]),
    ("modules", &[modules::FUNCTIONS]),
    ("os", &[os::FUNCTIONS]),
    ("process", &[process::FUNCTIONS]),
    ("text", &[text::FUNCTIONS]),
    ("timers", &[timers::FUNCTIONS]),
    ("tools", &[tools::FUNCTIONS]),
    ("ui", ui::TABLES),
    ("yaml", &[yaml::FUNCTIONS]),
    ("url", &[url::FUNCTIONS]),
];

/// Returns the function that builds an area by its name; `further` are areas of this thread alone.
pub(crate) fn provider<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    further: &'static [Area],
) -> rquickjs::Result<Function<'js>> {
    function(ctx, host, move |call| {
        let name = call.text(0)?;
        let mut areas = AREAS.iter().chain(session::AREAS).chain(further);
        match areas.find(|(area, _)| *area == name) {
            Some((_, tables)) => Ok(object(call.ctx(), call.host, tables)?.into_value()),
            None if name == "testing" => {
                let message =
                    "pi/test is only available in tests; run them with `pi extension test`";
                Err(NativeError::new(message).into())
            }
            None => Err(NativeError::new(format!("no native functions for {name}")).into()),
        }
    })
}
