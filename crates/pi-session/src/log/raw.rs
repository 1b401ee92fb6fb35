//! A line of JSON in which single fields can be changed and everything else stays byte for byte.
//!
//! Forking and migrating copy entries and change their links. Nothing else may change: not the
//! spelling of a number, not the order of fields, not fields of other programs.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The fields of a JSON object in their order, values as text.
#[derive(Debug, Default)]
pub(crate) struct RawObject<'a> {
    fields: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> RawObject<'a> {
    /// Parses the fields of an object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the JSON text of a field. The last of repeated fields counts, as in JavaScript.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().rfind(|(field, _)| field == name).map(|(_, value)| value.as_ref())
    }

    /// Returns the value of a field if it is of this type.
    pub(crate) fn value<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Sets a field to a JSON text; a new field is added at the end.
    pub(crate) fn set(&mut self, name: &'a str, json: String) {
        match self.fields.iter_mut().rfind(|(field, _)| field == name) {
            Some((_, value)) => *value = Cow::Owned(json),
            None => self.fields.push((Cow::Borrowed(name), Cow::Owned(json))),
        }
    }

    /// Sets a field to a string, or to `null` for `None`.
    pub(crate) fn set_text(&mut self, name: &'a str, text: Option<&str>) {
        let json = text.map_or_else(|| "null".to_owned(), |text| json_string(text).into_owned());
        self.set(name, json);
    }

    /// Removes all fields of this name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.fields.retain(|(field, _)| field != name);
    }
}

impl fmt::Display for RawObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.fields.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}:{value}", json_string(name))?;
        }
        f.write_str("}")
    }
}

fn json_string(text: &str) -> Cow<'static, str> {
    // Serializing a string cannot fail.
    serde_json::to_string(text).map_or(Cow::Borrowed("\"\""), Cow::Owned)
}

impl<'de> Deserialize<'de> for RawObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value: &'de RawValue = map.next_value()?;
                    fields.push((Cow::Owned(name), Cow::Borrowed(value.get())));
                }
                Ok(RawObject { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}
