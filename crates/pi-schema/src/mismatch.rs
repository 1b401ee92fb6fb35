//! A mismatch between a value and a schema, as data.

use serde_json::Value;

/// A part of a value that does not match the schema.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Mismatch<'s, 'v> {
    /// Names and indices from the root to the part.
    pub path: Vec<String>,
    /// The keyword that the part violates; empty for the schema `false`.
    pub keyword: &'static str,
    /// The schema that has the keyword.
    pub schema: &'s Value,
    /// The value of the keyword.
    pub expected: &'s Value,
    /// The part.
    pub value: &'v Value,
    /// The difference, for keywords that need more than the part and their value.
    pub detail: Detail<'s, 'v>,
}

/// The difference between a value and a keyword.
#[derive(Debug, Clone)]
pub enum Detail<'s, 'v> {
    /// Nothing more.
    None,
    /// The name of the member that is missing or not allowed.
    Member(String),
    /// The name of a member that is missing, and of the one that requires it.
    Dependency {
        /// The missing member.
        missing: String,
        /// The member that is present.
        present: String,
    },
    /// The indices of two equal items, or of two alternatives that both match.
    Pair(usize, usize),
    /// The mismatches with each alternative of a union.
    Alternatives(Vec<Vec<Mismatch<'s, 'v>>>),
}

impl Mismatch<'_, '_> {
    /// Returns the JSON pointer of the part; empty for the root.
    pub fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |pointer, name| child_pointer(&pointer, name))
    }
}

/// Returns the JSON pointer of a member or item.
pub fn child_pointer(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
