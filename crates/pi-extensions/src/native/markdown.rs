//! Markdown and code for components in JavaScript: trees, formulas, highlighting.

use pi_tui::{highlight, markdown};
use rquickjs::{Array, Ctx, Function, Object};

use super::text::Text;
use crate::host::Host;
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set(
        "tree",
        Function::new(ctx.clone(), |text: Text, has_math: bool| {
            Json(markdown::tree(&text.0, has_math).into())
        })?,
    )?;
    object.set(
        "latex",
        Function::new(ctx.clone(), |text: Text, is_display: bool| {
            markdown::latex(&text.0, is_display)
        })?,
    )?;
    // Lines of spans, each a token's name and a text; null for a language without a grammar.
    object.set(
        "highlight",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, code: Text, language: Text| {
            let Some(lines) = highlight::highlight(&code.0, &language.0) else { return Ok(None) };
            let array = Array::new(ctx.clone())?;
            for (at, line) in lines.into_iter().enumerate() {
                let spans = Array::new(ctx.clone())?;
                for (at, (token, text)) in line.into_iter().enumerate() {
                    let span = Array::new(ctx.clone())?;
                    span.set(0, token.map(pi_tui::Token::name))?;
                    span.set(1, text)?;
                    spans.set(at, span)?;
                }
                array.set(at, spans)?;
            }
            Ok::<_, rquickjs::Error>(Some(array))
        })?,
    )?;
    Ok(object)
}
