//! Measuring, cutting and wrapping strings with escape sequences, for components in JavaScript.
//!
//! Components hand their lines over as strings, so the functions keep the sequences of their input
//! as they are: their order is what extensions and their users see.

mod ansi;
mod cut;
mod wrap;

use crate::host::Natives;

pub(super) const FUNCTIONS: Natives = &[
    ("visibleWidth", |call| call.reply(ansi::width(&call.any_text(0)?))),
    // `truncate(text, width, ellipsis, pads)`.
    ("truncate", |call| {
        let (text, ellipsis) = (call.any_text(0)?, call.any_text(2)?);
        call.reply(cut::truncate(&text, call.columns(1)?, &ellipsis, call.flag(3)?))
    }),
    ("wrap", |call| {
        // Without a number nothing is too wide.
        let width = if call.number(1)?.is_nan() { usize::MAX } else { call.columns(1)? };
        call.reply(wrap::wrap(&call.any_text(0)?, width))
    }),
    // `slice(text, start, length, isStrict)`.
    ("slice", |call| {
        let (start, length) = (call.columns(1)?, call.columns(2)?);
        call.reply(cut::slice(&call.any_text(0)?, start, length, call.flag(3)?))
    }),
    // `compose(base, over, start, width, total)`.
    ("compose", |call| {
        let (base, over) = (call.any_text(0)?, call.any_text(1)?);
        let (start, width, total) = (call.columns(2)?, call.columns(3)?, call.columns(4)?);
        call.reply(cut::compose(&base, &over, start, width, total))
    }),
    ("strip", |call| call.reply(ansi::strip(&call.any_text(0)?))),
    ("linkAt", |call| call.reply(ansi::link_at(&call.any_text(0)?, call.columns(1)?))),
    ("graphemes", |call| {
        let text = call.any_text(0)?;
        call.reply(pi_tui::text::graphemes(&text).map(str::to_owned).collect::<Vec<_>>())
    }),
];
