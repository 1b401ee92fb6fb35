//! Text that the shell evaluates a second time.
//!
//! In arithmetic, in subscripts and where a builtin expects the name of a variable, bash evaluates
//! the *values* of variables and runs the substitutions in them: with `x='a[$(rm y)]'`, `$((x))`
//! runs rm, and quotes make no difference. So such a text is harmless only if, without its quotes,
//! it consists of numbers, operators and variables that the script shows to be numbers. A variable
//! that the script does not set may have any value.

use super::variables;
use crate::programs;
use crate::word::Word;

/// The variables of a script that are numbers, and those whose value is evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evaluation {
    /// Variables that are set to a number.
    numbers: Vec<String>,
    /// Variables that are set to something that may not be a number.
    texts: Vec<String>,
    /// Variables that are set to a number if another variable is one.
    copies: Vec<(String, String)>,
    /// Variables whose value is evaluated.
    evaluated: Vec<String>,
    /// Variables that are arrays, and variables that a declaration sets to text: for an array, the
    /// declaration evaluates the text as a list.
    arrays: Vec<String>,
    declared: Vec<String>,
}

impl Evaluation {
    /// Notes that a variable is set to a word.
    pub(super) fn assign(&mut self, name: &str, value: &Word) {
        if name.contains('[') || value.raw().starts_with('(') {
            self.array(name);
        }
        let name = name.split(['[', '+']).next().unwrap_or(name).to_owned();
        let used = match value {
            Word::Literal { text, .. } => {
                let is_number =
                    text.chars().all(|c| c.is_ascii_digit() || " +-*/%.:,_".contains(c));
                is_number.then(Vec::new)
            }
            Word::Unknown { raw, .. } => scan(raw, false).map(|scan| scan.used),
        };
        match used {
            Some(used) => {
                self.copies.extend(used.into_iter().map(|from| (name.clone(), from)));
                self.numbers.push(name);
            }
            None => self.texts.push(name),
        }
    }

    /// Notes that a variable is an array.
    pub(super) fn array(&mut self, name: &str) {
        self.arrays.push(name.split(['[', '+']).next().unwrap_or(name).to_owned());
    }

    /// Notes that a declaration sets a variable to text.
    pub(super) fn declare(&mut self, name: &str) {
        self.declared.push(name.split(['[', '+']).next().unwrap_or(name).to_owned());
    }

    /// Notes that a variable is set to an unknown value.
    pub(super) fn fill(&mut self, name: &str) {
        self.texts.push(name.split(['[', '=']).next().unwrap_or(name).to_owned());
    }

    /// Notes that text is evaluated as arithmetic. Returns the variables that it uses or sets, or
    /// `None` if it may run something with any values of its variables.
    #[must_use]
    pub(super) fn evaluate(&mut self, text: &str) -> Option<Vec<String>> {
        let Scan { used, set } = scan(text, true)?;
        self.evaluated.extend(used.iter().cloned());
        self.numbers.extend(set.iter().cloned());
        Some([used, set].concat())
    }

    /// Returns true if a value is evaluated that is not shown to be a number.
    pub(super) fn is_dangerous(&self) -> bool {
        if self.declared.iter().any(|name| self.arrays.contains(name)) {
            return true;
        }
        let mut texts = self.texts.clone();
        let is_number = |name: &String, texts: &[String]| {
            let is_set = self.numbers.contains(name) && !texts.contains(name);
            variables::is_counter(name) || is_set && !variables::is_of_shell(name)
        };
        // Each iteration but the last adds at least one name.
        loop {
            let copied: Vec<String> = self
                .copies
                .iter()
                .filter(|(to, from)| !texts.contains(to) && !is_number(from, &texts))
                .map(|(to, _)| to.clone())
                .collect();
            if copied.is_empty() {
                return self.evaluated.iter().any(|name| !is_number(name, &texts));
            }
            texts.extend(copied);
        }
    }
}

/// The variables in a text that is a number, or arithmetic, if they are numbers.
#[derive(Default)]
struct Scan {
    used: Vec<String>,
    set: Vec<String>,
}

/// Reads a text of numbers, operators, variables and substitutions that print numbers. In
/// arithmetic, names are variables too. Returns `None` for every other text.
fn scan(text: &str, arithmetic: bool) -> Option<Scan> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut scan = Scan::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            // `0x1f`, `16#ff`
            rest = rest.trim_start_matches(|c: char| is_name(c) || "@#".contains(c));
        } else if is_name(first) {
            if !arithmetic {
                return None;
            }
            let (name, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
            let next = after.trim_start();
            let is_set = next.starts_with('=') && !next.starts_with("==");
            let names = if is_set { &mut scan.set } else { &mut scan.used };
            names.push(name.to_owned());
            rest = after;
        } else if let Some(after) = rest.strip_prefix('$') {
            rest = scan_expansion(after, arithmetic, &mut scan)?;
        } else if let Some(after) = rest.strip_prefix("\\\n") {
            rest = after;
        } else {
            let operators =
                if arithmetic { "+-*/%<>=!&|^~?:,;()[].\"' \t\n" } else { "+-/%.:,()\" \t\n" };
            rest = rest.strip_prefix(|c| operators.contains(c))?;
        }
    }
    Some(scan)
}

/// Reads what follows a `$`, and returns the text after it.
fn scan_expansion<'t>(after: &'t str, arithmetic: bool, scan: &mut Scan) -> Option<&'t str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match after.chars().next()? {
        // The inside is arithmetic.
        '[' => Some(after),
        '(' if after.starts_with("((") => {
            let (inside, rest) = enclosed(after, '(', ')')?;
            let inner = self::scan(inside, true)?;
            // The value is a number; the walk checks the variables in their place, except in text.
            if arithmetic {
                scan.used.extend(inner.used);
            }
            Some(rest)
        }
        '(' => {
            let (inside, rest) = enclosed(after, '(', ')')?;
            prints_number(inside).then_some(rest)
        }
        '{' => {
            let (inside, rest) = enclosed(after, '{', '}')?;
            // A length is always a number.
            if inside.starts_with('#')
                && inside[1..].chars().all(|c| is_name(c) || "[@*]".contains(c))
            {
                return Some(rest);
            }
            let (name, index) = inside.split_once('[').unwrap_or((inside, "]"));
            let index = index.strip_suffix(']')?;
            if !super::builtins::is_plain_name(name) {
                return None;
            }
            scan.used.push(name.to_owned());
            scan.used.extend(self::scan(index, true)?.used);
            Some(rest)
        }
        '?' | '#' | '$' | '!' => after.get(1..),
        first if is_name(first) && !first.is_ascii_digit() => {
            let (name, rest) = after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()));
            scan.used.push(name.to_owned());
            Some(rest)
        }
        _ => None,
    }
}

/// Splits a text that begins with an opening bracket into its inside and what follows.
pub(super) fn enclosed(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        depth += usize::from(character == open);
        if character == close {
            depth -= 1;
            if depth == 0 {
                return Some((&text[1..at], &text[at + 1..]));
            }
        }
    }
    None
}

/// Returns true if a script prints a number and nothing else.
fn prints_number(script: &str) -> bool {
    // A search that counts no match fails; then the alternative is printed.
    let script = script.trim();
    let otherwise = ["|| true", "||true", "|| :", "|| echo 0", "||echo 0"];
    let script = otherwise.iter().find_map(|end| script.strip_suffix(end)).unwrap_or(script);
    let script = script.trim_end().trim_end_matches("2>/dev/null").trim_end_matches("2> /dev/null");
    // With these characters, words may not be words and bars may not be pipes.
    if script.contains([';', '&', '\n', '`', '(', '\\', '#', '{']) || script.contains("||") {
        return false;
    }
    let last = script.rsplit('|').next().unwrap_or_default();
    let is_split = |part: &str| !part.matches(['\'', '"']).count().is_multiple_of(2);
    if script.contains('|') && script.split('|').any(is_split) {
        return false;
    }
    // A file that is read through the shell is not an argument.
    let (command, file) = last.split_once('<').unwrap_or((last, "f"));
    if file.split_whitespace().count() != 1 {
        return false;
    }
    let word = |text: &str| {
        let quotes = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
        let inside = quotes('\'').or_else(|| quotes('"')).unwrap_or(text);
        let is_literal = !inside.contains(['$', '\'', '"'])
            && (inside.len() < text.len() || !inside.contains(['*', '?', '[']));
        if is_literal { Word::plain(inside) } else { Word::unknown(text, "an expansion") }
    };
    programs::prints_number(&command.split_whitespace().map(word).collect::<Vec<_>>())
}
