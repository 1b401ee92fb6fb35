//! Syntax highlighting: lines of code to tokens of the theme.
//!
//! Grammars take about 25 ms to load and some more to compile for each language, so that does not
//! happen within a frame: [`prepare`] has it done by a thread, and [`on_ready`] reports the end.
//! [`highlight`] waits. Code beyond the limits stays plain.

mod scopes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use pi_base::lock;
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::theme::Token;

/// Bytes of one block of code that are highlighted.
const BLOCK_LIMIT: usize = 200 * 1024;
/// Longer lines stay plain: they are data, and slow to highlight.
const LINE_LIMIT: usize = 1024;
/// Bytes of code with which a grammar is compiled in advance.
const SAMPLE_LIMIT: usize = 4 * 1024;

/// A piece of a line of code; text without a token has the color of ordinary text.
pub type CodeSpan = (Option<Token>, String);

/// Names that the built-in syntaxes lack, and the most similar ones that exist.
const ALIASES: &[(&str, &str)] = &[
    ("cjs", "js"),
    ("console", "sh"),
    ("cts", "js"),
    ("env", "properties"),
    ("golang", "go"),
    ("ini", "properties"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("jsx", "js"),
    ("kotlin", "java"),
    ("kt", "java"),
    ("make", "makefile"),
    ("mjs", "js"),
    ("mts", "js"),
    ("patch", "diff"),
    ("py3", "py"),
    ("python3", "py"),
    ("shell", "sh"),
    ("svelte", "html"),
    ("swift", "rs"),
    ("toml", "properties"),
    ("ts", "js"),
    ("tsx", "js"),
    ("typescript", "js"),
    ("vue", "html"),
    ("yml", "yaml"),
    ("zsh", "sh"),
];

/// The state of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Code in this language can be highlighted at once.
    Ready,
    /// A thread is loading the grammar.
    Loading,
    /// The language has no grammar.
    Unknown,
}

static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
static GENERATION: AtomicU64 = AtomicU64::new(0);
static LANGUAGES: Mutex<Option<Languages>> = Mutex::new(None);

#[derive(Default)]
struct Languages {
    readiness: HashMap<String, Readiness>,
    on_ready: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// Returns a number that grows whenever a grammar has been loaded. Lines that were rendered
/// before are then out of date.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// Sets the function that is called, by another thread, when a grammar has been loaded. It should
/// request a frame.
pub fn on_ready(wake: impl Fn() + Send + Sync + 'static) {
    with_languages(|languages| languages.on_ready = Some(Arc::new(wake)));
}

/// Has a grammar loaded by a thread if it is not there. `sample` is code in this language, with
/// which the grammar is compiled.
pub fn prepare(language: &str, sample: &str) -> Readiness {
    let name = language.to_ascii_lowercase();
    if name.is_empty() {
        return Readiness::Unknown;
    }
    let known = with_languages(|languages| {
        let known = languages.readiness.get(&name).copied();
        if known.is_none() {
            languages.readiness.insert(name.clone(), Readiness::Loading);
        }
        known
    });
    if let Some(readiness) = known {
        return readiness;
    }
    let sample = sample.get(..sample.floor_char_boundary(SAMPLE_LIMIT)).unwrap_or_default();
    let (sample, thread_name) = (sample.to_owned(), name.clone());
    let load = move || {
        let readiness = match highlight(&sample, &thread_name) {
            Some(_) => Readiness::Ready,
            None => Readiness::Unknown,
        };
        let wake = with_languages(|languages| {
            languages.readiness.insert(thread_name, readiness);
            GENERATION.fetch_add(1, Ordering::Release);
            languages.on_ready.clone()
        });
        if let Some(wake) = wake {
            wake();
        }
    };
    let thread = std::thread::Builder::new().name("highlight".to_owned()).spawn(load);
    if thread.is_err() {
        // Without a thread, code stays plain.
        with_languages(|languages| languages.readiness.insert(name, Readiness::Unknown));
        return Readiness::Unknown;
    }
    Readiness::Loading
}

/// Highlights code. `language` is a name, an alias or the extension of a file. Returns nothing if
/// there is no grammar for the language. Loads the grammar if it is not there.
pub fn highlight(code: &str, language: &str) -> Option<Vec<Vec<CodeSpan>>> {
    let mut highlighter = Highlighter::new(language)?;
    Some(code.lines().map(|line| highlighter.line(line)).collect())
}

fn with_languages<T>(run: impl FnOnce(&mut Languages) -> T) -> T {
    let mut languages: MutexGuard<'_, Option<Languages>> = lock(&LANGUAGES);
    run(languages.get_or_insert_default())
}

fn find(language: &str) -> Option<&'static SyntaxReference> {
    let language = language.to_ascii_lowercase();
    if language.is_empty() {
        return None;
    }
    let alias = ALIASES.binary_search_by(|(name, _)| (*name).cmp(&language));
    let alias = alias.ok().and_then(|at| ALIASES.get(at));
    let name = alias.map_or(language.as_str(), |(_, instead)| instead);
    let syntaxes = SYNTAXES.get_or_init(SyntaxSet::load_defaults_newlines);
    syntaxes.find_syntax_by_token(name).filter(|syntax| syntax.name != "Plain Text")
}

/// Highlights code line by line. A clone continues at the same line.
#[derive(Debug, Clone)]
pub struct Highlighter {
    state: ParseState,
    stack: ScopeStack,
    /// Bytes that may still be highlighted.
    left: usize,
    buffer: String,
}

impl Highlighter {
    /// Creates a highlighter for a language: a name, an alias or the extension of a file. Loads
    /// the grammar if it is not there.
    pub fn new(language: &str) -> Option<Self> {
        let state = ParseState::new(find(language)?);
        Some(Self { state, stack: ScopeStack::new(), left: BLOCK_LIMIT, buffer: String::new() })
    }

    /// Returns the pieces of the next line, which has no line break.
    pub fn line(&mut self, line: &str) -> Vec<CodeSpan> {
        if line.len() > LINE_LIMIT || line.len() >= self.left {
            return vec![(None, line.to_owned())];
        }
        self.left -= line.len() + 1;
        let spans = self.parse(line);
        if spans.is_none() {
            self.left = 0;
        }
        spans.unwrap_or_else(|| vec![(None, line.to_owned())])
    }

    fn parse(&mut self, line: &str) -> Option<Vec<CodeSpan>> {
        let syntaxes = SYNTAXES.get()?;
        // The syntaxes require a line break at the end of every line.
        self.buffer.clear();
        self.buffer.push_str(line);
        self.buffer.push('\n');
        let mut spans = Vec::new();
        let mut from = 0;
        for (at, change) in self.state.parse_line(&self.buffer, syntaxes).ok()? {
            let at = at.min(line.len());
            add(&mut spans, &self.stack, line.get(from..at)?);
            self.stack.apply(&change).ok()?;
            from = at;
        }
        add(&mut spans, &self.stack, line.get(from..)?);
        Some(spans)
    }
}

/// Adds text with the token of the innermost scope that has one. White space has no color, so it
/// belongs to the piece before it.
fn add(spans: &mut Vec<CodeSpan>, stack: &ScopeStack, text: &str) {
    if text.is_empty() {
        return;
    }
    let token = scopes::token(stack.as_slice(), text);
    match spans.last_mut() {
        Some((last, before)) if *last == token || text.trim_ascii().is_empty() => {
            before.push_str(text);
        }
        _ => spans.push((token, text.to_owned())),
    }
}
