//! Native functions, grouped by area: one file per area, which builds an object of functions.
//!
//! `js/host/main.js` hands an area to a host module that requires `native:AREA`. No other code can
//! reach it.

mod ai;
mod buffer;
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

pub(crate) use timers::run_ticks;

use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::host::Host;

pub(crate) use timers::report_uncaught;

/// Builds the object of one area.
type Install = for<'js> fn(&Ctx<'js>, &Host) -> rquickjs::Result<Object<'js>>;

/// The areas.
const AREAS: &[(&str, Install)] = &[
    ("buffer", buffer::install),
    ("child", child::install),
    ("colors", colors::install),
    ("ai", ai::install),
    ("console", console::install),
    ("editor", editor::install),
    ("fs", fs::install),
    ("keys", keys::install),
    ("crypto", crypto::install),
    ("net", net::install),
    ("zlib", zlib::install),
    ("http", http::install),
    ("events", events::install),
    ("markdown", markdown::install),
    ("locale", locale::install),
    ("modules", modules::install),
    ("os", os::install),
    ("process", process::install),
    ("testing", crate::testing::install),
    ("text", text::install),
    ("timers", timers::install),
    ("tools", tools::install),
    ("ui", ui::install),
    ("yaml", yaml::install),
    ("url", url::install),
];

/// Returns the function that builds an area by its name.
pub(crate) fn provider<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, name: String| {
        let areas = AREAS.iter().chain(session::AREAS);
        let found = areas.into_iter().find(|(area, _)| *area == name);
        match found {
            Some((_, install)) => install(&ctx, &host),
            None => Err(NativeError::new(format!("no native functions for {name}")).throw(&ctx)),
        }
    })
}
