//! Builtins and expansions that set variables by name or evaluate text a second time.

use super::evaluate::enclosed;
use super::uncertainty::Uncertainty;
use super::variables::{self, Effect, Extent};
use super::{Analysis, Assignment};
use crate::programs::{self, Builtin, Trait};
use crate::word::Word;

/// Comparisons of numbers and of other things.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
const BINARY: &[&str] = &["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"];
/// Settings of the shell that do not change the meaning of a script.
const HARMLESS: &str = "nullglob globstar dotglob failglob nocaseglob lastpipe inherit_errexit \
    extglob checkwinsize pipefail errexit nounset xtrace noglob noclobber verbose errtrace functrace \
    monitor notify noexec";

/// Checks the arguments of a builtin.
pub(super) fn check(builtin: Builtin, base: &str, words: &[Word], analysis: &mut Analysis) {
    let is_known = match builtin {
        Builtin::Set | Builtin::ShOpt => return settings(builtin, base, words, analysis),
        Builtin::Test => test(words, analysis),
        Builtin::Declare => declare(base, words, analysis),
        Builtin::Let => words
            .iter()
            .all(|word| evaluate(word.literal().unwrap_or_else(|| word.raw()), analysis)),
        Builtin::Printf => printf(words, analysis),
        Builtin::Read => options(words, "ers", "adinNptu").is_some_and(|(given, names)| {
            let array = given.iter().filter(|(letter, _)| *letter == 'a').map(|(_, name)| name);
            array.chain(&names).all(|name| sets(name, analysis))
        }),
        Builtin::MapFile => options(words, "t", "dnOsu")
            .is_some_and(|(_, names)| names.iter().all(|name| sets(name, analysis))),
        Builtin::GetOpts => words.get(1).is_some_and(|name| sets(name, analysis)),
        Builtin::Unset => options(words, "fv", "")
            .is_some_and(|(_, names)| names.iter().all(|name| sets(name, analysis))),
        Builtin::Wait => options(words, "fn", "p").is_some_and(|(given, jobs)| {
            let is_job = |word: &Word| word.literal().is_some() || evaluate(word.raw(), analysis);
            jobs.iter().all(is_job) && given.iter().all(|(_, name)| sets(name, analysis))
        }),
    };
    if !is_known {
        analysis.note(Uncertainty::Hidden);
    }
}

/// Splits the arguments of a builtin into options, some of which have a value, and operands.
/// Returns `None` if that depends on words that are unknown.
fn options(words: &[Word], flags: &str, valued: &str) -> Option<(Vec<(char, Word)>, Vec<Word>)> {
    let mut given = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.clone().next() {
        let text = match word.literal() {
            Some("--") => {
                rest.next();
                break;
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => text,
            None if word.may_be_option() => {
                // A number of a process.
                let is_variable = word.raw().trim_start_matches('"').starts_with('$');
                if !is_variable || !valued.starts_with('p') {
                    return None;
                }
                break;
            }
            _ => break,
        };
        rest.next();
        let mut letters = text[1..].chars();
        while let Some(letter) = letters.next() {
            if valued.contains(letter) {
                let attached = letters.as_str();
                let value = match attached {
                    "" => rest.next()?.clone(),
                    value => Word::plain(value),
                };
                given.push((letter, value));
                break;
            }
            if !flags.contains(letter) {
                return None;
            }
        }
    }
    Some((given, rest.cloned().collect()))
}

/// Notes that a builtin sets the variable with this name. Returns false if the name may be
/// evaluated.
fn sets(name: &Word, analysis: &mut Analysis) -> bool {
    let Some(text) = name.literal() else { return false };
    let is_name = is_reference(text, analysis);
    if is_name {
        analysis.evaluation.fill(text);
        analysis.evaluation.array(text);
        check_variable(text, analysis);
    }
    is_name
}

/// Notes that a variable is set which may decide what runs.
pub(super) fn check_variable(name: &str, analysis: &mut Analysis) {
    let name = name.split(['[', '=', '+']).next().unwrap_or(name);
    if variables::is_used(name) {
        analysis.note(Uncertainty::Variable(name.to_owned()));
    }
}

/// Notes an assignment. Returns a command that it makes another program run.
pub(super) fn assign(
    assignment: &Assignment,
    extent: Extent,
    analysis: &mut Analysis,
) -> Option<String> {
    analysis.evaluation.assign(&assignment.name, &assignment.value);
    match variables::effect(assignment, extent) {
        Effect::None => {}
        Effect::Runs(command) => return Some(command),
        Effect::Unknown => {
            let name = assignment.name.trim_end_matches('+').to_owned();
            analysis.note(Uncertainty::Variable(name));
        }
    }
    None
}

/// Checks an assignment of a declaration, whose value is a list if the variable is an array.
pub(super) fn declared(assignment: &Assignment, words: &[Word], analysis: &mut Analysis) {
    let is_array = has_option(words, &['a', 'A']);
    match &assignment.value {
        Word::Literal { text, .. } if !text.starts_with('(') => {}
        Word::Unknown { raw, .. } if raw.starts_with('(') => {}
        Word::Unknown { .. } if !is_array => analysis.evaluation.declare(&assignment.name),
        _ => analysis.note(Uncertainty::Hidden),
    }
    if is_array {
        analysis.evaluation.array(&assignment.name);
    }
}

fn has_option(words: &[Word], letters: &[char]) -> bool {
    let mut literals = words.iter().filter_map(Word::literal);
    literals.any(|text| text.starts_with('-') && text.contains(letters))
}

/// Returns true if a declaration also exports its variables.
pub(super) fn exports(base: &str, words: &[Word]) -> bool {
    programs::find(base).has(Trait::SetsVariables) || has_option(words, &['x'])
}

/// Checks the words of a declaration that the grammar does not read as assignments.
fn declare(base: &str, words: &[Word], analysis: &mut Analysis) -> bool {
    let extent = if exports(base, words) { Extent::Exported } else { Extent::Shell };
    words.iter().all(|word| {
        let known = match word {
            Word::Literal { text, .. } => text,
            Word::Unknown { prefix, .. } => prefix,
        };
        if known.starts_with(['-', '+']) {
            // Integers are evaluated whenever they are set, references are other variables.
            return word.literal().is_some()
                && known[1..].chars().all(|c| "aAfFglprtux".contains(c));
        }
        let (name, value) = match known.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if word.literal().is_some() => (known.as_str(), None),
            None => return false,
        };
        if !is_reference(name.trim_end_matches('+'), analysis) {
            return false;
        }
        if has_option(words, &['a', 'A']) {
            analysis.evaluation.array(name);
        }
        let value = match value {
            // A text that is assigned to an array is evaluated.
            Some(value) if value.starts_with('(') || word.literal().is_none() => return false,
            Some(value) => Word::plain(value),
            None if extent == Extent::Shell => return true,
            None => Word::unknown("\\", "a variable"),
        };
        let assignment = Assignment { name: name.to_owned(), value };
        assign(&assignment, extent, analysis).is_none()
    })
}

fn printf(words: &[Word], analysis: &mut Analysis) -> bool {
    let Some((given, rest)) = options(words, "", "v") else { return false };
    let Some((format, arguments)) = rest.split_first() else { return true };
    // `%n` sets the variable that its argument names.
    let sets_variable = |format: &str| {
        format.split('%').skip(1).any(|conversion| {
            let letter =
                conversion.trim_start_matches(|c: char| !c.is_ascii_alphabetic() && c != '(');
            letter.trim_start_matches(['h', 'l', 'L', 'j', 'z', 't']).starts_with('n')
        })
    };
    let is_harmless = match format.literal() {
        Some(format) => !sets_variable(format),
        None => arguments.is_empty(),
    };
    is_harmless && given.iter().all(|(_, name)| sets(name, analysis))
}

/// Checks a test by `test` or `[`, whose operators may be the values of variables.
fn test(words: &[Word], analysis: &mut Analysis) -> bool {
    // A word that is split may become several, operators included.
    let is_one = |word: &Word, analysis: &mut Analysis| match word {
        Word::Literal { text, .. } => !(text.contains('[') && text.contains(['$', '`'])),
        Word::Unknown { many, raw, .. } => !many || evaluate(raw, analysis),
    };
    if !words.iter().all(|word| is_one(word, analysis)) {
        return false;
    }
    let words = words.strip_suffix(&[Word::plain("]")]).unwrap_or(words);
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let operator = after.first().and_then(Word::literal).unwrap_or_default();
        if after.len() > 1 && (BINARY.contains(&operator) || NUMERIC.contains(&operator)) {
            rest = &after[2..];
            continue;
        }
        rest = match word.literal() {
            Some("-v" | "-R") => {
                let name = after.first().and_then(Word::literal);
                if !name.is_some_and(|name| is_reference(name, analysis)) {
                    return false;
                }
                &after[1..]
            }
            Some("!" | "(" | ")" | "-a" | "-o") => after,
            Some(text) if text.starts_with('-') && text.len() == 2 => {
                after.get(1..).unwrap_or_default()
            }
            Some(_) => after,
            // Alone, it is not an operator.
            None if after.is_empty() => after,
            None => return false,
        };
    }
    true
}

/// Checks the text of `[ … ]` or `[[ … ]]`.
pub(super) fn condition(text: &str, analysis: &mut Analysis) {
    let Some(parts) = split(text) else { return analysis.note(Uncertainty::Hidden) };
    if !text.starts_with("[[") {
        let words: Vec<Word> = parts[1..].iter().map(|part| read(part)).collect();
        if !test(&words, analysis) {
            analysis.note(Uncertainty::Hidden);
        }
        return;
    }
    for (at, part) in parts.iter().enumerate() {
        let next = parts.get(at + 1).copied().unwrap_or("\\");
        let is_harmless = match part.replace(['"', '\'', '\\'], "").as_str() {
            // Both sides are evaluated.
            operator if NUMERIC.contains(&operator) => {
                at > 0 && evaluate(parts[at - 1], analysis) && evaluate(next, analysis)
            }
            "-v" | "-R" => is_reference(next, analysis),
            _ => true,
        };
        if !is_harmless {
            analysis.note(Uncertainty::Hidden);
        }
    }
}

/// Splits the text of a test into words and parentheses. Returns `None` if a quote is not closed.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut closing: Vec<char> = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let quote = closing.last().copied().filter(|c| matches!(c, '\'' | '"' | '`'));
        let next = characters.peek().map(|(_, next)| *next);
        match character {
            '\\' if quote != Some('\'') => {
                characters.next();
            }
            _ if closing.last() == Some(&character) => {
                closing.pop();
            }
            _ if quote == Some('\'') => {}
            '\'' if quote != Some('"') => closing.push('\''),
            '"' | '`' => closing.push(character),
            '$' if matches!(next, Some('(' | '{')) => {
                closing.push(if next == Some('(') { ')' } else { '}' });
                characters.next();
            }
            '(' if !closing.is_empty() && quote.is_none() => closing.push(')'),
            '(' | ')' | ' ' | '\t' | '\n' if closing.is_empty() => {
                parts.push(&text[start..at]);
                parts.push(&text[at..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    closing.is_empty().then_some(parts)
}

/// Reads a word of a test.
fn read(raw: &str) -> Word {
    if !raw.contains(['$', '`', '*', '?']) && (!raw.contains('[') || raw == "[") {
        return Word::plain(raw.replace(['"', '\'', '\\'], ""));
    }
    let quoted = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let many = quoted.is_none_or(|inside| inside.contains(['"', '@']));
    Word::Unknown { raw: raw.to_owned(), prefix: String::new(), many, why: "an expansion" }
}

fn settings(builtin: Builtin, base: &str, words: &[Word], analysis: &mut Analysis) {
    let harmless = |name: &str| HARMLESS.split_ascii_whitespace().any(|known| known == name);
    let shopt = builtin == Builtin::ShOpt;
    let mut named = shopt;
    for word in words {
        let Some(text) = word.literal() else {
            // Positional parameters are uncertain where they are used.
            if shopt || word.may_be_option() && !word.raw().starts_with('"') {
                analysis.note(Uncertainty::Construct(format!("{base} with {}", word.raw())));
            }
            continue;
        };
        let known = match text {
            "--" | "-" if !shopt => return,
            _ if text.starts_with(['-', '+']) => {
                named = shopt || text.ends_with('o');
                shopt || text[1..].chars().all(|c| "efuxvCmbnTEBho".contains(c))
            }
            _ if named => {
                named = shopt;
                harmless(text)
            }
            _ => true,
        };
        if !known {
            analysis.note(Uncertainty::Construct(format!("`{base} {text}`")));
        }
    }
}

/// Checks an expansion `${…}`: its operators, and the parts that are evaluated as arithmetic.
pub(super) fn expansion(text: &str, analysis: &mut Analysis) {
    let Some(inside) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return analysis.note(Uncertainty::Hidden);
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // `${!a[@]}` and `${!a*}` are lists of names; other forms use a value as a name.
    let is_list = |name: &str| {
        ["[@]", "[*]", "*", "@"].iter().any(|end| name.strip_suffix(end).is_some_and(is_plain_name))
    };
    if let Some(name) = inside.strip_prefix('!') {
        if !is_list(name) {
            analysis.note(Uncertainty::Hidden);
        }
        return;
    }
    let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let (name, mut rest) = inside.split_at(end);
    // The index of an element is a node of its own.
    if rest.starts_with('[') {
        let Some((_, after)) = enclosed(rest, '[', ']') else {
            return analysis.note(Uncertainty::Hidden);
        };
        rest = after;
    }
    let is_harmless = match rest.get(..2).unwrap_or(rest) {
        ":-" | ":?" | ":+" => true,
        operator if operator == ":=" || operator.starts_with('=') => {
            check_variable(name, analysis);
            analysis.evaluation.fill(name);
            true
        }
        operator if operator.starts_with(':') => evaluate(&rest[1..], analysis),
        // `@P` runs the substitutions in the value.
        operator if operator.starts_with('@') => matches!(rest, "@" | "@Q" | "@U" | "@u" | "@L"),
        _ => true,
    };
    if !is_harmless {
        analysis.note(Uncertainty::Hidden);
    }
}

/// Notes that text is evaluated as arithmetic. Returns false if it may run something.
pub(super) fn evaluate(text: &str, analysis: &mut Analysis) -> bool {
    let Some(names) = analysis.evaluation.evaluate(text) else { return false };
    for name in names.iter().filter(|name| !variables::is_counter(name)) {
        check_variable(name, analysis);
    }
    true
}

/// Returns true if a text is the name of a variable, or of an element with a harmless index.
fn is_reference(text: &str, analysis: &mut Analysis) -> bool {
    match text.split_once('[') {
        None => is_plain_name(text),
        Some((name, index)) => {
            let index = index.strip_suffix(']');
            is_plain_name(name) && index.is_some_and(|index| evaluate(index, analysis))
        }
    }
}

pub(super) fn is_plain_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
