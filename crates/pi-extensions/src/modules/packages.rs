//! Packages of pi, and typebox.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {};
