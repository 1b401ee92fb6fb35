//! Syntax highlighting, with limits.
//!
//! Highlighting takes seconds per megabyte. Limits per block, per line and per page keep it short;
//! code beyond them is plain.

use std::collections::HashMap;
use std::sync::LazyLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::escape;

/// Longer blocks of code stay plain.
const BLOCK_LIMIT: usize = 24 * 1024;
/// Blocks with a longer line stay plain: they are data, and slow to highlight.
const LINE_LIMIT: usize = 1024;

/// The classes of scopes; the first matching prefix decides.
const CLASSES: &[(&str, &str)] = &[
    ("comment", "c"),
    ("keyword.operator", ""),
    ("keyword", "k"),
    ("storage", "k"),
    ("variable.language", "k"),
    ("constant.numeric", "n"),
    ("constant.language", "n"),
    ("constant.character", "n"),
    ("string", "s"),
    ("entity.name.function", "f"),
    ("support.function", "f"),
    ("variable.function", "f"),
    ("entity.other.attribute-name", "f"),
    ("entity.name.tag", "k"),
    ("entity.name", "t"),
    ("support.type", "t"),
    ("support.class", "t"),
    ("markup.heading", "k"),
    ("markup.raw", "s"),
];

/// Names that the built-in syntaxes lack, and the most similar ones that exist.
const ALIASES: &[(&str, &str)] = &[
    ("ts", "js"),
    ("tsx", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("cjs", "js"),
    ("typescript", "js"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("shell", "sh"),
    ("console", "sh"),
    ("zsh", "sh"),
    ("toml", "properties"),
    ("ini", "properties"),
    ("env", "properties"),
];

/// Highlights code up to the limit of a page.
pub(super) struct Highlighter {
    /// The syntaxes, loaded for the first block of code.
    loaded: Option<Loaded>,
    /// Number of bytes that may still be highlighted.
    left: usize,
}

/// The built-in syntaxes, loaded once in a process.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

struct Loaded {
    syntaxes: &'static SyntaxSet,
    classes: Vec<(Scope, &'static str)>,
    known: HashMap<Scope, &'static str>,
}

impl Highlighter {
    /// Highlights at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { loaded: None, left: limit }
    }

    /// Allows to highlight `more` bytes, and at most `limit` altogether.
    pub(super) fn refill(&mut self, more: usize, limit: usize) {
        self.left = self.left.saturating_add(more).min(limit);
    }

    /// Appends code; `language` is a name or the extension of a file.
    pub(super) fn write(&mut self, out: &mut String, code: &str, language: &str) {
        let before = out.len();
        if self.highlight(out, code, language).is_none() {
            out.truncate(before);
            escape::text(out, code);
        }
    }

    fn highlight(&mut self, out: &mut String, code: &str, language: &str) -> Option<()> {
        let plain = language.is_empty()
            || code.len() > BLOCK_LIMIT.min(self.left)
            || code.lines().any(|line| line.len() > LINE_LIMIT);
        if plain {
            return None;
        }
        let loaded = self.loaded.get_or_insert_with(Loaded::new);
        let Loaded { syntaxes, classes, known } = loaded;
        let syntax = find(syntaxes, language)?;
        self.left -= code.len();
        let mut class_of = |scope: Scope| {
            *known.entry(scope).or_insert_with(|| {
                let class = classes.iter().find(|(prefix, _)| prefix.is_prefix_of(scope));
                class.map_or("", |(_, class)| *class)
            })
        };
        let mut state = ParseState::new(syntax);
        let mut stack = ScopeStack::new();
        let mut spans = SpanWriter::default();
        let mut line_with_end = String::new();
        for line in code.split_inclusive('\n') {
            // The syntaxes require a line break at the end of every line.
            line_with_end.clear();
            line_with_end.push_str(line);
            if !line.ends_with('\n') {
                line_with_end.push('\n');
            }
            let mut from = 0;
            for (at, change) in state.parse_line(&line_with_end, syntaxes).ok()? {
                let at = at.min(line.len());
                spans.add(out, class_at(&stack, &mut class_of), line.get(from..at)?);
                stack.apply(&change).ok()?;
                from = at;
            }
            spans.add(out, class_at(&stack, &mut class_of), line.get(from..)?);
        }
        spans.set_class(out, "");
        Some(())
    }
}

/// Returns the class of the innermost scope that has one.
fn class_at(stack: &ScopeStack, class_of: &mut impl FnMut(Scope) -> &'static str) -> &'static str {
    let scopes = stack.as_slice().iter().rev();
    scopes.map(|scope| class_of(*scope)).find(|class| !class.is_empty()).unwrap_or_default()
}

impl Loaded {
    fn new() -> Self {
        let classes = CLASSES
            .iter()
            .filter_map(|(prefix, class)| Some((Scope::new(prefix).ok()?, *class)))
            .collect();
        Self { syntaxes: &SYNTAXES, classes, known: HashMap::new() }
    }
}

fn find<'a>(syntaxes: &'a SyntaxSet, language: &str) -> Option<&'a SyntaxReference> {
    let language = language.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(name, _)| *name == language);
    let name = alias.map_or(language.as_str(), |(_, instead)| instead);
    syntaxes.find_syntax_by_token(name).filter(|syntax| syntax.name != "Plain Text")
}

/// Writes text in `span` elements, and tags only where the class changes.
#[derive(Default)]
struct SpanWriter {
    class: &'static str,
}

impl SpanWriter {
    fn add(&mut self, out: &mut String, class: &'static str, text: &str) {
        // Blanks have no color, so they continue the current class.
        if !text.trim_ascii().is_empty() {
            self.set_class(out, class);
        }
        escape::text(out, text);
    }

    fn set_class(&mut self, out: &mut String, class: &'static str) {
        if class == self.class {
            return;
        }
        if !self.class.is_empty() {
            out.push_str("</span>");
        }
        if !class.is_empty() {
            out.push_str("<span class=\"");
            out.push_str(class);
            out.push_str("\">");
        }
        self.class = class;
    }
}
