//! Breaking lines into parts that fit.

use super::columns::{grapheme_width, graphemes};
use super::cut::slice;
use crate::text::{Line, LineEnd, Span};

/// Stands for a character that is wider than the whole line.
const TOO_WIDE: &str = "\u{fffd}";

/// Breaks a line so that no part is wider than `width`: at spaces, before and after CJK characters,
/// and within words that are too long.
///
/// Styles, links and layout flags stay. [`Line::end`] tells how to join the parts; the spaces at a
/// break are in neither part. The prompt mark and the image stay on the first part, and the caret
/// moves to the part that has its column. In 0 columns there is one empty part.
pub fn wrap(line: &Line, width: usize) -> Vec<Line> {
    wrap_to(line, width, width)
}

/// Breaks a line like [`wrap`] and puts `first` before the first part and `rest` before the others,
/// as layout: bullets, quote bars, the indentation of lists. Where there is no room, the prefixes
/// are cut, so that one column is left for the text.
pub fn wrap_indented(line: &Line, width: usize, first: &Line, rest: &Line) -> Vec<Line> {
    let first = slice(first, 0, width.saturating_sub(1));
    let rest = slice(rest, 0, width.saturating_sub(1));
    let parts = wrap_to(line, width - first.width(), width - rest.width());
    let prefixes = std::iter::once(&first).chain(std::iter::repeat(&rest));
    parts.into_iter().zip(prefixes).map(|(part, prefix)| part.prefixed(prefix)).collect()
}

/// Breaks a line into a first part of at most `first` columns and others of at most `rest`.
fn wrap_to(line: &Line, first: usize, rest: usize) -> Vec<Line> {
    if line.width() <= first {
        return vec![line.clone()];
    }
    let caret = line.caret.map(|column| place_of(line, column));
    let mut parts = Vec::new();
    let mut width = first;
    let mut from = Place::START;
    loop {
        let end = end_of_part(line, from, width);
        let mut part = part(line, from, end.before);
        if part.width() > width {
            part = without_wide(&part, width);
        }
        part.end = end.kind;
        if parts.is_empty() {
            part.is_prompt = line.is_prompt;
            part.image.clone_from(&line.image);
        }
        let is_last = end.after == Place::END;
        if let Some(caret) = caret.filter(|caret| *caret >= from && (is_last || *caret < end.after))
        {
            let before = self::part(line, from, caret.min(end.before));
            part.caret = Some(without_wide(&before, width).width());
        }
        parts.push(part);
        if is_last {
            return parts;
        }
        from = end.after;
        width = rest;
    }
}

/// A place between two grapheme clusters: a span and a byte in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    span: usize,
    byte: usize,
}

impl Place {
    const START: Self = Self { span: 0, byte: 0 };
    const END: Self = Self { span: usize::MAX, byte: 0 };
}

/// The end of a part.
#[derive(Debug, Clone, Copy)]
struct End {
    /// The place after the part.
    before: Place,
    /// The place of the next part, which is later if spaces are dropped.
    after: Place,
    kind: LineEnd,
}

/// Returns the end of the part that begins at `start`.
fn end_of_part(line: &Line, start: Place, width: usize) -> End {
    if width == 0 {
        return End { before: start, after: Place::END, kind: line.end };
    }
    let mut column = 0;
    // The end of what fits: spaces at the end may be beyond the width.
    let mut fits = start;
    let mut latest: Option<End> = None;
    let mut previous = None;
    for (from, to, grapheme) in clusters(line, start) {
        let columns = shown_width(grapheme, width);
        let kind = Kind::of(grapheme);
        if kind == Kind::Space {
            latest = match (previous, latest) {
                // Leading spaces are an indentation: a break there would leave an empty part.
                (None, latest) => latest,
                (Some(Kind::Space), Some(latest)) => Some(End { after: to, ..latest }),
                _ => Some(End { before: from, after: to, kind: LineEnd::Space }),
            };
            previous = previous.and(Some(kind));
        } else {
            if columns > 0 {
                if previous.is_some_and(|previous| kind.can_follow_break_after(previous)) {
                    latest = Some(End { before: from, after: from, kind: LineEnd::Joined });
                }
                previous = Some(kind);
            } else if previous == Some(Kind::Space) {
                // A character without width is not dropped with the spaces around it.
                previous = Some(Kind::Other);
            }
            if column + columns > width {
                let within = End { before: fits, after: from, kind: LineEnd::Joined };
                return latest.unwrap_or(within);
            }
        }
        column += columns;
        if column <= width {
            fits = to;
        }
    }
    End { before: fits, after: Place::END, kind: line.end }
}

/// Returns the grapheme clusters from a place on, with their places.
fn clusters(line: &Line, start: Place) -> impl Iterator<Item = (Place, Place, &str)> {
    line.spans().iter().enumerate().skip(start.span).flat_map(move |(index, span)| {
        let mut byte = if index == start.span { start.byte } else { 0 };
        graphemes(span.text.get(byte..).unwrap_or_default()).map(move |grapheme| {
            let from = Place { span: index, byte };
            byte += grapheme.len();
            (from, Place { span: index, byte }, grapheme)
        })
    })
}

/// Returns the place of the cluster that covers a column.
fn place_of(line: &Line, column: usize) -> Place {
    let mut after = 0;
    for (from, _, grapheme) in clusters(line, Place::START) {
        after += grapheme_width(grapheme);
        if after > column {
            return from;
        }
    }
    Place::END
}

/// Copies what is between two places.
fn part(line: &Line, from: Place, to: Place) -> Line {
    let mut part = Line::new();
    let spans = line.spans().iter().enumerate();
    for (index, span) in spans.take(to.span.saturating_add(1)).skip(from.span) {
        let start = if index == from.span { from.byte } else { 0 };
        let end = if index == to.span { to.byte } else { span.text.len() };
        let text = span.text.get(start..end).unwrap_or_default().to_owned();
        let Span { style, ref link, is_layout, .. } = *span;
        part.push_span(Span { text, style, link: link.clone(), is_layout });
    }
    part
}

/// Replaces the clusters that are wider than a line.
fn without_wide(part: &Line, width: usize) -> Line {
    let replaced = |grapheme| if grapheme_width(grapheme) > width { TOO_WIDE } else { grapheme };
    let spans = part
        .spans()
        .iter()
        .map(|span| Span { text: graphemes(&span.text).map(replaced).collect(), ..span.clone() });
    Line::from_spans(spans)
}

/// Returns the columns of a cluster in a line of `width` columns: 1 if it must be replaced.
fn shown_width(grapheme: &str, width: usize) -> usize {
    match grapheme_width(grapheme) {
        columns if columns > width => 1,
        columns => columns,
    }
}

/// The kinds of clusters that matter for breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Cjk,
    /// CJK punctuation that does not end a line.
    Opening,
    /// CJK punctuation and small letters that do not begin a line.
    Closing,
    Other,
}

impl Kind {
    fn of(grapheme: &str) -> Self {
        match grapheme.chars().next() {
            // A space with an accent is not a space.
            _ if grapheme == " " => Self::Space,
            Some(first) if OPENING.contains(first) => Self::Opening,
            Some(first) if CLOSING.contains(first) => Self::Closing,
            Some(first) if is_cjk(first) => Self::Cjk,
            _ => Self::Other,
        }
    }

    /// Returns true if a line can be broken between the two clusters.
    fn can_follow_break_after(self, previous: Self) -> bool {
        match (previous, self) {
            (Self::Space | Self::Opening, _) | (_, Self::Closing) => false,
            (Self::Other, Self::Other) => false,
            (Self::Cjk | Self::Closing | Self::Other, _) => true,
        }
    }
}

const OPENING: &str = "「『（［｛〈《【〔〖〘〚";
const CLOSING: &str =
    "、。，．：；？！」』）］｝〉》】〕〗〙〛々ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ";

/// Returns true for characters between which lines are broken without a space.
pub(crate) fn is_cjk(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11ff}' // Hangul letters
            | '\u{2e80}'..='\u{33ff}' // radicals, punctuation, kana, Bopomofo
            | '\u{3400}'..='\u{9fff}' // Han
            | '\u{a000}'..='\u{a4cf}' // Yi
            | '\u{ac00}'..='\u{d7ff}' // Hangul
            | '\u{f900}'..='\u{faff}' // Han
            | '\u{fe30}'..='\u{fe4f}' // punctuation
            | '\u{ff00}'..='\u{ffef}' // full and half width forms
            | '\u{1b000}'..='\u{1b16f}' // kana
            | '\u{20000}'..='\u{3ffff}' // Han
    )
}
