//! Pasted text: what is kept of it, long pastes that are shown as `[paste #1 +20 lines]`, and
//! attached files that are shown as `[image NAME]`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::units;

/// A paste of more lines becomes a marker.
const MAX_LINES: usize = 10;
/// A paste of more characters becomes a marker.
const MAX_CHARS: usize = 1000;

/// Characters of the name of an attached file that are shown.
const MAX_NAME: usize = 40;

/// A text that is shown as a label.
#[derive(Debug, Clone)]
struct Paste {
    text: String,
    kind: Kind,
    /// Number of its markers in the text of the editor.
    uses: usize,
    /// The label as it is shown.
    label: String,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A long text, with the label without the number.
    Text { size: String },
    /// An attached image.
    Image { path: PathBuf },
}

/// The long pastes and the attached files of an editor.
///
/// Markers carry stable numbers; what is shown counts only pastes that are in the text, in the
/// order of their arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pastes {
    pastes: Vec<Option<Paste>>,
}

impl Pastes {
    /// Keeps a long paste and returns its marker; returns `None` for a short one.
    pub(crate) fn keep(&mut self, text: &str) -> Option<String> {
        let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let size = if lines > MAX_LINES {
            format!("+{lines} lines")
        } else {
            // Every character has one to four bytes.
            let chars = if text.len() > MAX_CHARS { text.chars().count() } else { 0 };
            if chars <= MAX_CHARS {
                return None;
            }
            format!("{chars} chars")
        };
        self.push(text.to_owned(), Kind::Text { size })
    }

    /// Keeps an attached image and returns its marker. `text` stands for it outside of the editor.
    pub(crate) fn attach(&mut self, text: &str, path: &Path) -> Option<String> {
        self.push(text.to_owned(), Kind::Image { path: path.to_owned() })
    }

    fn push(&mut self, text: String, kind: Kind) -> Option<String> {
        let id = u16::try_from(self.pastes.len()).ok()?;
        self.pastes.push(Some(Paste { text, kind, uses: 0, label: String::new() }));
        Some(units::marker(id))
    }

    /// Returns the attached images that a text refers to, in order.
    pub(crate) fn images(&self, text: &str) -> Vec<PathBuf> {
        let pastes = units::markers(text).filter_map(|id| self.get(id));
        let paths = pastes.filter_map(|paste| match &paste.kind {
            Kind::Image { path } => Some(path.clone()),
            Kind::Text { .. } => None,
        });
        paths.collect()
    }

    /// Counts the markers of a text that was removed and of one that was inserted. Returns true if
    /// labels changed.
    pub(crate) fn replaced(&mut self, removed: &str, inserted: &str) -> bool {
        if self.pastes.is_empty() {
            return false;
        }
        let mut changed = false;
        for id in units::markers(removed) {
            if let Some(paste) = self.get_mut(id) {
                paste.uses = paste.uses.saturating_sub(1);
                changed |= paste.uses == 0;
            }
        }
        for id in units::markers(inserted) {
            if let Some(paste) = self.get_mut(id) {
                paste.uses += 1;
                changed |= paste.uses == 1;
            }
        }
        if changed {
            self.label();
        }
        changed
    }

    /// Labels what is in use. Pastes are counted, and images of the same name.
    fn label(&mut self) {
        let mut number = 0;
        let mut names: Vec<String> = Vec::new();
        for paste in self.pastes.iter_mut().flatten().filter(|paste| paste.uses > 0) {
            paste.label = match &paste.kind {
                Kind::Text { size } => {
                    number += 1;
                    format!("[paste #{number} {size}]")
                }
                Kind::Image { path } => {
                    let name = shown_name(path);
                    let before = names.iter().filter(|other| **other == name).count();
                    let label = match before {
                        0 => format!("[image {name}]"),
                        _ => format!("[image {name} #{}]", before + 1),
                    };
                    names.push(name);
                    label
                }
            };
        }
    }

    /// Forgets the pastes that are neither in the text nor in one of `texts`.
    pub(crate) fn retain<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        if self.pastes.is_empty() {
            return;
        }
        let kept: Vec<u16> = texts.flat_map(units::markers).collect();
        for (id, slot) in (0..).zip(&mut self.pastes) {
            if slot.as_ref().is_some_and(|paste| paste.uses == 0) && !kept.contains(&id) {
                *slot = None;
            }
        }
        while let Some(None) = self.pastes.last() {
            self.pastes.pop();
        }
    }

    /// Returns the label of the marker that begins at `at`.
    pub(crate) fn label_at(&self, line: &str, at: usize) -> Option<&str> {
        Some(self.get(units::marker_at(line, at)?)?.label.as_str())
    }

    /// Returns a text with labels in place of markers.
    pub(crate) fn displayed(&self, text: &str) -> String {
        self.substituted(text, |paste| &paste.label)
    }

    /// Returns a text with the pasted texts in place of markers.
    pub(crate) fn expanded(&self, text: &str) -> String {
        self.substituted(text, |paste| &paste.text)
    }

    /// Returns a text with markers in place of the labels of pastes that are in use.
    pub(crate) fn marked(&self, text: &str) -> String {
        let mut marked = text.to_owned();
        for (id, paste) in (0..).zip(&self.pastes) {
            if let Some(paste) = paste
                && paste.uses > 0
            {
                marked = marked.replace(&paste.label, &units::marker(id));
            }
        }
        marked
    }

    fn substituted<'a>(&'a self, text: &str, by: impl Fn(&'a Paste) -> &'a str) -> String {
        if self.pastes.is_empty() {
            return text.to_owned();
        }
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(units::is_reserved) {
            result.push_str(&rest[..at]);
            rest = &rest[at..];
            let paste = units::marker_at(rest, 0).and_then(|id| self.get(id));
            let length = match paste {
                Some(paste) => {
                    result.push_str(by(paste));
                    units::MARK_LEN
                }
                None => units::next(rest, 0),
            };
            rest = &rest[length..];
        }
        result.push_str(rest);
        result
    }

    fn get(&self, id: u16) -> Option<&Paste> {
        self.pastes.get(usize::from(id))?.as_ref()
    }

    fn get_mut(&mut self, id: u16) -> Option<&mut Paste> {
        self.pastes.get_mut(usize::from(id))?.as_mut()
    }
}

/// Returns the name of a file as it is shown: in one line, its end if it is long.
fn shown_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name: String = clean_with(&name, " ").replace('\n', " ");
    match name.chars().count().checked_sub(MAX_NAME) {
        None | Some(0) => name,
        Some(more) => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
    }
}

/// Returns a text as an editor keeps it: line ends are `\n`, other control characters are removed,
/// except tabs.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    clean_with(text, "\t")
}

/// Returns a pasted text as an editor inserts it: like [`clean`], with spaces for tabs and control
/// characters for what some terminals send in their place.
pub(crate) fn clean_paste(text: &str) -> Cow<'_, str> {
    match suspect(text) {
        None => text.into(),
        Some(_) => clean_with(&decode_controls(text), "    ").into_owned().into(),
    }
}

fn clean_with<'a>(text: &'a str, tab: &str) -> Cow<'a, str> {
    if suspect(text).is_none() {
        return text.into();
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = suspect(rest) {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(character) = rest.chars().next() else { break };
        rest = &rest[character.len_utf8()..];
        match character {
            '\r' => {
                rest = rest.strip_prefix('\n').unwrap_or(rest);
                result.push('\n');
            }
            '\t' => result.push_str(tab),
            other if other.is_control() || units::is_reserved(other) => {}
            other => result.push(other),
        }
    }
    result.push_str(rest);
    result.into()
}

/// Returns the offset of the first character that may need attention. Goes over blocks of bytes,
/// because nearly all text has none and may be long.
fn suspect(text: &str) -> Option<usize> {
    const BLOCK: usize = 64;
    let mut blocks = text.as_bytes().chunks(BLOCK);
    let block =
        blocks.position(|block| block.iter().fold(false, |any, byte| any | is_suspect(*byte)))?;
    let start = block * BLOCK;
    let at = text.as_bytes()[start..].iter().position(|byte| is_suspect(*byte))?;
    Some(start + at)
}

/// Returns true for bytes that begin a character which may need attention: controls of ASCII and
/// of Latin-1, noncharacters.
fn is_suspect(byte: u8) -> bool {
    (byte < 0x20) & (byte != b'\n') | (byte == 0x7f) | (byte == 0xC2) | (byte == 0xEF)
}

/// Replaces `ESC [ code ; 5 u`, the form in which tmux passes on control characters of a paste.
fn decode_controls(text: &str) -> Cow<'_, str> {
    if !text.contains("\x1b[") {
        return text.into();
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        result.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let decoded = rest.split_at_checked(digits).and_then(|(code, after)| {
            let code = code.parse::<u8>().ok().filter(u8::is_ascii_alphabetic)?;
            Some((char::from(code & 0x1f), after.strip_prefix(";5u")?))
        });
        match decoded {
            Some((character, after)) => {
                result.push(character);
                rest = after;
            }
            None => result.push_str("\x1b["),
        }
    }
    result.push_str(rest);
    result.into()
}
