//! Markdown in messages, with the settings of the transcript.

use pi_tui::markdown::{Markdown, MarkdownOptions, Mermaid};
use pi_tui::{Line, Style, Token};

use super::options::{Look, Options};

/// The text that is Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prose {
    /// Text of an answer.
    Answer,
    /// Thinking of an answer.
    Thinking,
    /// A message of the user, in a box.
    User,
    /// A message of an extension or a summary, in a box.
    Custom,
}

/// Returns the options for a text. Boxes have a padding of their own.
pub(super) fn options(prose: Prose, settings: &Options) -> MarkdownOptions {
    let mut options = MarkdownOptions::default();
    options.code_indent.clone_from(&settings.code_indent);
    options.hyperlinks = settings.hyperlinks;
    options.mermaid = match settings.mermaid.as_str() {
        "never" | "off" | "false" => Mermaid::Off,
        "final" => Mermaid::Final,
        _ => Mermaid::Streaming,
    };
    match prose {
        Prose::Answer => options.padding = settings.output_pad,
        Prose::Thinking => {
            options.padding = settings.output_pad;
            options.base = Style::PLAIN.italic();
            options.color = Some(Token::ThinkingText);
        }
        Prose::User => {
            options.color = Some(Token::UserMessageText);
            options.list_numbers_as_typed = true;
        }
        Prose::Custom => options.color = Some(Token::CustomMessageText),
    }
    options
}

/// Returns the lines of a complete text.
pub(super) fn lines(source: &str, prose: Prose, look: Look<'_>) -> Vec<Line> {
    let mut markdown = Markdown::new(options(prose, look.options));
    markdown.push(&look.foreign.markdown(source, prose, false, look.view.width));
    markdown.finish();
    markdown.render(look.view).to_vec()
}
