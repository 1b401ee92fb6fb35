//! Text that is borrowed from an event if possible.

use std::borrow::Cow;

use serde::Deserialize;

/// A JSON string that is copied only if it contains escapes. (serde borrows a `Cow` field, but not
/// a `Cow` inside an `Option`; this wrapper makes it borrow there, too.)
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
