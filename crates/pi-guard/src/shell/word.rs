//! Reads words as the shell passes them on, with quotes removed, or marked as unknown.

use tree_sitter::Node;

use crate::word::{PATTERN, Word};

/// Reads the word at a node.
pub(super) fn read(node: Node<'_>, source: &str) -> Word {
    read_joined(&[node], source)
}

/// Reads the word that adjacent nodes form together.
pub(super) fn read_joined(nodes: &[Node<'_>], source: &str) -> Word {
    let mut builder = Builder::default();
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
        return builder.finish("", false);
    };
    for node in nodes {
        builder.add(*node, source, false);
    }
    let raw = source.get(first.start_byte()..last.end_byte()).unwrap_or_default();
    // `$"…"` is translated by the locale.
    let translated = first.kind() == "string" && source[..first.start_byte()].ends_with('$');
    builder.finish(raw, translated)
}

pub(super) fn slice<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

#[derive(Default)]
struct Builder {
    text: String,
    /// `text` with everything quoted replaced by `q`: the part that the shell expands.
    bare: String,
    unknown: Option<(&'static str, usize)>,
    many: bool,
}

impl Builder {
    fn add(&mut self, node: Node<'_>, source: &str, quoted: bool) {
        let raw = slice(node, source);
        match node.kind() {
            "command_name" | "concatenation" => {
                let mut end = node.start_byte();
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    if child.start_byte() != end {
                        self.give_up("a gap in the grammar", true);
                    }
                    end = child.end_byte();
                    self.add(child, source, quoted);
                }
            }
            "word" | "number" | "variable_name" | "special_variable_name" | "test_operator" => {
                self.bare(raw);
            }
            "raw_string" => self.quote(raw.trim_start_matches('\'').trim_end_matches('\'')),
            "string" => self.string(node, raw),
            "ansi_c_string" => match ansi_c(raw) {
                Some(text) => self.quote(&text),
                None => self.give_up("an unknown escape", false),
            },
            "brace_expression" => self.give_up("brace expansion", true),
            "arithmetic_expansion" => self.give_up("arithmetic", false),
            "process_substitution" => self.give_up("a process substitution", false),
            "simple_expansion" | "expansion" => self.give_up("a variable", !quoted),
            "command_substitution" => self.give_up("the output of a command", !quoted),
            "array" => self.give_up("an array", true),
            // The parts of a word are separated by these tokens only.
            _ if !node.is_named() && matches!(raw, "{" | "}" | "," | "[" | "]" | "=" | "==") => {
                self.bare(raw);
            }
            _ => self.give_up("a pattern", true),
        }
    }

    fn string(&mut self, node: Node<'_>, raw: &str) {
        let mut cursor = node.walk();
        let plain = node.named_children(&mut cursor).all(|child| child.kind() == "string_content");
        if !plain {
            let start = raw.find(['$', '`']).unwrap_or(raw.len());
            self.quote(&double_quoted(raw.get(1..start).unwrap_or_default()));
            // `"$@"` and `"${a[@]}"` become one word per element.
            return self.give_up("a variable or substitution", raw.contains('@'));
        }
        let inner = raw.strip_prefix('"').unwrap_or(raw);
        self.quote(&double_quoted(inner.strip_suffix('"').unwrap_or(inner)));
    }

    fn bare(&mut self, raw: &str) {
        let mut characters = raw.chars();
        while let Some(character) = characters.next() {
            if character != '\\' {
                self.text.push(character);
                self.bare.push(character);
                continue;
            }
            match characters.next() {
                Some('\n') => {}
                Some(escaped) => self.quote(escaped.encode_utf8(&mut [0; 4])),
                None => self.quote("\\"),
            }
        }
    }

    fn quote(&mut self, text: &str) {
        self.text.push_str(text);
        self.bare.extend(text.bytes().map(|_| 'q'));
    }

    fn give_up(&mut self, why: &'static str, many: bool) {
        self.many |= many;
        self.unknown.get_or_insert((why, self.text.len()));
    }

    fn finish(mut self, raw: &str, translated: bool) -> Word {
        if translated {
            self.give_up("a translated string", false);
        }
        if let Some(at) = brace(&self.bare) {
            self.many = true;
            self.unknown = Some(("brace expansion", self.unknown.map_or(at, |(_, u)| u.min(at))));
        }
        if let Some(at) = glob(&self.bare) {
            self.many = true;
            let at = self.unknown.map_or(at, |(_, u)| u.min(at));
            self.unknown.get_or_insert((PATTERN, at));
        }
        if self.bare.starts_with('!') && self.bare.len() > 1 && !self.bare.starts_with("!=") {
            self.unknown.get_or_insert(("history expansion", 0));
        }
        let raw = raw.to_owned();
        match self.unknown {
            None => Word::Literal { text: self.text, raw },
            Some((why, known)) => {
                let prefix = self.text.get(..known).unwrap_or_default().to_owned();
                Word::Unknown { raw, prefix, many: self.many, why }
            }
        }
    }
}

/// Returns the index of a brace expansion.
fn brace(bare: &str) -> Option<usize> {
    let open = bare.find('{')?;
    let inside = &bare[open..];
    (inside.contains('}') && (inside.contains(',') || inside.contains(".."))).then_some(open)
}

/// Returns the index of a file name pattern.
fn glob(bare: &str) -> Option<usize> {
    let first = bare.find(['*', '?']);
    let set = bare.find('[').filter(|at| bare[*at..].contains(']'));
    match (first, set) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn double_quoted(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('\n') => {}
            Some(escaped @ ('$' | '`' | '"' | '\\')) => text.push(escaped),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

/// Decodes `$'…'`. Returns `None` if an escape is not known.
fn ansi_c(raw: &str) -> Option<String> {
    let inner = raw.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = rest.next()?;
        match escape {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            '\\' | '\'' | '"' | '?' => bytes.push(u8::try_from(escape).ok()?),
            'x' => bytes.push(u8::try_from(digits(&mut rest, 16, 2).some()?).ok()?),
            'u' | 'U' => {
                let most = if escape == 'u' { 4 } else { 8 };
                let character = char::from_u32(digits(&mut rest, 16, most).some()?)?;
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '0'..='7' => {
                let more = digits(&mut rest, 8, 2);
                let value = escape.to_digit(8)? * more.scale + more.value;
                bytes.push(u8::try_from(value & 0xff).ok()?);
            }
            _ => return None,
        }
    }
    // A NUL ends the word in the shell, which is not modeled.
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

struct Digits {
    value: u32,
    /// The radix to the power of the number of digits.
    scale: u32,
}

impl Digits {
    fn some(self) -> Option<u32> {
        (self.scale > 1).then_some(self.value)
    }
}

fn digits(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> Digits {
    let mut digits = Digits { value: 0, scale: 1 };
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
        digits.value = digits.value.wrapping_mul(radix).wrapping_add(digit);
        digits.scale = digits.scale.saturating_mul(radix);
        rest.next();
    }
    digits
}
