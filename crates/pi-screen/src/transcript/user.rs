//! Messages of the user: Markdown on a background. A skill that the user invoked is a line of its own.

use pi_protocol::{MessageContent, UserBlock, UserContent, UserMessage};
use pi_tui::{Line, Token};

use super::layout::{boxed, inner_width, mark_prompt, text_lines};
use super::markdown::{self, Prose};
use super::options::{Look, Shared};
use super::slot::Draw;
use super::{images, labeled};

/// A message of the user.
#[derive(Debug)]
pub(super) struct User {
    pub(super) message: std::sync::Arc<UserMessage>,
    /// Nothing is above the message but the header, which ends with an empty line.
    pub(super) is_first: bool,
}

impl Draw for User {
    fn draw(&self, look: Look<'_>, _shared: &Shared) -> Vec<Line> {
        lines(&self.message.content, self.is_first, look)
    }
}

/// Returns the lines of a message.
pub(super) fn lines(content: &UserContent, is_first: bool, look: Look<'_>) -> Vec<Line> {
    let text = text_of(content);
    let mut drawn = Vec::new();
    let text = match Invocation::parse(&text) {
        Some(skill) => {
            drawn = labeled::skill(&skill, look);
            skill.arguments.to_owned()
        }
        None => text,
    };
    let said = message_box(&text, content, look);
    if !said.is_empty() {
        if !is_first || !drawn.is_empty() {
            drawn.push(Line::new());
        }
        drawn.extend(said);
    } else if is_first && !drawn.is_empty() {
        drawn.remove(0);
    }
    if let Some(first) = drawn.iter().position(|line| line.width() > 0) {
        mark_prompt(&mut drawn[first..]);
    }
    drawn
}

fn message_box(text: &str, content: &UserContent, look: Look<'_>) -> Vec<Line> {
    let theme = look.view.theme;
    let (pad, width) = (look.options.output_pad, look.view.width);
    let inner = Look { view: look.view.with_width(inner_width(pad, width)), ..look };
    let mut body = Vec::new();
    if !text.trim().is_empty() {
        body = markdown::lines(text, Prose::User, inner);
    }
    if let MessageContent::Blocks(blocks) = content {
        for block in blocks {
            if let UserBlock::Image(image) = block {
                body.extend(text_lines(&images::fallback(image), theme.fg(Token::Muted)));
            }
        }
    }
    if body.is_empty() {
        return Vec::new();
    }
    boxed(body, pad, theme.bg(Token::UserMessageBg), width)
}

/// Returns the text of a message. Blocks are joined by line breaks.
pub(super) fn text_of(content: &UserContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(UserBlock::as_text).collect();
            texts.join("\n")
        }
    }
}

/// The invocation of a skill, as the session writes it into a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invocation<'a> {
    pub(super) name: &'a str,
    /// The instructions of the skill.
    pub(super) body: &'a str,
    /// Additions of the user.
    pub(super) arguments: &'a str,
}

impl<'a> Invocation<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = text.strip_prefix("<skill name=\"")?.split_once('"')?;
        let (_, rest) = rest.split_once(">\n")?;
        let (body, arguments) = rest.rsplit_once("\n</skill>")?;
        if !arguments.is_empty() && !arguments.starts_with("\n\n") {
            return None;
        }
        Some(Self { name, body, arguments: arguments.trim() })
    }
}
