//! Packages of pi, and typebox.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {
    "typebox" = "typebox/index.js",
    "typebox/type" = "typebox/index.js",
    "typebox/value" = "typebox/value-index.js",
    "typebox/compile" = "typebox/compile.js",
    "pi:typebox/schema" = "typebox/schema.js",
    "pi:typebox/types" = "typebox/types.js",
    "pi:typebox/template" = "typebox/template.js",
    "pi:typebox/derive" = "typebox/derive.js",
    "pi:typebox/script" = "typebox/script.js",
    "pi:typebox/formats" = "typebox/formats.js",
    "pi:typebox/check" = "typebox/check.js",
    "pi:typebox/value" = "typebox/value.js",
    "pi:typebox/delta" = "typebox/delta.js",
};
