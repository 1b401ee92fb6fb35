//! Native functions, grouped by area: one file per area, with a table of its functions.
//!
//! `js/host/main.js` hands an area to a host module that requires `native:AREA`. No other code can
//! reach it.

mod ai;
mod buffer;
mod call;
pub(crate) mod child;
mod colors;
mod console;
mod crypto;
mod editor;
pub(crate) mod errno;
mod events;
pub(crate) mod fs;
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
pub(crate) mod timers;
mod tools;
mod ui;
mod url;
mod yaml;
mod zlib;

pub(crate) use call::{Answer, Call, Natives, Outcome, Thrown, function};
pub(crate) use timers::{report_uncaught, run_ticks};

use rquickjs::{Ctx, Function};

use crate::error::NativeError;
use crate::host::Host;

/// The areas, each with its tables of functions.
const AREAS: &[(&str, &[Natives])] = &[
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
    ("testing", &[crate::testing::FUNCTIONS]),
    ("text", &[text::FUNCTIONS]),
    ("timers", &[timers::FUNCTIONS]),
    ("tools", &[tools::FUNCTIONS]),
    ("ui", ui::TABLES),
    ("yaml", &[yaml::FUNCTIONS]),
    ("url", &[url::FUNCTIONS]),
];

/// What native functions keep from call to call.
#[derive(Default)]
pub(crate) struct Areas {
    dialogs: ui::Dialogs,
    editors: editor::Editors,
    exchanges: http::Exchanges,
    input: ui::Input,
    requests: ai::Requests,
    run: session::CurrentRun,
    sockets: net::Sockets,
    pub(crate) tests: crate::testing::Sessions,
    times: process::Times,
    tools: tools::Calls,
    web: http::Web,
}

/// Returns the function that builds an area by its name.
pub(crate) fn provider<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    function(ctx, host, |call| {
        let name = call.text(0)?;
        if name == "testing" && !call.host.is_test {
            let message = "pi/test is only available in tests; run them with `pi extension test`";
            return Err(NativeError::new(message).into());
        }
        let found = AREAS.iter().chain(session::AREAS).find(|(area, _)| *area == name);
        match found {
            Some((_, tables)) => Ok(call::object(call.ctx(), call.host, tables)?.into_value()),
            None => Err(NativeError::new(format!("no native functions for {name}")).into()),
        }
    })
}
