//! Text borrowed from an event where possible.

use std::borrow::Cow;

use serde::Deserialize;

/// A JSON string that is copied only if it holds escapes. (serde borrows a `Cow` field, but not
/// one inside an `Option`; inside this wrapper it does.)
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
