//! Scripts in small languages: whether they can run programs or write files.

use crate::programs::takes_value;
use crate::word::Word;

/// Long options of sed that neither run programs nor read scripts.
const SED_OPTIONS: &str = "--quiet --silent --in-place --regexp-extended --null-data --debug";
/// Commands of sed without arguments that have no effect outside of it.
const INERT: &str = "pdqQnNDGHhgxP=";

/// Returns true if a call of sed may run programs or write other files than it edits.
pub(super) fn sed_runs_programs(words: &[Word]) -> bool {
    sed_scripts(words).is_none_or(|scripts| !scripts.iter().all(|script| only_edits(script)))
}

/// Returns the scripts of a call of sed, if all of them are known.
fn sed_scripts(words: &[Word]) -> Option<Vec<&str>> {
    let mut scripts = Vec::new();
    let mut first = None;
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(text) = word.literal() else {
            if scripts.is_empty() && first.is_none() {
                return None;
            }
            continue;
        };
        if let Some(script) = text.strip_prefix("--expression=") {
            scripts.push(script);
        } else if text.starts_with("--") && text.len() > 2 {
            takes_value(SED_OPTIONS, text)?;
        } else if text.starts_with('-') && text.len() > 1 {
            // `-i` takes the rest of the word; `-e` too, or the next word.
            let letters = &text[1..text.find('i').map_or(text.len(), |at| at + 1)];
            let (flags, script) = match letters.split_once('e') {
                Some((flags, "")) => (flags, Some(rest.next()?.literal()?)),
                Some((flags, _)) => (flags, text.split_once('e').map(|(_, script)| script)),
                None => (letters, None),
            };
            if !flags.chars().all(|c| "nErsuzi".contains(c)) {
                return None;
            }
            scripts.extend(script);
        } else {
            first.get_or_insert(text);
        }
    }
    // Without `-e`, the first operand is the script.
    if scripts.is_empty() {
        scripts.extend(first);
    }
    Some(scripts)
}

/// Returns true if a sed script consists of addresses, substitutions and commands that only print,
/// delete or keep lines.
fn only_edits(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$,!~+ I".contains(c));
            let Some(address) = rest.strip_prefix('/') else { break };
            let Some(after) = part(address, '/') else { return false };
            rest = after;
        }
        let mut characters = rest.chars();
        rest = match characters.next() {
            None => return true,
            Some('{') => continue,
            Some('s') => {
                let delimiter = characters.next().filter(|c| "/|,#:@!%_".contains(*c));
                let Some(delimiter) = delimiter else { return false };
                let after = part(characters.as_str(), delimiter).and_then(|r| part(r, delimiter));
                let Some(flags) = after else { return false };
                flags.trim_start_matches(|c: char| c.is_ascii_digit() || "gpI".contains(c))
            }
            Some(command) if INERT.contains(command) => characters.as_str(),
            Some(_) => return false,
        };
        if !rest.is_empty() && !rest.starts_with([' ', ';', '\n', '}']) {
            return false;
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

/// Returns true if an awk program may run programs, connect or write files.
pub(super) fn awk_runs_programs(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.literal() {
            Some("-F" | "-v") => {
                rest.next();
            }
            Some(text) if text.starts_with("-F") || text.starts_with("-v") => {}
            Some(program) if !program.starts_with('-') => {
                let is_network = |word: &Word| word.raw().contains("/inet");
                let may_be_option = |word: &Word| {
                    word.literal()
                        .map_or(word.may_be_option() && word.raw().starts_with('-'), |t| {
                            t.starts_with('-')
                        })
                };
                return awk_program_runs(program)
                    || rest.any(|word| is_network(word) || may_be_option(word));
            }
            _ => return true,
        }
    }
    true
}

fn awk_program_runs(program: &str) -> bool {
    let text = program.replace(">=", "").replace("||", "");
    // Outside of braces these compare, or are part of a pattern.
    let blocks = text.split_once('{').map_or("", |(_, blocks)| blocks);
    let words = ["system", "getline", "ARGV", "inet", "@", "#", "\\\n"];
    words.iter().any(|word| text.contains(word))
        || blocks.contains('|')
        || blocks.contains('>') && !only_compares(blocks)
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
