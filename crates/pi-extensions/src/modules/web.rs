//! The web platform: internal modules behind globals.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {
    "pi:abort" = "web/abort.js",
    "pi:blob" = "web/blob.js",
    "pi:body" = "web/body.js",
    "pi:clone" = "web/clone.js",
    "pi:compression" = "web/compression.js",
    "pi:encodings" = "web/encodings.js",
    "pi:event" = "web/event.js",
    "pi:fetch" = "web/fetch.js",
    "pi:headers" = "web/headers.js",
    "pi:navigator" = "web/navigator.js",
    "pi:readable-stream" = "web/readable-stream.js",
    "pi:request" = "web/request.js",
    "pi:stream-pipe" = "web/stream-pipe.js",
    "pi:text" = "web/text.js",
    "pi:url" = "web/url.js",
    "pi:webcrypto" = "web/webcrypto.js",
    "pi:websocket" = "web/websocket.js",
    "pi:web-streams" = "web/web-streams.js",
    "pi:writable-stream" = "web/writable-stream.js",
};
