//! What a word may mean: the files and hosts that are in an argument, and the texts that a word
//! with variables, braces or patterns may become.

use crate::shell::{Analysis, Command, Word};

/// More spellings of one word than this are not looked at one by one.
const MAX_SPELLINGS: usize = 32;

/// The texts in an argument that may name a file: `--file=x`, `-fx`, `@x`, `HEAD:x`, `a=@x;b`.
pub(super) fn pieces(argument: &str) -> Vec<&str> {
    let mut pieces = vec![argument];
    if let Some(rest) = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
        let mut value = rest.chars();
        value.next();
        pieces.extend([value.as_str(), value.as_str().trim_start_matches('@')]);
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

/// Variables that the script sets to a text it shows.
pub(super) fn variables(analysis: &Analysis) -> Vec<(String, String)> {
    let assignments = analysis.commands.iter().flat_map(|command| &command.assignments);
    let all = assignments.chain(&analysis.loops);
    let known = all.flat_map(|a| {
        let name = a.name.split('[').next().unwrap_or_default();
        let values: Vec<&str> = match &a.value {
            Word::Literal { text, .. } => vec![text],
            // The elements of an array, each for itself.
            Word::Unknown { raw, .. } if raw.starts_with('(') && !raw.contains(['$', '`']) => {
                let elements = raw.trim_matches(['(', ')']).split_whitespace();
                let bare = elements.map(|e| e.split_once("]=").map_or(e, |(_, value)| value));
                bare.map(|element| element.trim_matches(['\'', '"'])).collect()
            }
            // A pattern, which is looked at like one that stands where the variable does.
            Word::Unknown { raw, .. } if !raw.contains(['$', '`', '\'', '"', '\\', '(']) => {
                vec![raw]
            }
            Word::Unknown { .. } => vec![],
        };
        let one = |value: &str| (name.to_owned(), value.to_owned());
        values.into_iter().map(one).collect::<Vec<_>>()
    });
    let mut known: Vec<(String, String)> = known.take(MAX_SPELLINGS).collect();
    // `x+=b` after `x=a` is `ab`.
    for at in 0..known.len() {
        let Some(name) = known[at].0.strip_suffix('+').map(str::to_owned) else { continue };
        let more = known[at].1.clone();
        let before = known[..at].iter().filter(|(n, _)| *n == name).map(|(_, v)| v.clone());
        let joined: Vec<_> = before.map(|value| (name.clone(), value + &more)).collect();
        known.splice(at..=at, joined.first().cloned().or(Some((name, more))));
        known.extend(joined.into_iter().skip(1).take(MAX_SPELLINGS));
    }
    known
}

/// Variables that the script sets to what others are.
pub(super) fn copies(analysis: &Analysis, known: &[(String, String)]) -> Vec<(String, String)> {
    let assignments = analysis.commands.iter().flat_map(|command| &command.assignments);
    let with = assignments.filter(|a| a.value.literal().is_none() && a.value.raw().contains('$'));
    let copied = with.flat_map(|a| {
        let values = spellings(&a.value, known).unwrap_or_default();
        values.into_iter().map(|value| (a.name.clone(), value))
    });
    copied.take(MAX_SPELLINGS).collect()
}

/// What a word may become, with patterns left as they are. `None` if that is not known.
pub(super) fn spellings(word: &Word, variables: &[(String, String)]) -> Option<Vec<String>> {
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
            let values = variables.iter().filter(|(known, _)| known == name);
            let mut any = false;
            for (_, value) in values {
                // A value is not looked at again.
                open.push(format!("{before}{}{after}", value.replace('$', "\u{0}")));
                any = true;
            }
            if !any {
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

/// A word with `*` for each part that is not known, if its last name is known in part.
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

/// The commands that one becomes with what its words may become, if that is known and few.
pub(super) fn commands(command: &Command, variables: &[(String, String)]) -> Vec<Command> {
    if command.words.iter().all(|word| word.literal().is_some()) {
        return vec![];
    }
    let mut all: Vec<Vec<Word>> = vec![vec![]];
    for word in &command.words {
        let spelled = spellings(word, variables).filter(|texts| !texts.is_empty());
        // Unquoted, a value is as many words as it has.
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
        // Braces are words beside each other; taking them one by one is enough for a rule.
        all = all
            .iter()
            .flat_map(|before| options.iter().map(move |more| [&before[..], more].concat()))
            .collect();
    }
    let commands = all.into_iter().map(|words| Command { words, ..command.clone() });
    commands.filter(|spelled| spelled.words != command.words).collect()
}

/// The first `{a,b}` of a text, apart.
fn braces(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    // The innermost: the last opening one before the first closing one.
    let close = text.find('}')?;
    let open = text[..close].rfind('{')?;
    let inside = &text[open + 1..close];
    inside.contains(',').then(|| (&text[..open], inside.split(',').collect(), &text[close + 1..]))
}

/// The names in an argument that may be hosts.
pub(super) fn names(argument: &str) -> impl Iterator<Item = &str> {
    let apart = |c: char| "/@:,=[];?#\\".contains(c);
    argument.split(apart).filter(|name| name.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn files_in_arguments() {
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
        assert!(pieces("-é").len() < 3);
    }

    #[test]
    fn what_words_may_become() {
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
