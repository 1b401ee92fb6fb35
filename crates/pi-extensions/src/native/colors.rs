//! Conversions of colors.

use pi_tui::style::{Rgb, to_256};

use crate::host::Natives;

pub(super) const FUNCTIONS: Natives = &[
    ("okhsl", |call| {
        let (saturation, lightness) = (call.number(1)? * 100.0, call.number(2)? * 100.0);
        call.reply(parts(Rgb::from_okhsl(call.number(0)?, saturation, lightness)))
    }),
    ("oklch", |call| {
        let lightness = call.number(0)? * 100.0;
        call.reply(parts(Rgb::from_oklch(lightness, call.number(1)?, call.number(2)?)))
    }),
    ("to256", |call| call.reply(u32::from(to_256(call.byte(0)?, call.byte(1)?, call.byte(2)?)))),
];

fn parts(Rgb(r, g, b): Rgb) -> Vec<f64> {
    vec![r.into(), g.into(), b.into()]
}
