//! Formulas as one line.

use super::parse::{Node, parse};
use super::symbols;

/// Returns a formula as one line, or nothing if it is not supported.
pub(in crate::markdown) fn inline(formula: &str) -> Option<String> {
    let text = line(&parse(formula)?)?;
    Some(single_spaced(text.trim()))
}

/// Returns a part as one line. Spaces may be doubled.
pub(super) fn line(node: &Node) -> Option<String> {
    Some(match node {
        Node::Text(text) => text.clone(),
        Node::Row(nodes) => row(nodes)?,
        Node::Large(symbol) => (*symbol).to_owned(),
        Node::Fraction(above, below) => format!("{}/{}", grouped(above)?, grouped(below)?),
        Node::Root(degree, content) => {
            let degree = degree.as_deref().map_or_else(|| Some(String::new()), line)?;
            let degree = match degree.trim() {
                "3" => "∛".to_owned(),
                "4" => "∜".to_owned(),
                degree => format!("{}√", symbols::raised(degree)?),
            };
            format!("{degree}{}", grouped(content)?)
        }
        Node::Scripts { base, sub, sup } => scripts(base, sub.as_deref(), sup.as_deref())?,
        Node::Grid { rows, open, close, .. } => {
            let cells = |row: &Vec<Node>| {
                let cells: Option<Vec<String>> = row.iter().map(line).collect();
                Some(cells?.iter().map(|cell| cell.trim()).collect::<Vec<_>>().join(" "))
            };
            let rows: Option<Vec<String>> = rows.iter().map(cells).collect();
            format!("{open}{}{close}", rows?.join("; "))
        }
        Node::Fenced { open, content, close } => {
            format!("{open}{}{close}", line(content)?.trim())
        }
    })
}

fn row(nodes: &[Node]) -> Option<String> {
    let mut text = String::new();
    for node in nodes {
        let part = line(node)?;
        // A large operator does not touch what it applies to.
        let after_large = text.ends_with(is_large) && part.starts_with(char::is_alphanumeric);
        if after_large {
            text.push(' ');
        }
        text.push_str(&part);
    }
    Some(text)
}

fn is_large(c: char) -> bool {
    "∑∏∫∬∭∮".contains(c)
}

/// Returns the scripts of a base: raised and lowered characters where there are such, otherwise
/// with `^` and `_`.
pub(super) fn scripts(base: &Node, sub: Option<&Node>, sup: Option<&Node>) -> Option<String> {
    let mut text = match base {
        Node::Scripts { .. } | Node::Fraction(..) => format!("({})", line(base)?.trim()),
        _ => line(base)?,
    };
    if let Some(sub) = sub {
        let lowered = symbols::lowered(line(sub)?.trim());
        text.push_str(&lowered.map_or_else(|| Some(format!("_{}", grouped(sub)?)), Some)?);
    }
    if let Some(sup) = sup {
        let raised = symbols::raised(line(sup)?.trim());
        text.push_str(&raised.map_or_else(|| Some(format!("^{}", grouped(sup)?)), Some)?);
    }
    Some(text)
}

/// Returns a part as one line, in parentheses if it could be misread without them.
pub(super) fn grouped(node: &Node) -> Option<String> {
    let text = single_spaced(line(node)?.trim());
    let is_one = match node {
        Node::Text(_) | Node::Fenced { .. } | Node::Grid { .. } | Node::Large(_) => true,
        Node::Row(nodes) => {
            let plain = |node: &Node| matches!(node, Node::Text(text) if text.chars().all(char::is_alphanumeric));
            nodes.iter().all(plain)
        }
        Node::Scripts { .. } => true,
        Node::Fraction(..) | Node::Root(..) => false,
    };
    Some(if is_one { text } else { format!("({text})") })
}

/// Makes runs of spaces one. Those that were asked for are other characters.
pub(super) fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}
