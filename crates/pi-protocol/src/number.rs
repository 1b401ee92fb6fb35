//! Numbers as JavaScript writes them.
//!
//! The files this project shares with other programs hold JavaScript numbers: one type, written
//! without a fraction when integral. serde's `f64` would write `0.0` where they have `0`, and
//! serde's `u64` would reject `12.0`.

use serde::{Deserialize, Deserializer, Serializer};

/// The largest integer that a JavaScript number holds exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// `#[serde(with = "number::js")]` for an `f64`.
pub mod js {
    use super::{Deserialize, Deserializer, MAX_SAFE_INTEGER, Serializer};

    /// Serializes an integral value without a fraction.
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.fract() == 0.0 && value.abs() <= MAX_SAFE_INTEGER {
            // In range by the check above.
            serializer.serialize_i64(*value as i64)
        } else {
            serializer.serialize_f64(*value)
        }
    }

    /// Deserializes a number; `null` is 0.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0))
    }
}

/// `#[serde(with = "number::js_option")]` for an `Option<f64>`.
pub mod js_option {
    use super::{Deserialize, Deserializer, Serializer, js};

    /// Serializes an integral value without a fraction, and `None` as `null`.
    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => js::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Deserializes a number or `null`.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Option::<f64>::deserialize(deserializer)
    }
}

/// `#[serde(deserialize_with = "number::count")]`: a count that may be absent, `null`, or written
/// with a fraction. A negative count (seen from servers that subtract cached tokens twice) is 0.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    // A float-to-integer cast saturates, as intended here.
    Ok(Option::<f64>::deserialize(deserializer)?.map_or(0, |number| number.round() as u64))
}

/// Like [`count`], for a field that distinguishes "absent" from 0.
pub(crate) fn count_option<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(|number| number.round() as u64))
}
