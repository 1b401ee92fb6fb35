//! Boxes with a label: messages of extensions, summaries of compactions and branches, skills.

use pi_base::text::grouped;
use pi_protocol::{CustomMessage as _, Entry, MessageContent, UserBlock};
use pi_session::ExtensionMessage;
use pi_tui::{Line, Token};

use super::foreign;
use super::images;
use super::layout::{boxed, expand_hint, inner_width, one_line, text_lines};
use super::markdown::{self, Prose};
use super::options::{Look, Shared};
use super::slot::Draw;
use super::user::{Invocation, text_of};

/// Content of a box with a label.
#[derive(Debug, Clone)]
pub(super) enum Labeled {
    Extension(Box<ExtensionMessage>),
    /// Data of an extension, which only its renderer draws.
    Data {
        kind: String,
        entry: Box<Entry>,
    },
    Compaction {
        summary: String,
        tokens_before: f64,
    },
    Branch {
        summary: String,
    },
}

impl Draw for Labeled {
    fn draw(&self, look: Look<'_>, _shared: &Shared) -> Vec<Line> {
        self.lines(look)
    }
}

impl Labeled {
    /// Returns the lines of the box.
    pub(super) fn lines(&self, look: Look<'_>) -> Vec<Line> {
        let theme = look.view.theme;
        let style = theme.fg(Token::CustomMessageText);
        let inner = inner(look);
        match self {
            Self::Data { kind, entry } => {
                let entry = serde_json::to_value(&**entry).unwrap_or_default();
                foreign::entry(kind, &entry, look).unwrap_or_default()
            }
            Self::Extension(message) => {
                let ExtensionMessage { custom_type, content, .. } = &**message;
                let mut value = serde_json::to_value(&**message).unwrap_or_default();
                value["role"] = ExtensionMessage::ROLE.into();
                if let Some(lines) = foreign::message(custom_type, &value, look) {
                    return lines;
                }
                let mut body = vec![label(custom_type, look), Line::new()];
                let text = text_of(content);
                if !text.trim().is_empty() {
                    body.extend(markdown::lines(&text, Prose::Custom, inner));
                }
                if let MessageContent::Blocks(blocks) = content {
                    for block in blocks {
                        if let UserBlock::Image(image) = block {
                            body.extend(text_lines(&images::fallback(image), style));
                        }
                    }
                }
                framed(body, look)
            }
            Self::Compaction { summary, tokens_before } => {
                // Casts saturate, so a damaged number stays a number.
                let remark = format!("Compacted from {} tokens", grouped(*tokens_before as u64));
                summarized("compaction", &remark, summary, look)
            }
            Self::Branch { summary } => summarized("branch", "Branch summary", summary, look),
        }
    }
}

fn summarized(kind: &str, remark: &str, summary: &str, look: Look<'_>) -> Vec<Line> {
    let style = look.view.theme.fg(Token::CustomMessageText);
    let mut body = vec![label(kind, look), Line::new()];
    if look.is_expanded() {
        body.push(Line::styled(remark, style.bold()));
        if !summary.trim().is_empty() {
            body.push(Line::new());
            body.extend(markdown::lines(summary, Prose::Custom, inner(look)));
        }
    } else {
        body.push(expand_hint(format!("{remark} ("), look));
    }
    framed(body, look)
}

/// Returns the box of an invoked skill: its name, and its instructions if expanded.
pub(super) fn skill(skill: &Invocation<'_>, look: Look<'_>) -> Vec<Line> {
    let theme = look.view.theme;
    let style = theme.fg(Token::CustomMessageText);
    let mut header = label("skill", look);
    header.push(format!(" {}", one_line(skill.name)), style);
    let mut body = Vec::new();
    if look.is_expanded() {
        body.extend([header, Line::new()]);
        body.extend(markdown::lines(skill.body, Prose::Custom, inner(look)));
    } else {
        header.append(&expand_hint(" (".to_owned(), look));
        body.push(header);
    }
    framed(body, look)
}

fn inner(look: Look<'_>) -> Look<'_> {
    let width = inner_width(look.options.output_pad, look.view.width);
    Look { view: look.view.with_width(width), ..look }
}

fn label(kind: &str, look: Look<'_>) -> Line {
    let style = look.view.theme.fg(Token::CustomMessageLabel).bold();
    Line::styled(format!("[{}]", one_line(kind)), style)
}

fn framed(body: Vec<Line>, look: Look<'_>) -> Vec<Line> {
    let background = look.view.theme.bg(Token::CustomMessageBg);
    let mut lines = vec![Line::new()];
    lines.extend(boxed(body, look.options.output_pad, background, look.view.width));
    lines
}
