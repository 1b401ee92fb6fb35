//! A text between two rules: the changelog, the list of keys.

use pi_tui::markdown::{Markdown, MarkdownOptions};
use pi_tui::{Block, Line, LineCache, Lines, Token, View};

/// Markdown between two rules.
pub(super) struct Document {
    body: Markdown,
    cache: LineCache,
}

impl Document {
    pub(super) fn new(text: &str) -> Self {
        let mut options = MarkdownOptions::default();
        options.padding = 1;
        let mut body = Markdown::new(options);
        body.push(text);
        body.finish();
        Self { body, cache: LineCache::default() }
    }
}

impl Block for Document {
    fn render(&mut self, view: View<'_>) -> Lines {
        let Self { body, cache } = self;
        cache.get(view, || {
            let rule = Line::styled("─".repeat(view.width), view.theme.fg(Token::Border));
            let mut lines = vec![Line::new(), rule.clone()];
            lines.extend(body.render(view).iter().cloned());
            lines.push(rule);
            lines
        })
    }

    fn estimated_height(&self, width: usize) -> usize {
        self.body.estimated_height(width) + 3
    }

    fn release(&mut self) {
        self.cache.clear();
        self.body.release();
    }
}
