//! Diagrams in Mermaid as Unicode boxes: flowcharts, state diagrams and sequence diagrams.
//!
//! Anything else, and what does not fit, is shown as source.

mod around;
mod canvas;
mod flowchart;
mod layers;
mod ranks;
mod sequence;
mod state;
#[cfg(test)]
mod tests;

use super::piece::Context;
use crate::text::Line;
use canvas::Canvas;

/// Bytes of a diagram that is drawn.
const LENGTH_LIMIT: usize = 16 * 1024;

/// Returns the lines of a diagram, or nothing if it is not supported or too wide.
pub(super) fn lines(source: &str, context: &Context<'_>) -> Option<Vec<Line>> {
    let canvas = draw(source)?;
    let lines = canvas.lines(context.theme);
    lines.iter().all(|line| line.width() <= context.width).then_some(lines)
}

fn draw(source: &str) -> Option<Canvas> {
    if source.len() > LENGTH_LIMIT {
        return None;
    }
    let mut statements = source
        .lines()
        .map(|line| line.split("%%").next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty());
    let first = statements.next()?;
    // A chart may stand on one line: `graph TD; A --> B`.
    let (header, rest) = first.split_once(';').unwrap_or((first, ""));
    let statements: Vec<&str> = std::iter::once(rest).chain(statements).collect();
    let mut words = header.split_whitespace();
    match words.next()? {
        "graph" | "flowchart" => {
            let direction = layers::Direction::from_name(words.next().unwrap_or("TD"))?;
            layers::draw(&flowchart::parse(&statements)?, direction)
        }
        "stateDiagram" | "stateDiagram-v2" => {
            let (chart, direction) = state::parse(&statements)?;
            layers::draw(&chart, direction)
        }
        "sequenceDiagram" => sequence::draw(statements.get(1..)?),
        _ => None,
    }
}

/// Returns a label as it is shown: without quotes, in one line.
fn label(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let text = text.replace("<br/>", " ").replace("<br>", " ").replace("<br />", " ");
    super::inline::without_tabs(text.trim())
}
