//! The fields of a credential file.

use serde_json::{Map, Value};

use crate::cloud::SourceError;
use crate::cloud::exchange;

/// A JSON object with the name of its file for errors, which never quote a value.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    file: &'a str,
}

impl<'a> Fields<'a> {
    pub(super) fn new(value: &'a Value, file: &'a str) -> Result<Self, SourceError> {
        match value {
            Value::Object(object) => Ok(Self { object, file }),
            _ => Err(SourceError::new(format!("{file} has no JSON object"))),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name)
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'a str> {
        self.object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn required(&self, name: &str) -> Result<&'a str, SourceError> {
        self.optional(name).ok_or_else(|| self.error(&format!("has no {name}")))
    }

    /// Returns the URL to which secrets are sent.
    pub(super) fn url(&self, name: &str) -> Result<&'a str, SourceError> {
        let url = self.required(name)?;
        exchange::check_url(url, &format!("{name} in {}", self.file))?;
        Ok(url)
    }

    /// Returns an object in the object.
    pub(super) fn object(&self, name: &str) -> Result<Self, SourceError> {
        match self.object.get(name) {
            Some(Value::Object(object)) => Ok(Self { object, file: self.file }),
            _ => Err(self.error(&format!("has no {name}"))),
        }
    }

    pub(super) fn error(&self, problem: &str) -> SourceError {
        SourceError::new(format!("{} {problem}", self.file))
    }
}
