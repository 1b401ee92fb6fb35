//! Conversions of colors.

use pi_tui::theme::Rgb;
use pi_tui::theme::color::to_256;
use rquickjs::{Ctx, Function, Object};

use crate::host::Host;

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set(
        "okhsl",
        Function::new(ctx.clone(), |hue: f64, saturation: f64, lightness: f64| {
            parts(Rgb::from_okhsl(hue, saturation * 100.0, lightness * 100.0))
        })?,
    )?;
    object.set(
        "oklch",
        Function::new(ctx.clone(), |lightness: f64, chroma: f64, hue: f64| {
            parts(Rgb::from_oklch(lightness * 100.0, chroma, hue))
        })?,
    )?;
    object.set("to256", Function::new(ctx.clone(), |r: u8, g: u8, b: u8| to_256(r, g, b))?)?;
    Ok(object)
}

fn parts(Rgb(r, g, b): Rgb) -> Vec<u8> {
    vec![r, g, b]
}
