//! The options of an overlay, in the JSON of extensions.

use pi_tui::overlay::{Anchor, Length, Margins, OverlayOptions};
use serde_json::Value;

/// Reads the options. What has no meaning is as if it were absent.
pub(crate) fn overlay_options(json: Option<&Value>) -> OverlayOptions {
    let get = |name: &str| json.and_then(|json| json.get(name));
    let cells = |name: &str| get(name).and_then(cells);
    OverlayOptions {
        width: get("width").and_then(length),
        min_width: cells("minWidth").unwrap_or(0),
        max_height: get("maxHeight").and_then(length),
        anchor: get("anchor").and_then(Value::as_str).and_then(anchor).unwrap_or_default(),
        offset_x: get("offsetX").and_then(signed).unwrap_or(0),
        offset_y: get("offsetY").and_then(signed).unwrap_or(0),
        row: get("row").and_then(length),
        column: get("col").and_then(length),
        margins: get("margin").map(margins).unwrap_or_default(),
        min_terminal: None,
        is_passive: get("nonCapturing").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn length(value: &Value) -> Option<Length> {
    match value.as_str() {
        Some(text) => {
            let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
            whole(percent).map(Length::Percent)
        }
        None => cells(value).map(Length::Cells),
    }
}

fn cells(value: &Value) -> Option<usize> {
    whole(value.as_f64()?)
}

/// Returns a number as a whole one; negative ones count as 0.
// The number is within the range.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> Option<usize> {
    number.is_finite().then(|| number.clamp(0.0, 100_000.0) as usize)
}

// The number is within the range.
#[allow(clippy::cast_possible_truncation)]
fn signed(value: &Value) -> Option<isize> {
    let number = value.as_f64().filter(|number| number.is_finite())?;
    Some(number.clamp(-100_000.0, 100_000.0) as isize)
}

fn anchor(name: &str) -> Option<Anchor> {
    Some(match name {
        "center" => Anchor::Center,
        "top-left" => Anchor::TopLeft,
        "top-center" => Anchor::TopCenter,
        "top-right" => Anchor::TopRight,
        "left-center" => Anchor::LeftCenter,
        "right-center" => Anchor::RightCenter,
        "bottom-left" => Anchor::BottomLeft,
        "bottom-center" => Anchor::BottomCenter,
        "bottom-right" => Anchor::BottomRight,
        _ => return None,
    })
}

fn margins(value: &Value) -> Margins {
    if let Some(all) = cells(value) {
        return Margins::all(all);
    }
    let side = |name: &str| value.get(name).and_then(cells).unwrap_or(0);
    Margins { top: side("top"), right: side("right"), bottom: side("bottom"), left: side("left") }
}
