//! A tool call on the screen: a box whose background tells how the call went.
//!
//! One renderer per built-in tool is in `tools`; every other tool is shown by its name, arguments
//! and output. Only the look depends on the name of a tool.

use std::borrow::Cow;

use pi_protocol::UserBlock;
use pi_tui::{Line, Style, Token};
use serde_json::{Map, Value};

use super::foreign::{self, ForeignCall};
use super::images;
use super::layout::{boxed, inner_width, one_line, text_lines};
use super::options::Look;
use super::output;
use super::tools::{bash, codemode, edit, find, grep, ls, other, read, write};

/// Columns left and right of the text in the box of a tool.
pub(super) const PAD: usize = 1;

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Pending,
    Success,
    Error,
}

/// The time that a call takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Time {
    /// Seconds since the call began.
    Elapsed(f64),
    /// Seconds that the call took.
    Took(f64),
}

/// Result of a call, or what is known of it while the call runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output<'a> {
    pub(super) content: &'a [UserBlock],
    pub(super) details: Option<&'a Value>,
}

/// A call with everything that is known about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// The arguments; while they stream, the part that has arrived.
    pub(super) arguments: &'a Map<String, Value>,
    /// The arguments are still arriving.
    pub(super) is_streaming: bool,
    pub(super) output: Option<Output<'a>>,
    pub(super) progress: Progress,
    pub(super) time: Option<Time>,
    /// The diff that the call would make, before it has run.
    pub(super) preview: Option<&'a str>,
    /// The call is executed, or was.
    pub(super) has_begun: bool,
    /// The session ended before the call did.
    pub(super) is_interrupted: bool,
    /// A tool of this name exists.
    pub(super) is_known: bool,
}

/// Returns the lines of a call: the box, and its images below.
pub(super) fn render(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let width = look.view.width;
    let inner = Look { view: look.view.with_width(inner_width(PAD, width)), ..look };
    let mut body = match foreign::tool(call, look) {
        Some(drawn) if drawn.is_unframed => return foreign_body(call, drawn, look),
        Some(ForeignCall { call: None, result: None, .. }) | None => own_body(call, inner),
        Some(drawn) => foreign_body(call, drawn, inner),
    };
    if call.is_interrupted {
        let warning = look.view.theme.fg(Token::Warning);
        add_part(&mut body, text_lines("(interrupted: there is no result)", warning));
    }
    let background = look.view.theme.bg(match call.progress {
        Progress::Pending => Token::ToolPendingBg,
        Progress::Success => Token::ToolSuccessBg,
        Progress::Error => Token::ToolErrorBg,
    });
    let mut lines = boxed(body, PAD, background, width);
    if let Some(output) = call.output {
        lines.extend(images::below(output.content, look));
    }
    lines
}

/// Returns the content of the box of a call that renderers of extensions drew.
fn foreign_body(call: &Call<'_>, drawn: ForeignCall, look: Look<'_>) -> Vec<Line> {
    let mut lines =
        drawn.call.unwrap_or_else(|| vec![Line::styled(one_line(call.name), title_style(look))]);
    match drawn.result {
        Some(result) => lines.extend(result),
        None if call.output.is_some() => lines.extend(other::output(call, look)),
        None => {}
    }
    lines
}

/// Returns the content of the box of a call.
fn own_body(call: &Call<'_>, inner: Look<'_>) -> Vec<Line> {
    match call.name {
        "bash" => bash::body(call, inner),
        "read" => read::body(call, inner),
        "write" => write::body(call, inner),
        "edit" => edit::body(call, inner),
        "grep" => grep::body(call, inner),
        "find" => find::body(call, inner),
        "ls" => ls::body(call, inner),
        "codemode" if call.is_known => codemode::body(call, inner),
        _ => other::body(call, inner),
    }
}

/// Returns true if the box of a tool shows how long a call takes.
pub(super) fn shows_time(name: &str) -> bool {
    name == "bash"
}

/// Returns true if the box of a tool shows what a call would change.
pub(super) fn has_preview(name: &str) -> bool {
    name == "edit"
}

impl<'a> Call<'a> {
    /// Returns an argument as text. Models send wrong types; those are shown as JSON.
    pub(super) fn argument(&self, name: &str) -> Option<Cow<'a, str>> {
        match self.arguments.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(Cow::Borrowed(text)),
            other => Some(Cow::Owned(other.to_string())),
        }
    }

    /// Returns an argument as a number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.arguments.get(name).and_then(Value::as_f64)
    }

    /// Returns the text of the output.
    pub(super) fn text(&self, look: Look<'_>) -> Cow<'a, str> {
        self.output.map_or(Cow::Borrowed(""), |output| output::text_of(output.content, look))
    }

    /// Returns a value that the tool reports to programs.
    pub(super) fn detail(&self, name: &str) -> Option<&'a Value> {
        self.output?.details?.get(name)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.progress == Progress::Error
    }
}

/// Returns the style of the name of a tool.
pub(super) fn title_style(look: Look<'_>) -> Style {
    look.view.theme.fg(Token::ToolTitle).bold()
}

/// Returns the name of a tool and its main argument: a path or a pattern.
pub(super) fn title(name: &str, argument: Option<&str>, look: Look<'_>) -> Line {
    let mut line = Line::styled(name, title_style(look));
    line.push(" ", Style::PLAIN);
    match argument {
        Some(text) => line.push(one_line(text), look.view.theme.fg(Token::Accent)),
        // The argument has not arrived.
        None => line.push("...", look.view.theme.fg(Token::ToolOutput)),
    }
    line
}

/// Returns a path as it is shown: the home directory as `~`.
pub(super) fn short_path<'p>(path: &'p str, look: Look<'_>) -> Cow<'p, str> {
    let home = look.options.home.as_deref().filter(|home| home.parent().is_some());
    let rest = home.and_then(|home| std::path::Path::new(path).strip_prefix(home).ok());
    match rest {
        Some(rest) if rest.as_os_str().is_empty() => Cow::Borrowed("~"),
        Some(rest) => Cow::Owned(format!("~/{}", rest.display())),
        None => Cow::Borrowed(path),
    }
}

/// Adds a part of a box below an empty line, if there is something to add.
pub(super) fn add_part(lines: &mut Vec<Line>, part: Vec<Line>) {
    if !part.is_empty() {
        lines.push(Line::new());
        lines.extend(part);
    }
}
