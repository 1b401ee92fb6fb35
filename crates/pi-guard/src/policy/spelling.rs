//! The possible meanings of a word: files and hosts in an argument, and the texts that a word with
//! variables, braces or patterns may become.

use crate::shell::{Analysis, Command};
use crate::word::Word;

/// The maximum number of spellings of a word that are checked.
const MAX_SPELLINGS: usize = 32;

/// The maximum number of options in a bundle after which a value is looked for.
const MAX_BUNDLE: usize = 4;

/// A variable and a value that the script gives to it.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    value: String,
}

impl Variable {
    pub(super) fn new(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), value: value.to_owned() }
    }
}

/// Returns the texts in an argument that may name a file: `--file=x`, `-fx`, `@x`, `HEAD:x`, `a=@x;b`.
pub(super) fn pieces(argument: &str) -> Vec<&str> {
    let mut pieces = vec![argument];
    if let Some(rest) = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
        // A value may follow several letters: `-uoFILE`.
        let letters = rest.char_indices().take_while(|(_, c)| c.is_ascii_alphanumeric());
        for (at, letter) in letters.take(MAX_BUNDLE) {
            let value = &rest[at + letter.len_utf8()..];
            pieces.extend([value, value.trim_start_matches('@')]);
        }
    }
    let separators = |c: char| matches!(c, '=' | '@' | ':' | ';' | ',');
    for (at, separator) in argument.match_indices(separators) {
        let rest = &argument[at + separator.len()..];
        pieces.extend([rest, rest.split(separators).next().unwrap_or_default()]);
    }
    if let Some((first, _)) = argument.split_once(separators) {
        pieces.push(first);
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces.dedup();
    pieces
}

/// Returns the variables that the script sets to literal text.
pub(super) fn variables(analysis: &Analysis) -> Vec<Variable> {
    let assignments = analysis.commands.iter().flat_map(|command| &command.assignments);
    let all = assignments.chain(&analysis.loops);
    let known = all.flat_map(|a| {
        let name = a.name.split('[').next().unwrap_or_default();
        let values: Vec<&str> = match &a.value {
            Word::Literal { text, .. } => vec![text],
            // Each element of an array is a value.
            Word::Unknown { raw, .. } if raw.starts_with('(') && !raw.contains(['$', '`']) => {
                let elements = raw.trim_matches(['(', ')']).split_whitespace();
                let bare = elements.map(|e| e.split_once("]=").map_or(e, |(_, value)| value));
                bare.map(|element| element.trim_matches(['\'', '"'])).collect()
            }
            // A pattern is checked like one in the place of the variable.
            Word::Unknown { raw, .. } if !raw.contains(['$', '`', '\'', '"', '\\', '(']) => {
                vec![raw]
            }
            Word::Unknown { .. } => vec![],
        };
        values.into_iter().map(|value| Variable::new(name, value)).collect::<Vec<_>>()
    });
    let mut known: Vec<Variable> = known.take(MAX_SPELLINGS).collect();
    // `x+=b` after `x=a` is `ab`.
    for at in 0..known.len() {
        let Some(name) = known[at].name.strip_suffix('+').map(str::to_owned) else { continue };
        let more = known[at].value.clone();
        let before = known[..at].iter().filter(|variable| variable.name == name);
        let join = |before: &Variable| Variable::new(&name, &format!("{}{more}", before.value));
        let mut joined: Vec<Variable> = before.map(join).take(MAX_SPELLINGS).collect();
        if joined.is_empty() {
            joined.push(Variable::new(&name, &more));
        }
        known[at] = joined.swap_remove(0);
        known.extend(joined);
    }
    known
}

/// Returns the variables that the script sets to the values of others.
pub(super) fn copies(analysis: &Analysis, known: &[Variable]) -> Vec<Variable> {
    let assignments = analysis.commands.iter().flat_map(|command| &command.assignments);
    let with = assignments.filter(|a| a.value.literal().is_none() && a.value.raw().contains('$'));
    let copied = with.flat_map(|a| {
        let values = spellings(&a.value, known).unwrap_or_default();
        values.into_iter().map(|value| Variable::new(&a.name, &value))
    });
    copied.take(MAX_SPELLINGS).collect()
}

/// Returns the texts that an unknown word may become, patterns included, or `None` if these are not
/// known.
pub(super) fn spellings(word: &Word, variables: &[Variable]) -> Option<Vec<String>> {
    let Word::Unknown { raw, .. } = word else { return None };
    if raw.contains(['`', '\\', '\'', '(']) {
        return None;
    }
    let mut done = Vec::new();
    let mut open = vec![raw.replace('"', "")];
    while let Some(text) = open.pop() {
        if done.len() + open.len() > MAX_SPELLINGS || text.len() > 4096 {
            return None;
        }
        if let Some(at) = text.find('$') {
            let (before, rest) = (&text[..at], &text[at + 1..]);
            let (name, after) = match rest.strip_prefix('{') {
                Some(braced) => braced.split_once('}')?,
                None => {
                    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                    rest.split_at(end.unwrap_or(rest.len()))
                }
            };
            let name = name.split('[').next().unwrap_or(name);
            let count = open.len();
            for variable in variables.iter().filter(|variable| variable.name == name) {
                // A value is not expanded again.
                let value = variable.value.replace('$', "\u{0}");
                open.push(format!("{before}{value}{after}"));
            }
            if open.len() == count {
                return None;
            }
        } else if let Some((before, alternatives, after)) = braces(&text) {
            open.extend(alternatives.iter().map(|part| format!("{before}{part}{after}")));
        } else if !done.contains(&text) {
            done.push(text);
        }
    }
    Some(done)
}

/// Returns a word with `*` for each unknown part, if its last component is known in part.
pub(super) fn with_any(raw: &str) -> Option<String> {
    if raw.contains(['`', '\\', '\'']) || !raw.contains('$') {
        return None;
    }
    let mut text = String::new();
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        text.push('*');
        rest = match after.chars().next()? {
            open @ ('{' | '(') => {
                let close = if open == '{' { '}' } else { ')' };
                let mut depth = 0_usize;
                let end = after.find(|c: char| {
                    depth += usize::from(c == open);
                    depth -= usize::from(c == close && depth > 0);
                    depth == 0
                })?;
                &after[end + 1..]
            }
            first if first.is_ascii_alphabetic() || first == '_' => {
                after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
            }
            other => &after[other.len_utf8()..],
        };
    }
    text.push_str(rest);
    let text = text.replace('"', "");
    let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let known = last.chars().any(|c| !matches!(c, '*' | '?' | '.')) || last.starts_with(".*");
    (known && last.contains('*') || text.contains("/.")).then_some(text)
}

/// Returns the commands that a command with unknown words may become, if these are few.
pub(super) fn commands(command: &Command, variables: &[Variable]) -> Vec<Command> {
    if command.words.iter().all(|word| word.literal().is_some()) {
        return vec![];
    }
    let mut all: Vec<Vec<Word>> = vec![vec![]];
    for word in &command.words {
        let spelled = spellings(word, variables).filter(|texts| !texts.is_empty());
        // Without quotes, a value is split into words.
        let options: Vec<Vec<Word>> = match spelled {
            Some(texts) if word.raw().contains('$') || !word.raw().contains(['*', '?', '[']) => {
                texts
                    .iter()
                    .map(|text| match word.raw().contains('"') {
                        true => vec![Word::plain(text)],
                        false => text.split_whitespace().map(Word::plain).collect(),
                    })
                    .collect()
            }
            _ => vec![vec![word.clone()]],
        };
        if all.len() * options.len() > MAX_SPELLINGS {
            return vec![];
        }
        // Alternatives in braces are all passed; for a rule, checking each alone is enough.
        all = all
            .iter()
            .flat_map(|before| options.iter().map(move |more| [&before[..], more].concat()))
            .collect();
    }
    let commands = all.into_iter().map(|words| Command { words, ..command.clone() });
    commands.filter(|spelled| spelled.words != command.words).collect()
}

/// Splits a text at its first `{a,b}`.
fn braces(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    // The innermost braces: the last `{` before the first `}`.
    let close = text.find('}')?;
    let open = text[..close].rfind('{')?;
    let inside = &text[open + 1..close];
    inside.contains(',').then(|| (&text[..open], inside.split(',').collect(), &text[close + 1..]))
}

/// Returns the names in an argument that may be hosts.
pub(super) fn names(argument: &str) -> impl Iterator<Item = &str> {
    let apart = |c: char| "/@:,=[];?#\\".contains(c);
    argument.split(apart).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn arguments_are_split_into_files() {
        for (argument, expected) in [
            (".env", vec![".env"]),
            ("-f.env", vec!["-f.env", ".env"]),
            ("-d@.env", vec!["-d@.env", "@.env", ".env", "-d"]),
            ("--file=.env", vec!["--file=.env", ".env", "--file"]),
            ("HEAD:.env", vec!["HEAD:.env", ".env", "HEAD"]),
        ] {
            assert_eq!(pieces(argument), expected);
        }
        assert!(pieces("file=@.env;type=x").contains(&".env"));
        assert!(pieces("-uolocked/x").contains(&"locked/x"));
        assert!(pieces("-é").len() < 3);
    }

    #[test]
    fn unknown_words_have_spellings() {
        for (script, expected) in [
            ("f=.env; head $f", Some(vec![".env"])),
            ("x=.en; head \"./${x}v\"", Some(vec!["./.env"])),
            ("head .{env,b}", Some(vec![".b", ".env"])),
            ("head .{e{n,}v,b}", Some(vec![".b", ".ev", ".env"])),
            ("head .e*", Some(vec![".e*"])),
            ("head $y", None),
            ("head $(x)", None),
        ] {
            let analysis = shell::analyze(script);
            let word = analysis.commands.last().unwrap().words.last().unwrap().clone();
            let found = spellings(&word, &variables(&analysis));
            let sort = |mut texts: Vec<String>| {
                texts.sort();
                texts
            };
            let expected = expected.map(|e| sort(e.into_iter().map(str::to_owned).collect()));
            assert_eq!(found.map(sort), expected, "{script}");
        }
    }
}
