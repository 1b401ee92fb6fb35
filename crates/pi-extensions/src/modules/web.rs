//! The web platform: internal modules behind globals.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {
    "pi:abort" = "web/abort.js",
    "pi:encodings" = "web/encodings.js",
    "pi:event" = "web/event.js",
    "pi:text" = "web/text.js",
};
