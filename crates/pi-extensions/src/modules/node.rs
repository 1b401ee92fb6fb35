//! Node's modules.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {
    "pi:buffer-numbers" = "node/buffer-numbers.js",
    "pi:node-errors" = "node/errors.js",
    "node:buffer" = "node/buffer.js",
    "node:events" = "node/events.js",
    "pi:stream-base" = "node/stream-base.js",
    "pi:stream-operators" = "node/stream-operators.js",
    "pi:stream-readable" = "node/stream-readable.js",
    "pi:stream-tools" = "node/stream-tools.js",
    "pi:stream-web-bridge" = "node/stream-web-bridge.js",
    "pi:stream-writable" = "node/stream-writable.js",
    "node:stream" = "node/stream.js",
    "node:stream/consumers" = "node/stream-consumers.js",
    "node:stream/promises" = "node/stream-promises.js",
    "node:stream/web" = "node/stream-web.js",
    "node:string_decoder" = "node/string-decoder.js",
};
