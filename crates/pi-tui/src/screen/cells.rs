//! Lines as cells of the terminal. Here control characters end.

use std::rc::Rc;

use pi_base::text::is_clean;

use crate::style::{Attributes, Color, Style};
use crate::text::{Line, Span};
use crate::text::{grapheme_width, graphemes};

/// Characters of a cluster that are kept. No script needs more; floods of combining characters
/// make terminals slow.
const CLUSTER_CHARACTERS: usize = 16;

/// A grapheme cluster on the screen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) column: usize,
    pub(super) width: usize,
    pub(super) style: Style,
    pub(super) link: Option<&'a Rc<str>>,
    pub(super) is_layout: bool,
    /// Terminals disagree on the width of this cluster.
    pub(super) is_doubtful: bool,
}

impl Cell<'_> {
    /// Returns true if an erased cell looks the same.
    pub(super) fn is_blank(&self) -> bool {
        let visible = Attributes::UNDERLINE | Attributes::INVERSE | Attributes::STRIKE;
        self.text == " "
            && self.style.bg == Color::Default
            && self.style.attributes.without(visible) == self.style.attributes
            && self.link.is_none()
    }

    /// Returns true if the cell is text, not layout or space.
    pub(super) fn is_content(&self) -> bool {
        !self.is_layout && !self.text.trim().is_empty()
    }

    /// Returns the column after the cell.
    pub(super) fn end(&self) -> usize {
        self.column + self.width
    }
}

/// Returns the cells of a line, at most `width` columns.
pub(super) fn cells(line: &Line, width: usize) -> Vec<Cell<'_>> {
    let mut cells = Vec::with_capacity(line.width().min(width));
    let mut column = 0;
    for span in line.spans() {
        for (text, cluster_width, is_doubtful) in clusters(&span.text) {
            if column + cluster_width > width {
                return cells;
            }
            let Span { style, ref link, is_layout, .. } = *span;
            let link = link.as_ref();
            let width = cluster_width;
            cells.push(Cell { text, column, width, style, link, is_layout, is_doubtful });
            column += cluster_width;
        }
    }
    cells
}

/// Returns the clusters of a text that may be written, their widths, and true for those of doubtful
/// width.
fn clusters(text: &str) -> impl Iterator<Item = (&str, usize, bool)> {
    graphemes(text).filter_map(|cluster| {
        if cluster.len() == 1 {
            return is_clean(None, cluster).then_some((cluster, 1, false));
        }
        // Line breaks and control characters are clusters of their own; so is a character without
        // a base. None of them is text.
        if !is_clean(None, cluster) {
            return None;
        }
        let end = cluster.char_indices().nth(CLUSTER_CHARACTERS).map_or(cluster.len(), |at| at.0);
        let cluster = &cluster[..end];
        let width = grapheme_width(cluster);
        if width == 0 {
            return None;
        }
        let mut characters = cluster.chars();
        let first =
            characters.next().map_or(0, |first| grapheme_width(first.encode_utf8(&mut [0; 4])));
        let is_joined = characters.any(|character| {
            character == '\u{fe0f}' || grapheme_width(character.encode_utf8(&mut [0; 4])) > 0
        });
        let is_regional = matches!(cluster.chars().next(), Some('\u{1f1e6}'..='\u{1f1ff}'));
        Some((cluster, width, is_joined || is_regional || first != width))
    })
}

/// Returns the number of columns without blank cells at the end.
pub(super) fn trimmed(cells: &[Cell<'_>]) -> usize {
    cells.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1)
}
