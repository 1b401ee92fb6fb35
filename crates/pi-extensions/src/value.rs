//! Values that cross the border: JSON, bytes, and plain values of any kind.

use crate::engine::raw;
use rquickjs::{
    Array, ArrayBuffer, Ctx, FromJs, IntoJs, Object, Result, String as JsString, TypedArray, Value,
};

/// A JSON value. From JavaScript it follows `JSON.stringify`: functions and `undefined` are left
/// out, `toJSON` is called, a cycle is an error.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Json(pub(crate) serde_json::Value);

impl<'js> IntoJs<'js> for Json {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        to_js(ctx, &self.0)
    }
}

impl<'js> FromJs<'js> for Json {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let Some(text) = ctx.json_stringify(value)? else { return Ok(Self::default()) };
        let text = text.to_string()?;
        serde_json::from_str(&text).map(Json).map_err(|error| {
            rquickjs::Error::new_from_js_message("value", "JSON", error.to_string())
        })
    }
}

/// Converts a JSON value.
pub(crate) fn to_js<'js>(ctx: &Ctx<'js>, value: &serde_json::Value) -> Result<Value<'js>> {
    use serde_json::Value as V;
    Ok(match value {
        V::Null => Value::new_null(ctx.clone()),
        V::Bool(value) => Value::new_bool(ctx.clone(), *value),
        V::Number(number) => match number.as_i64().and_then(|n| i32::try_from(n).ok()) {
            Some(small) => Value::new_int(ctx.clone(), small),
            None => Value::new_float(ctx.clone(), number.as_f64().unwrap_or(f64::NAN)),
        },
        V::String(text) => JsString::from_str(ctx.clone(), text)?.into_value(),
        V::Array(items) => {
            let array = Array::new(ctx.clone())?;
            for (at, item) in items.iter().enumerate() {
                array.set(at, to_js(ctx, item)?)?;
            }
            array.into_value()
        }
        V::Object(fields) => {
            let object = Object::new(ctx.clone())?;
            for (name, field) in fields {
                object.set(name.as_str(), to_js(ctx, field)?)?;
            }
            object.into_value()
        }
    })
}

/// Bytes; a `Uint8Array` in JavaScript. Taken from any typed array, `DataView` or `ArrayBuffer`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl<'js> IntoJs<'js> for Bytes {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        // A copy in memory of the engine, which counts for its limit.
        Ok(TypedArray::<u8>::new_copy(ctx.clone(), self.0)?.into_value())
    }
}

impl<'js> FromJs<'js> for Bytes {
    fn from_js(_ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let wrong = || rquickjs::Error::new_from_js("value", "bytes");
        let object = value.into_object().ok_or_else(wrong)?;
        if let Some(buffer) = ArrayBuffer::from_object(object.clone()) {
            return raw::copy_bytes(&buffer, 0, buffer.len()).map(Self).ok_or_else(wrong);
        }
        let buffer: Object<'js> = object.get("buffer")?;
        let buffer = ArrayBuffer::from_object(buffer).ok_or_else(wrong)?;
        let (offset, length) = (object.get("byteOffset")?, object.get("byteLength")?);
        raw::copy_bytes(&buffer, offset, length).map(Self).ok_or_else(wrong)
    }
}

/// A value that exists without the engine: what native functions and futures return.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plain {
    /// `undefined`.
    Nothing,
    Flag(bool),
    Number(f64),
    Numbers(Vec<f64>),
    Text(String),
    Texts(Vec<String>),
    Bytes(Vec<u8>),
    Json(serde_json::Value),
}

impl<'js> IntoJs<'js> for Plain {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        match self {
            Self::Nothing => Ok(Value::new_undefined(ctx.clone())),
            Self::Flag(flag) => Ok(Value::new_bool(ctx.clone(), flag)),
            Self::Number(number) => Ok(Value::new_number(ctx.clone(), number)),
            Self::Numbers(numbers) => numbers.into_js(ctx),
            Self::Text(text) => text.into_js(ctx),
            Self::Texts(texts) => texts.into_js(ctx),
            Self::Bytes(bytes) => Bytes(bytes).into_js(ctx),
            Self::Json(json) => to_js(ctx, &json),
        }
    }
}

macro_rules! plain {
    ($($from:ty, $value:ident => $plain:expr;)*) => {
        $(impl From<$from> for Plain {
            fn from($value: $from) -> Self {
                $plain
            }
        })*
    };
}

plain! {
    (), _value => Self::Nothing;
    bool, value => Self::Flag(value);
    f64, value => Self::Number(value);
    i32, value => Self::Number(value.into());
    u32, value => Self::Number(value.into());
    // The engine has no larger integers than those of a double.
    u64, value => Self::Number(value as f64);
    usize, value => Self::Number(value as f64);
    Vec<f64>, value => Self::Numbers(value);
    &str, value => Self::Text(value.to_owned());
    String, value => Self::Text(value);
    Vec<String>, value => Self::Texts(value);
    Bytes, value => Self::Bytes(value.0);
    Vec<u8>, value => Self::Bytes(value);
    serde_json::Value, value => Self::Json(value);
}

impl<T: Into<Plain>> From<Option<T>> for Plain {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}
