//! The fields of a delta event, parsed without allocation.
//!
//! Whole items and responses are rare and are parsed separately, from the same text. Fields of an
//! unexpected type count as absent: an odd `item_id` must not fail the answer.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The fields that every event may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    /// The value of `type`.
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'a, str>,
    /// Index of the item in the output; some servers leave it out.
    #[serde(deserialize_with = "index")]
    pub(super) output_index: Option<u64>,
    /// Id of the item; some servers change it from event to event.
    #[serde(borrow, deserialize_with = "text")]
    pub(super) item_id: Cow<'a, str>,
    /// The text that the event adds.
    #[serde(borrow, deserialize_with = "text")]
    pub(super) delta: Cow<'a, str>,
    /// The complete argument text of a call.
    #[serde(borrow, deserialize_with = "text")]
    pub(super) arguments: Cow<'a, str>,
    /// The complete input of a grammar tool's call.
    #[serde(borrow, deserialize_with = "text")]
    pub(super) input: Cow<'a, str>,
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    Ok(match deserializer.deserialize_any(Scalar)? {
        Parsed::Text(text) => text,
        Parsed::Index(_) | Parsed::Other => Cow::Borrowed(""),
    })
}

fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(match deserializer.deserialize_any(Scalar)? {
        Parsed::Index(index) => Some(index),
        Parsed::Text(_) | Parsed::Other => None,
    })
}

enum Parsed<'de> {
    Text(Cow<'de, str>),
    Index(u64),
    Other,
}

/// Accepts any value; keeps strings and indices.
struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Parsed<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Parsed::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Parsed::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, index: u64) -> Result<Self::Value, E> {
        Ok(Parsed::Index(index))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Parsed::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Parsed::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Parsed::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Parsed::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Parsed::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Parsed::Other)
    }
}

impl<'a> Event<'a> {
    /// Parses the data of an event.
    pub(super) fn read(data: &'a str) -> Result<Self, serde_json::Error> {
        Self::deserialize(&mut serde_json::Deserializer::from_str(data))
    }
}
