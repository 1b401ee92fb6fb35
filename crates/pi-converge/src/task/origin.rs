//! The origin of each value of a contract: a line of a file, an option, a setting, a default.

use std::collections::BTreeMap;
use std::fmt;

use pi_config::yaml::Place;

use super::document::{Document, Problem, field};

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A file, and the place in it.
    File {
        /// Name of the file.
        name: String,
        /// Place of the value.
        place: Option<Place>,
    },
    /// An option of the command line, such as `--max-turns`.
    Option(String),
    /// The value if none is given.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, place: Some(place) } => write!(f, "{name}:{}", place.line),
            Self::File { name, place: None } => f.write_str(name),
            Self::Option(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The origins of values, by JSON pointer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Origins(BTreeMap<String, Origin>);

impl Origins {
    /// Sets the origin of a value and of everything below it.
    pub(super) fn set(&mut self, pointer: &str, origin: Origin) {
        let below = format!("{pointer}/");
        self.0.retain(|known, _| known != pointer && !known.starts_with(&below));
        self.0.insert(pointer.to_owned(), origin);
    }

    /// Sets the origin of a value to a place in a document.
    pub(super) fn set_place(&mut self, pointer: &str, document: &Document, from: &str) {
        let origin = Origin::File { name: document.name.clone(), place: document.place(from) };
        self.0.insert(pointer.to_owned(), origin);
    }

    /// Adds the places of all values of a document.
    pub(super) fn add_document(&mut self, document: &Document) {
        for (pointer, place) in document.places() {
            let origin = Origin::File { name: document.name.clone(), place: Some(*place) };
            self.0.insert(pointer.clone(), origin);
        }
    }

    /// Returns the origin of a value: its own, or that of the value that contains it.
    pub(super) fn of(&self, pointer: &str) -> &Origin {
        let mut pointer = pointer;
        loop {
            if let Some(origin) = self.0.get(pointer) {
                return origin;
            }
            match pointer.rfind('/') {
                Some(end) => pointer = &pointer[..end],
                None => return &Origin::Default,
            }
        }
    }

    /// Returns a problem with a value, in the words of its origin.
    pub(super) fn problem(&self, pointer: &str, message: impl Into<String>) -> Problem {
        let message = message.into();
        let (file, place, field) = match self.of(pointer) {
            Origin::File { name, place } => (name.clone(), *place, field(pointer)),
            Origin::Option(name) => (String::new(), None, name.clone()),
            Origin::Default => (String::new(), None, field(pointer)),
        };
        Problem { file, place, field, message }
    }
}
