//! Markdown: lines do not depend on cuts, and none is too wide.

use pi_tui::markdown::{Highlighting, MarkdownOptions, Mermaid};
use pi_tui::{Block, Lines, Markdown, Theme, View, diff_lines};

use crate::Cuts;

/// The same text gives the same lines for any cuts, also if finished blocks are taken. No line is
/// wider than the view.
pub fn markdown(data: &[u8]) {
    let Some((cuts, body)) = Cuts::split_off(data) else { return };
    let Ok(text) = std::str::from_utf8(body) else { return };
    let theme = Theme::plain();
    let width = 1 + text.len() % 90;
    let view = View { width, rows: 24, theme: &theme };
    let mut whole = new();
    whole.push(text);
    let mut grown = new();
    let mut taken = new();
    let mut blocks = Vec::new();
    for piece in cuts.of_text(text) {
        grown.push(piece);
        grown.render(view);
        taken.push(piece);
        blocks.extend(taken.take_finished());
    }
    assert_eq!(grown.render(view), whole.render(view), "the lines depend on the cuts");
    grown.finish();
    taken.finish();
    blocks.extend(taken.take_finished());
    let lines = grown.render(view);
    // A block that was taken does not learn of definitions that come later.
    if !text.contains("]:") {
        let parts: Vec<Lines> = blocks.iter_mut().map(|block| block.render(view)).collect();
        assert_eq!(parts.concat(), lines.to_vec(), "the taken blocks differ");
    }
    for line in lines.iter().chain(&diff_lines(text, view)) {
        assert!(line.width() <= width, "{line:?} is wider than {width}");
    }
}

/// Without highlighting, which is slow with coverage and belongs to another crate.
fn new() -> Markdown {
    let mut options = MarkdownOptions::default();
    options.highlighting = Highlighting::Off;
    options.mermaid = Mermaid::Streaming;
    options.padding = 1;
    Markdown::new(options)
}
