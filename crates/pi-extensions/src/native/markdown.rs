//! Markdown and code for components in JavaScript: trees, formulas, highlighting.

use pi_tui::{highlight, markdown};
use rquickjs::Array;

use crate::host::Natives;

pub(super) const FUNCTIONS: Natives = &[
    ("tree", |call| {
        call.reply(serde_json::Value::from(markdown::tree(&call.any_text(0)?, call.flag(1)?)))
    }),
    ("latex", |call| call.reply(markdown::latex(&call.any_text(0)?, call.flag(1)?))),
    // Lines of spans, each a token's name and a text; undefined for a language without a grammar.
    ("highlight", |call| {
        let lines = highlight::highlight(&call.any_text(0)?, &call.any_text(1)?);
        let Some(lines) = lines else { return call.done() };
        let array = Array::new(call.ctx().clone())?;
        for (at, line) in lines.into_iter().enumerate() {
            let spans = Array::new(call.ctx().clone())?;
            for (at, (token, text)) in line.into_iter().enumerate() {
                let span = Array::new(call.ctx().clone())?;
                span.set(0, token.map(pi_tui::Token::name))?;
                span.set(1, text)?;
                spans.set(at, span)?;
            }
            array.set(at, spans)?;
        }
        Ok(array.into_value())
    }),
];
