//! Reads LaTeX as a tree.

use super::LENGTH_LIMIT;
use super::symbols::{self, Class};

/// Groups within groups that are read. Deeper formulas are not drawn.
const DEPTH_LIMIT: usize = 24;

/// The alignment of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alignment {
    Center,
    Left,
    /// At the sign between the sides of equations.
    Equation,
}

/// A part of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A text without structure.
    Text(String),
    Row(Vec<Node>),
    Fraction(Box<Node>, Box<Node>),
    /// A root with its degree.
    Root(Option<Box<Node>>, Box<Node>),
    /// A base with what is below and above it at its right.
    Scripts {
        base: Box<Node>,
        sub: Option<Box<Node>>,
        sup: Option<Box<Node>>,
    },
    /// An operator with limits.
    Large(&'static str),
    /// Rows of cells between brackets.
    Grid {
        rows: Vec<Vec<Node>>,
        open: String,
        close: String,
        alignment: Alignment,
    },
    /// Something between brackets that grow with it.
    Fenced {
        open: String,
        content: Box<Node>,
        close: String,
    },
}

impl Node {
    /// An empty part.
    pub(super) fn empty() -> Self {
        Self::Row(Vec::new())
    }
}

/// Reads a formula. Returns nothing if it is not supported.
pub(super) fn parse(formula: &str) -> Option<Node> {
    if formula.len() > LENGTH_LIMIT {
        return None;
    }
    let mut parser = Parser { rest: formula, depth: 0 };
    let rows = parser.rows(Stop::End)?;
    match rows.as_slice() {
        [row] if row.len() == 1 => row.first().cloned(),
        _ => Some(Node::Grid {
            rows,
            open: String::new(),
            close: String::new(),
            alignment: Alignment::Equation,
        }),
    }
}

/// What ends a part of the formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Brace,
    Bracket,
    Right,
    Environment,
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Reads cells and rows up to the end, which is consumed.
    fn rows(&mut self, stop: Stop) -> Option<Vec<Vec<Node>>> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return None;
        }
        let mut rows = vec![vec![Vec::new()]];
        loop {
            if self.at_end(stop)? {
                break;
            }
            let row = rows.last_mut()?;
            if self.take("\\\\") {
                self.take_spacing();
                rows.push(vec![Vec::new()]);
            } else if self.take("&") {
                row.push(Vec::new());
            } else {
                let cell = row.last_mut()?;
                self.next(cell)?;
            }
        }
        self.depth -= 1;
        if rows.len() > 1 && rows.last().is_some_and(|row| row.iter().all(|cell| is_blank(cell))) {
            rows.pop();
        }
        Some(rows.into_iter().map(|row| row.into_iter().map(joined).collect()).collect())
    }

    /// Reads up to the end of a group. Rows are not allowed in it.
    fn group(&mut self, stop: Stop) -> Option<Node> {
        let mut rows = self.rows(stop)?;
        let mut row = rows.pop().filter(|_| rows.is_empty())?;
        row.pop().filter(|_| row.is_empty())
    }

    fn at_end(&mut self, stop: Stop) -> Option<bool> {
        let end = match stop {
            Stop::End => return Some(self.rest.is_empty()),
            Stop::Brace => "}",
            Stop::Bracket => "]",
            Stop::Right => "\\right",
            Stop::Environment => "\\end",
        };
        if self.rest.is_empty() {
            return None;
        }
        Some(self.take(end))
    }

    /// Skips the optional height after a row.
    fn take_spacing(&mut self) {
        if let Some(inner) = self.rest.strip_prefix('[')
            && let Some((_, after)) = inner.split_once(']')
        {
            self.rest = after;
        }
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    /// Reads one element with its scripts into a row.
    fn next(&mut self, row: &mut Vec<Node>) -> Option<()> {
        match self.next_char()? {
            '^' => self.script(row, true),
            '_' => self.script(row, false),
            '\'' => {
                row.push(Node::Text("′".to_owned()));
                Some(())
            }
            '}' => None,
            '{' => {
                let group = self.group(Stop::Brace)?;
                row.push(group);
                Some(())
            }
            '\\' => {
                let nodes = self.command()?;
                row.extend(nodes);
                Some(())
            }
            c if c.is_whitespace() || c == '~' => {
                push_text(row, " ");
                Some(())
            }
            c => {
                row.push(Node::Text(c.to_string()));
                Some(())
            }
        }
    }

    fn script(&mut self, row: &mut Vec<Node>, is_sup: bool) -> Option<()> {
        let argument = Box::new(self.argument()?);
        while matches!(row.last(), Some(Node::Text(text)) if text.trim().is_empty()) {
            row.pop();
        }
        let last = row.pop().unwrap_or_else(Node::empty);
        let (base, mut sub, mut sup) = match last {
            Node::Scripts { base, sub, sup } => (base, sub, sup),
            base => (Box::new(base), None, None),
        };
        let slot = if is_sup { &mut sup } else { &mut sub };
        if slot.is_some() {
            return None;
        }
        *slot = Some(argument);
        row.push(Node::Scripts { base, sub, sup });
        Some(())
    }

    /// Reads the argument of a command: a group, a command or a character.
    fn argument(&mut self) -> Option<Node> {
        self.rest = self.rest.trim_start();
        self.depth += 1;
        if self.depth > DEPTH_LIMIT || self.rest.starts_with(['^', '_', '&']) {
            return None;
        }
        let mut row = Vec::new();
        self.next(&mut row)?;
        self.depth -= 1;
        Some(joined(row))
    }

    /// Reads the text of a group as it is.
    fn raw_argument(&mut self) -> Option<&'a str> {
        let inner = self.rest.trim_start().strip_prefix('{')?;
        let (text, after) = inner.split_once('}')?;
        self.rest = after;
        (!text.contains(['{', '\\', '$'])).then_some(text)
    }

    /// Reads a command whose backslash was read.
    fn command(&mut self) -> Option<Vec<Node>> {
        let length = self.rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        if length == 0 {
            let text = match self.next_char()? {
                ',' | ';' | ':' | ' ' | '>' | '\n' => " ".to_owned(),
                '!' => String::new(),
                '|' => "‖".to_owned(),
                c @ ('{' | '}' | '%' | '$' | '&' | '#' | '_') => c.to_string(),
                _ => return None,
            };
            return Some(vec![Node::Text(text)]);
        }
        let (name, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let node = match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                Node::Fraction(Box::new(self.argument()?), Box::new(self.argument()?))
            }
            "binom" | "dbinom" => {
                let rows = vec![vec![self.argument()?], vec![self.argument()?]];
                grid(rows, "(", ")")
            }
            "sqrt" => {
                let degree = if self.take("[") { Some(self.group(Stop::Bracket)?) } else { None };
                Node::Root(degree.map(Box::new), Box::new(self.argument()?))
            }
            "left" => return Some(vec![self.fenced()?]),
            "begin" => return Some(vec![self.environment()?]),
            "text" | "textbf" | "textit" | "mathrm" | "operatorname" | "mathsf" | "mathtt"
            | "textrm" | "mbox" => Node::Text(self.raw_argument()?.to_owned()),
            "mathbb" | "mathcal" | "mathscr" | "mathbf" | "boldsymbol" | "bm" | "mathit"
            | "mathfrak" => self.styled(name)?,
            "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr"
            | "displaystyle" | "textstyle" | "limits" | "nolimits" => Node::Text(String::new()),
            "pmod" => Node::Row(vec![
                Node::Text(" (mod ".to_owned()),
                self.argument()?,
                Node::Text(")".to_owned()),
            ]),
            "bmod" | "mod" => Node::Text(" mod ".to_owned()),
            "not" => self.negated()?,
            _ => return self.symbol(name),
        };
        Some(vec![node])
    }

    fn symbol(&mut self, name: &str) -> Option<Vec<Node>> {
        if let Some(mark) = symbols::accent(name) {
            return match self.argument()? {
                Node::Text(text) if text.chars().count() == 1 => {
                    Some(vec![Node::Text(format!("{text}{mark}"))])
                }
                _ => None,
            };
        }
        let (symbol, class) = symbols::symbol(name)?;
        let text = |text: &str| Node::Text(text.to_owned());
        Some(match class {
            Class::Ordinary => vec![text(symbol)],
            Class::Spaced => vec![text(" "), text(symbol), text(" ")],
            Class::Name => vec![text(symbol)],
            Class::Large | Class::LargeName => vec![Node::Large(symbol)],
        })
    }

    fn styled(&mut self, name: &str) -> Option<Node> {
        match self.argument()? {
            Node::Text(text) => {
                let letters = text.chars().map(|c| symbols::styled_letter(name, c));
                Some(Node::Text(letters.collect()))
            }
            node => Some(node),
        }
    }

    fn negated(&mut self) -> Option<Node> {
        match self.argument()? {
            Node::Text(text) => Some(Node::Text(format!("{}\u{338}", text.trim()))),
            _ => None,
        }
    }

    fn delimiter(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        match self.next_char()? {
            '.' => Some(String::new()),
            '\\' => match self.command()?.as_slice() {
                [Node::Text(text)] => Some(text.clone()),
                _ => None,
            },
            c => Some(c.to_string()),
        }
    }

    fn fenced(&mut self) -> Option<Node> {
        let open = self.delimiter()?;
        let content = Box::new(self.group(Stop::Right)?);
        let close = self.delimiter()?;
        Some(Node::Fenced { open, content, close })
    }

    fn environment(&mut self) -> Option<Node> {
        let name = self.raw_argument()?;
        if name == "array" {
            self.raw_argument()?;
        }
        let (open, close, alignment) = match name {
            "matrix" | "smallmatrix" | "array" => ("", "", Alignment::Center),
            "pmatrix" => ("(", ")", Alignment::Center),
            "bmatrix" => ("[", "]", Alignment::Center),
            "Bmatrix" => ("{", "}", Alignment::Center),
            "vmatrix" => ("|", "|", Alignment::Center),
            "cases" => ("{", "", Alignment::Left),
            "aligned" | "align" | "align*" | "split" | "gather" | "gather*" | "gathered"
            | "equation" | "equation*" => ("", "", Alignment::Equation),
            _ => return None,
        };
        let rows = self.rows(Stop::Environment)?;
        if self.raw_argument()? != name {
            return None;
        }
        let (open, close) = (open.to_owned(), close.to_owned());
        Some(Node::Grid { rows, open, close, alignment })
    }
}

fn grid(rows: Vec<Vec<Node>>, open: &str, close: &str) -> Node {
    Node::Grid {
        rows,
        open: open.to_owned(),
        close: close.to_owned(),
        alignment: Alignment::Center,
    }
}

fn is_blank(cell: &[Node]) -> bool {
    cell.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}

fn push_text(row: &mut Vec<Node>, more: &str) {
    match row.last_mut() {
        Some(Node::Text(text)) if text.ends_with(' ') => {}
        _ => row.push(Node::Text(more.to_owned())),
    }
}

fn joined(mut row: Vec<Node>) -> Node {
    match row.len() {
        1 => row.pop().unwrap_or_else(Node::empty),
        _ => Node::Row(row),
    }
}
