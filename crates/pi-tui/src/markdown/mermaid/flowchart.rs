//! Reads flowcharts.

use super::label;

/// Nodes and edges of a chart that is drawn.
const NODE_LIMIT: usize = 60;
const EDGE_LIMIT: usize = 120;

/// A flowchart.
#[derive(Debug, Default)]
pub(super) struct Chart {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    pub(super) subgraphs: Vec<Subgraph>,
    /// The subgraph that is being read.
    pub(super) current: Option<usize>,
}

/// A part of a chart with a frame.
#[derive(Debug)]
pub(super) struct Subgraph {
    id: String,
    pub(super) title: String,
}

/// A node of a chart.
#[derive(Debug)]
pub(super) struct Node {
    id: String,
    pub(super) label: String,
    pub(super) is_round: bool,
    /// The subgraph in which the node is.
    pub(super) subgraph: Option<usize>,
}

/// An edge between two nodes, by their places in the list of nodes.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
    pub(super) has_arrow: bool,
}

/// Statements that change only colors and behavior.
const IGNORED: &[&str] = &["style", "classDef", "class", "linkStyle", "click", "direction"];

/// The brackets of shapes, longest first, and whether their corners are round.
const SHAPES: &[(&str, &str, bool)] = &[
    ("((", "))", true),
    ("([", "])", true),
    ("[[", "]]", false),
    ("[(", ")]", true),
    ("{{", "}}", true),
    ("[/", "/]", false),
    ("[\\", "\\]", false),
    ("[", "]", false),
    ("(", ")", true),
    ("{", "}", true),
    (">", "]", false),
];

/// Reads the statements of a flowchart. Returns nothing if one is not supported.
pub(super) fn parse(statements: &[&str]) -> Option<Chart> {
    let mut chart = Chart::default();
    for statement in statements.iter().flat_map(|line| split_statements(line)) {
        let word = statement.split_whitespace().next().unwrap_or_default();
        if statement.is_empty() || IGNORED.contains(&word) {
            continue;
        }
        match word {
            "subgraph" => chart.subgraph(statement.strip_prefix(word)?.trim())?,
            "end" => chart.end()?,
            _ => chart.statement(statement)?,
        }
        chart.check()?;
    }
    chart.finish()?;
    Some(chart)
}

/// Splits a line at semicolons that are not in quotes.
fn split_statements(line: &str) -> Vec<&str> {
    let mut in_quotes = false;
    let is_end = |c: char| {
        in_quotes ^= c == '"';
        c == ';' && !in_quotes
    };
    line.split(is_end).map(str::trim).collect()
}

impl Chart {
    /// Reads the head of a subgraph: `NAME`, `NAME [title]` or a title.
    fn subgraph(&mut self, text: &str) -> Option<()> {
        match text.split_once('[') {
            Some((id, title)) => self.begin(id.trim(), &label(title.strip_suffix(']')?)),
            None => self.begin(text, &label(text)),
        }
    }

    /// Begins a subgraph. Those inside of others are not supported.
    pub(super) fn begin(&mut self, id: &str, title: &str) -> Option<()> {
        if self.current.is_some() {
            return None;
        }
        self.current = Some(self.subgraphs.len());
        self.subgraphs.push(Subgraph { id: id.to_owned(), title: title.to_owned() });
        Some(())
    }

    /// Ends a subgraph.
    pub(super) fn end(&mut self) -> Option<()> {
        self.current.take().map(|_| ())
    }

    /// Returns nothing if the chart is too large.
    pub(super) fn check(&self) -> Option<()> {
        let fits = self.nodes.len() <= NODE_LIMIT && self.edges.len() <= EDGE_LIMIT;
        fits.then_some(())
    }

    /// Returns nothing if the chart is not complete, or if an edge leads to a subgraph as a whole.
    pub(super) fn finish(&self) -> Option<()> {
        let has_nodes = |at: usize| self.nodes.iter().any(|node| node.subgraph == Some(at));
        let is_filled = (0..self.subgraphs.len()).all(has_nodes);
        let is_subgraph = |node: &Node| self.subgraphs.iter().any(|other| other.id == node.id);
        let is_complete = self.current.is_none() && !self.nodes.is_empty() && is_filled;
        (is_complete && !self.nodes.iter().any(is_subgraph)).then_some(())
    }

    /// Replaces nodes that stand for a subgraph as a whole: what leads to it leads to its first node,
    /// what leaves it leaves its last one.
    pub(super) fn enter_subgraphs(&mut self) -> Option<()> {
        for at in 0..self.subgraphs.len() {
            let id = &self.subgraphs.get(at)?.id;
            let Some(whole) = self.nodes.iter().position(|node| node.id == *id) else { continue };
            let is_inside = |node: &Node| node.subgraph == Some(at);
            let first = self.nodes.iter().position(is_inside)?;
            let last = self.nodes.iter().rposition(is_inside)?;
            let moved = |node: usize| node - usize::from(node > whole);
            for edge in &mut self.edges {
                edge.from = moved(if edge.from == whole { last } else { edge.from });
                edge.to = moved(if edge.to == whole { first } else { edge.to });
            }
            self.nodes.remove(whole);
        }
        Some(())
    }

    /// Returns the node of a state.
    pub(super) fn state(&mut self, id: &str) -> usize {
        let count = self.nodes.len();
        let node = self.node_of(id);
        if let Some(new) = self.nodes.get_mut(node).filter(|_| node == count) {
            new.is_round = true;
        }
        node
    }

    /// Returns the node of a name. A node is in the subgraph that names it first.
    fn node_of(&mut self, id: &str) -> usize {
        let at = self.nodes.iter().position(|node| node.id == id).unwrap_or_else(|| {
            let (id, label) = (id.to_owned(), id.to_owned());
            self.nodes.push(Node { id, label, is_round: false, subgraph: None });
            self.nodes.len() - 1
        });
        if let Some(node) = self.nodes.get_mut(at) {
            node.subgraph = node.subgraph.or(self.current);
        }
        at
    }

    fn statement(&mut self, statement: &str) -> Option<()> {
        let (mut from, mut rest) = self.group(statement)?;
        while !rest.is_empty() {
            let (label, has_arrow, after) = edge(rest)?;
            let (to, after) = self.group(after)?;
            for (source, target) in from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b))) {
                let label = label.clone();
                self.edges.push(Edge { from: source, to: target, label, has_arrow });
            }
            (from, rest) = (to, after);
        }
        Some(())
    }

    /// Reads nodes that `&` joins.
    fn group<'a>(&mut self, text: &'a str) -> Option<(Vec<usize>, &'a str)> {
        let mut group = Vec::new();
        let mut rest = text;
        loop {
            let (node, after) = self.node(rest.trim_start())?;
            group.push(node);
            rest = after.trim_start();
            match rest.strip_prefix('&') {
                Some(after) => rest = after,
                None => return Some((group, rest)),
            }
        }
    }

    fn node<'a>(&mut self, text: &'a str) -> Option<(usize, &'a str)> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
        let (id, mut rest) = text.split_at_checked(length).filter(|(id, _)| !id.is_empty())?;
        let shape = SHAPES.iter().find(|(open, ..)| rest.starts_with(open));
        let mut described = None;
        if let Some((open, close, is_round)) = shape {
            let inner = rest.get(open.len()..)?;
            let end = match inner.strip_prefix('"') {
                Some(quoted) => quoted.find('"')? + 2,
                None => inner.find(close)?,
            };
            described = Some((label(inner.get(..end)?), *is_round));
            rest = inner.get(end..)?.trim_start().strip_prefix(close)?;
        }
        if let Some(class) = rest.strip_prefix(":::") {
            rest = class.trim_start_matches(is_name);
        }
        let at = self.node_of(id);
        if let (Some((label, is_round)), Some(node)) = (described, self.nodes.get_mut(at)) {
            node.label = label;
            node.is_round = is_round;
        }
        Some((at, rest))
    }
}

/// Reads an edge: its label, whether it has an arrow, and the text after it.
fn edge(text: &str) -> Option<(String, bool, &str)> {
    let is_line = |c: char| matches!(c, '-' | '=' | '.');
    let after_line = text.trim_start_matches(is_line);
    let line = text.get(..text.len() - after_line.len())?;
    if line.len() < 2 {
        return None;
    }
    if let Some(rest) = after_line.strip_prefix('>') {
        return labeled(rest, true);
    }
    if line.len() > 2 {
        return labeled(after_line, false);
    }
    // The label is within the line: `-- text -->`.
    let end = ["--", "==", ".-"].iter().filter_map(|line| after_line.find(line)).min()?;
    let (name, tail) = after_line.split_at_checked(end)?;
    let after = tail.trim_start_matches(is_line);
    match after.strip_prefix('>') {
        Some(rest) => Some((label(name), true, rest)),
        None => Some((label(name), false, after)),
    }
}

fn labeled(rest: &str, has_arrow: bool) -> Option<(String, bool, &str)> {
    match rest.trim_start().strip_prefix('|') {
        Some(inner) => {
            let (name, after) = inner.split_once('|')?;
            Some((label(name), has_arrow, after))
        }
        None => Some((String::new(), has_arrow, rest)),
    }
}
