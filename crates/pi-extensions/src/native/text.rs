//! Measuring, cutting and wrapping strings with escape sequences, for components in JavaScript.
//!
//! Components hand their lines over as strings, so the functions keep the sequences of their input
//! as they are: their order is what extensions and their users see.

mod ansi;
mod cut;
mod wrap;

use rquickjs::{Array, Coerced, Ctx, FromJs, Function, Object, Value, function::This};

use crate::host::Host;

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("visibleWidth", Function::new(ctx.clone(), |text: Text| ansi::width(&text.0))?)?;
    object.set(
        "truncate",
        Function::new(ctx.clone(), |text: Text, width: f64, ellipsis: Text, pads: bool| {
            cut::truncate(&text.0, columns(width), &ellipsis.0, pads)
        })?,
    )?;
    object.set(
        "wrap",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, text: Text, width: f64| {
            // Without a number nothing is too wide.
            let width = if width.is_nan() { usize::MAX } else { columns(width) };
            strings(&ctx, wrap::wrap(&text.0, width))
        })?,
    )?;
    object.set(
        "slice",
        Function::new(ctx.clone(), |text: Text, start: f64, length: f64, is_strict: bool| {
            cut::slice(&text.0, columns(start), columns(length), is_strict)
        })?,
    )?;
    object.set(
        "compose",
        Function::new(
            ctx.clone(),
            |base: Text, over: Text, start: f64, width: f64, total: f64| {
                cut::compose(&base.0, &over.0, columns(start), columns(width), columns(total))
            },
        )?,
    )?;
    object.set("strip", Function::new(ctx.clone(), |text: Text| ansi::strip(&text.0))?)?;
    object.set(
        "linkAt",
        Function::new(ctx.clone(), |text: Text, column: f64| {
            ansi::link_at(&text.0, columns(column))
        })?,
    )?;
    object.set(
        "graphemes",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, text: Text| {
            strings(&ctx, pi_tui::text::graphemes(&text.0).map(str::to_owned).collect())
        })?,
    )?;
    Ok(object)
}

/// A string of JavaScript. Halves of surrogate pairs become U+FFFD; other values are converted.
pub(super) struct Text(pub(super) String);

impl<'js> FromJs<'js> for Text {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Self> {
        if value.is_undefined() || value.is_null() {
            return Ok(Self(String::new()));
        }
        let Some(string) = value.as_string().cloned() else {
            return Coerced::<String>::from_js(ctx, value).map(|text| Self(text.0));
        };
        if let Ok(text) = string.to_string() {
            return Ok(Self(text));
        }
        let prototype: Object<'js> =
            ctx.globals().get::<_, Object<'js>>("String")?.get("prototype")?;
        let repair: Function<'js> = prototype.get("toWellFormed")?;
        repair.call((This(string),)).map(Self)
    }
}

/// Returns a number of columns.
pub(super) fn columns(number: f64) -> usize {
    // The conversion of Rust: negative numbers and NaN are 0.
    number.floor() as usize
}

/// Converts strings to an array.
pub(super) fn strings<'js>(ctx: &Ctx<'js>, items: Vec<String>) -> rquickjs::Result<Array<'js>> {
    let array = Array::new(ctx.clone())?;
    for (at, item) in items.into_iter().enumerate() {
        array.set(at, item)?;
    }
    Ok(array)
}
