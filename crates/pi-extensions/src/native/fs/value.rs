//! Results of operations on files, as JavaScript receives them.

use rquickjs::{Array, Ctx, IntoJs, Result, Value};

use crate::value::Bytes;

/// The result of an operation.
#[derive(Debug)]
pub(super) enum FileValue {
    /// `undefined`.
    Nothing,
    Number(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// Properties of a file, in the order that `js/node/fs/stats.js` knows.
    Numbers(Vec<f64>),
    /// Entries of a directory: name, kind and, below the directory itself, the parent.
    Entries(Vec<Entry>),
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Type of the file, as in the mode of its properties.
    pub(super) kind: u32,
    /// Directory of the entry, relative to the one that was listed.
    pub(super) parent: String,
}

impl<'js> IntoJs<'js> for FileValue {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        match self {
            Self::Nothing => Ok(Value::new_undefined(ctx.clone())),
            Self::Number(number) => Ok(Value::new_number(ctx.clone(), number)),
            Self::Text(text) => text.into_js(ctx),
            Self::Bytes(bytes) => Bytes(bytes).into_js(ctx),
            Self::Numbers(numbers) => numbers.into_js(ctx),
            Self::Entries(entries) => {
                let array = Array::new(ctx.clone())?;
                for (at, entry) in entries.into_iter().enumerate() {
                    let one = Array::new(ctx.clone())?;
                    one.set(0, entry.name)?;
                    one.set(1, entry.kind)?;
                    one.set(2, entry.parent)?;
                    array.set(at, one)?;
                }
                Ok(array.into_value())
            }
        }
    }
}
