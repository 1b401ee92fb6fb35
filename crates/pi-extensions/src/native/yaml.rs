//! YAML to JSON, for front matter.

use pi_config::yaml::{self, Dialect};

use crate::error::NativeError;
use crate::host::Natives;

pub(super) const FUNCTIONS: Natives = &[("parse", |call| {
    let parsed = yaml::parse(&call.text(0)?, Dialect::Lenient);
    call.reply(parsed.map_err(|invalid| NativeError::new(invalid.to_string()))?.0)
})];
