//! Node's modules.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {
    "pi:buffer-numbers" = "node/buffer-numbers.js",
    "pi:node-errors" = "node/errors.js",
    "node:buffer" = "node/buffer.js",
    "node:events" = "node/events.js",
    "node:string_decoder" = "node/string-decoder.js",
};
