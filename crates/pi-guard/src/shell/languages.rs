//! Scripts in small languages: whether they can run programs or write files.

use super::word::Word;
use crate::programs::takes_value;

/// Long options of sed that neither run programs nor read scripts.
const SED_OPTIONS: &str = "--quiet --silent --in-place --regexp-extended --null-data --debug";
/// Commands of sed without arguments that have no effect outside of it.
const INERT: &str = "pdqQnNDGHhgxPl={}zF";

/// Returns the indices of words with variables that must be numbers, or `None` if the sed script
/// may run programs or write files.
pub(super) fn sed_numbers(words: &[Word]) -> Option<Vec<usize>> {
    let mut variables = Vec::new();
    let mut scripts = 0;
    let mut next = false;
    let mut first = None;
    let numbered: Vec<Option<String>> = words.iter().map(with_numbers).collect();
    for (at, (word, numbers)) in words.iter().zip(&numbered).enumerate().skip(1) {
        let Some(text) = word.literal().or(numbers.as_deref()) else {
            if next || word.may_be_option() && scripts == 0 && first.is_none() {
                return None;
            }
            continue;
        };
        if numbers.is_some() && (next || scripts == 0 && first.is_none()) {
            variables.push(at);
        }
        let script = if std::mem::take(&mut next) {
            Some(text)
        } else if let Some(script) = text.strip_prefix("--expression=") {
            Some(script)
        } else if text.starts_with("--") && text.len() > 2 {
            takes_value(SED_OPTIONS, text)?;
            None
        } else if text.starts_with('-') && text.len() > 1 {
            // `-i` takes the rest of the word; `-e` too, or the next word.
            let letters = &text[1..text.find('i').map_or(text.len(), |at| at + 1)];
            if letters.contains('f') || letters.contains('l') {
                return None;
            }
            match letters.split_once('e') {
                Some((_, "")) => {
                    next = true;
                    None
                }
                Some((_, script)) => Some(script),
                None => None,
            }
        } else {
            first.get_or_insert(text);
            None
        };
        if let Some(script) = script {
            scripts += 1;
            if !only_edits(script) {
                return None;
            }
        }
    }
    // Without `-e`, the first operand is the script.
    if next || scripts == 0 && first.is_some_and(|script| !only_edits(script)) {
        return None;
    }
    Some(variables)
}

/// Returns a word with numbers in place of its variables and calculations: `"$((n - 5)),${m}p"`.
fn with_numbers(word: &Word) -> Option<String> {
    let Word::Unknown { raw, .. } = word else { return None };
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once('$') {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = if let Some(calculated) = after.strip_prefix("((") {
            let (calculated, after) = calculated.split_once("))")?;
            if !calculated.chars().all(|c| plain(c) || " +-*".contains(c)) {
                return None;
            }
            ("n", after)
        } else if let Some(braced) = after.strip_prefix('{') {
            braced.split_once('}')?
        } else {
            after.split_at(after.find(|c: char| !plain(c)).unwrap_or(after.len()))
        };
        // `$p`, `$!d`: the last line.
        if name.is_empty()
            || !name.chars().all(plain)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            return None;
        }
        text.push_str(before);
        text.push('1');
        rest = after;
    }
    text.push_str(rest);
    let only_a_variable = text.chars().all(|c| c == '1');
    (!only_a_variable && !text.contains(['`', '"', '\\'])).then_some(text)
}

/// Returns true if a sed script only edits its input.
fn only_edits(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '}');
        // Skip addresses.
        loop {
            let plain = |c: char| c.is_ascii_digit() || "$,!~+ I".contains(c);
            rest = rest.trim_start_matches(plain);
            let delimiter = match rest.strip_prefix('\\') {
                Some(other) => other.chars().next(),
                None if rest.starts_with('/') => Some('/'),
                None => None,
            };
            let Some(delimiter) = delimiter else { break };
            let start = rest.find(delimiter).map_or(rest.len(), |at| at + delimiter.len_utf8());
            let Some(after) = part(&rest[start..], delimiter) else { return false };
            rest = after;
        }
        let mut characters = rest.chars();
        let Some(command) = characters.next() else { return true };
        rest = characters.as_str();
        match command {
            's' | 'y' => {
                let Some(delimiter) = characters.next() else { return false };
                let after = part(characters.as_str(), delimiter).and_then(|r| part(r, delimiter));
                let Some(after) = after else { return false };
                let end = after.find([';', '\n', '}', ' ']).unwrap_or(after.len());
                if !after[..end].chars().all(|c| c.is_ascii_digit() || "gpiIMm".contains(c)) {
                    return false;
                }
                rest = &after[end..];
            }
            // Text up to the end of the line.
            'a' | 'i' | 'c' => {
                let end = rest.find('\n').unwrap_or(rest.len());
                if rest[..end].trim_end().ends_with('\\') {
                    return false;
                }
                rest = &rest[end..];
            }
            '#' => rest = &rest[rest.find('\n').unwrap_or(rest.len())..],
            'b' | 't' | 'T' | ':' => {
                rest = rest.trim_start_matches(' ');
                rest = &rest[rest.find([';', '\n', '}', ' ']).unwrap_or(rest.len())..];
            }
            _ if INERT.contains(command) => {}
            _ => return false,
        }
    }
}

/// Returns the text after a part that ends with the delimiter.
fn part(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    let mut set = false;
    for (at, character) in text.char_indices() {
        if character == '\n' {
            return None;
        }
        // In a set, some versions of sed read the delimiter as an ordinary character.
        if !escaped && character == delimiter {
            return if set { None } else { text.get(at + character.len_utf8()..) };
        }
        set = !escaped && character == '[' || set && (escaped || character != ']');
        escaped = !escaped && character == '\\';
    }
    None
}

/// Returns true if an awk program may run programs or write files.
pub(super) fn awk_runs_programs(arguments: &[Word]) -> bool {
    const OPTIONS: &[&str] = &["-f", "-i", "-l", "-E", "-D", "-o", "-p", "-d", "--"];
    let may_run = |text: &str| {
        let text = text.replace(">=", "").replace("||", "");
        // Outside of braces these compare, or are part of a pattern.
        let blocks = text.split_once('{').map_or("", |(_, blocks)| blocks);
        ["system", "getline", "@"].iter().any(|part| text.contains(part))
            || blocks.contains('|')
            || blocks.contains('>') && !only_compares(blocks)
            || OPTIONS.iter().any(|option| text.starts_with(option))
    };
    arguments.iter().any(|word| match word {
        Word::Literal { text, .. } => may_run(text),
        // A file, if the program came before it.
        Word::Unknown { .. } => word.may_be_option() || arguments[0].literal().is_none(),
    })
}

/// Returns true if every `>` in awk's actions is between parentheses, where it compares.
fn only_compares(actions: &str) -> bool {
    // The ends of strings and patterns are not looked for.
    if actions.contains(['"', '/', '\\']) {
        return false;
    }
    let mut depth = 0_usize;
    actions.chars().all(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '>' => return depth > 0,
            _ => {}
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::analyze;

    #[test]
    fn sed_scripts_that_only_edit_are_recognized() {
        for (script, expected) in [
            ("sed s/a/b/ f", false),
            ("sed -i 's/a;b/c/g' f", false),
            ("sed -i.bak -e 's|a|b|' -e '/x/d' f", false),
            ("sed -n '/a/,/b/p;5q' f", false),
            ("sed '/^$/d; s/x/y/2' f", false),
            ("sed '1i\\text' f", false),
            ("sed -E \"s/(a)/\\\\1/\" \"$f\"", false),
            ("sed s/a/b/e f", true),
            ("sed 's/a/b/;e ls' f", true),
            ("sed '1e ls' f", true),
            ("sed '/a/e' f", true),
            ("sed '\\,a,e ls' f", true),
            ("sed 'w out' f", true),
            ("sed 's/a/b/w out' f", true),
            ("sed 's/[/]/e/e' f", true),
            ("sed -nf x f", true),
            ("sed --expression='e ls' f", true),
            ("sed -e p -e'e ls' f", true),
            ("sed \"$x\" f", true),
            ("sed -n \"$((a - 5)),$((a + 5))p\" f", false),
            ("sed -n \"$((a))e ls\" f", true),
            ("sed -n \"$((a))$x\" f", true),
            ("sed -n \"${a},${b}p\" f", false),
            ("sed \"s/a/$1/\" f", true),
            ("sed -s --fil=x f", true),
            ("sed 'p\ne ls' f", true),
            ("sed '{e ls\n}' f", true),
            ("sed ':a;e ls' f", true),
            ("sed 's/[/]/e/e' f", true),
            ("sed ':a;N;$!ba;s/x/y/g' f", false),
        ] {
            assert_eq!(
                sed_numbers(&analyze(script).commands[0].words).is_none(),
                expected,
                "{script}"
            );
        }
    }
}
