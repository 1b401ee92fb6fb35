//! Amazon Web Services: the sources of keys, and the region.

mod environment;

use super::Source;

/// The sources in order.
pub(super) const SOURCES: &[&dyn Source] = &[&environment::Environment];

/// The variables on which the result depends.
pub(super) const VARIABLES: &[&str] =
    &["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
