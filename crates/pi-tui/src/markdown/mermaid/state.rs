//! Reads state diagrams as flowcharts: states are round, composite states are subgraphs.

use super::flowchart::{Chart, Edge};
use super::label;
use super::layers::Direction;

/// Reads the statements of a state diagram. Returns nothing if one is not supported.
pub(super) fn parse(statements: &[&str]) -> Option<(Chart, Direction)> {
    let mut chart = Chart::default();
    let mut direction = Direction::Down;
    for statement in statements {
        let statement = statement.trim_end_matches(';').trim();
        let (word, rest) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
        match word {
            "" | "classDef" | "class" | "style" | "hide" | "scale" => {}
            "direction" if chart.current.is_none() => {
                direction = Direction::from_name(rest.trim())?;
            }
            "direction" => {}
            // Notes and regions have no place in the drawing.
            "note" | "--" => return None,
            "state" => declare(&mut chart, rest.trim())?,
            "}" => chart.end()?,
            _ => relate(&mut chart, statement)?,
        }
        chart.check()?;
    }
    chart.enter_subgraphs()?;
    chart.finish()?;
    Some((chart, direction))
}

/// Reads `state NAME`, `state "label" as NAME`, `state NAME <<kind>>` or `state NAME {`.
fn declare(chart: &mut Chart, text: &str) -> Option<()> {
    let (text, opens) = match text.strip_suffix('{') {
        Some(text) => (text.trim(), true),
        None => (text, false),
    };
    let text = text.split("<<").next().unwrap_or_default().trim();
    let (name, shown) = match text.rsplit_once(" as ") {
        Some((shown, name)) => (name.trim(), label(shown)),
        None => (text, text.to_owned()),
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    if opens {
        return chart.begin(name, &shown);
    }
    let node = chart.state(name);
    chart.nodes.get_mut(node)?.label = shown;
    Some(())
}

/// Reads `A --> B`, `A --> B : label`, `A : label` or `A`.
fn relate(chart: &mut Chart, statement: &str) -> Option<()> {
    let (names, text) = match statement.split_once(':') {
        Some((names, text)) => (names.trim(), Some(label(text))),
        None => (statement, None),
    };
    let Some((from, to)) = names.split_once("-->") else {
        let name = Some(names).filter(|name| is_name(name))?;
        let node = chart.state(name);
        if let Some(text) = text {
            chart.nodes.get_mut(node)?.label = text;
        }
        return Some(());
    };
    let from = endpoint(chart, from.trim(), "●")?;
    let to = endpoint(chart, to.trim(), "◉")?;
    let label = text.unwrap_or_default();
    chart.edges.push(Edge { from, to, label, has_arrow: true });
    Some(())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '-')
}

/// Returns the state of a name. `[*]` is the start or the end of what is being read, drawn as `mark`.
fn endpoint(chart: &mut Chart, name: &str, mark: &str) -> Option<usize> {
    if name != "[*]" {
        return is_name(name).then(|| chart.state(name));
    }
    let id = match chart.current {
        Some(subgraph) => format!("{mark}{subgraph}"),
        None => mark.to_owned(),
    };
    let node = chart.state(&id);
    chart.nodes.get_mut(node)?.label = mark.to_owned();
    Some(node)
}
