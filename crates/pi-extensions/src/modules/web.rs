//! The web platform: internal modules behind globals.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {};
