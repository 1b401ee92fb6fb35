//! Builtins and expansions that set variables by name or evaluate text a second time.

use super::Analysis;
use super::launch::check_variable;
use super::uncertainty::Uncertainty;
use super::word::Word;
use crate::programs::Builtin;

/// Comparisons for which `[[` evaluates both sides as arithmetic.
const NUMERIC: &[&str] = &[" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge "];
/// Settings of the shell that do not change the meaning of a script.
const HARMLESS: &str = "nullglob globstar dotglob failglob nocaseglob lastpipe inherit_errexit \
    extglob checkwinsize pipefail errexit nounset xtrace noglob noclobber verbose errtrace functrace posix \
    allexport monitor notify noexec";

/// Checks the arguments of a builtin.
pub(super) fn check(builtin: Builtin, base: &str, words: &[Word], analysis: &mut Analysis) {
    match builtin {
        Builtin::Set | Builtin::ShOpt => return settings(builtin, base, words, analysis),
        Builtin::Test => {
            let is_query = |word: &Word| matches!(word.literal(), Some("-v" | "-R"));
            let plain = |word: &Word| word.literal().is_some_and(is_plain_name);
            if words.windows(2).any(|pair| is_query(&pair[0]) && !plain(&pair[1])) {
                analysis.note(Uncertainty::Hidden);
            }
            return;
        }
        Builtin::Printf => return printf(words, analysis),
        _ => {}
    }
    let mut value = false;
    for word in words {
        let Some(text) = word.literal() else {
            // The value of an assignment is only text.
            let named = matches!(word, Word::Unknown { prefix, .. } if prefix.contains('='));
            // `wait $!`, and `wait "$pid"` if the variable is a number.
            let pid = word.raw().trim_matches('"').strip_prefix('$').is_some_and(|name| {
                name == "!"
                    || is_plain_name(name) && !name.starts_with(|c: char| c.is_ascii_digit())
            });
            if builtin == Builtin::Wait && pid && analysis.evaluation.evaluate(word.raw()) {
                continue;
            }
            if !value && (!named || builtin == Builtin::Let) {
                analysis.note(Uncertainty::Hidden);
            }
            value = false;
            continue;
        };
        if std::mem::take(&mut value) && builtin != Builtin::Wait {
            continue;
        }
        if text.starts_with('-') && text.len() > 1 && builtin != Builtin::Let {
            value = option(builtin, base, text, analysis);
            continue;
        }
        let name = text.split(['=', '[', '+']).next().unwrap_or_default();
        check_variable(name, analysis);
        if text.contains(['$', '`']) {
            analysis.note(Uncertainty::Hidden);
        }
        match builtin {
            Builtin::Read | Builtin::MapFile | Builtin::GetOpts | Builtin::Wait => {
                analysis.evaluation.fill(name);
            }
            Builtin::Let if !analysis.evaluation.evaluate(text) => {
                analysis.note(Uncertainty::Hidden);
            }
            Builtin::Declare => {
                if let Some((_, value)) = text.split_once('=') {
                    analysis.evaluation.assign(name, &Word::plain(value));
                }
            }
            _ => {}
        }
    }
    let integers = builtin == Builtin::Declare
        && words.iter().filter_map(Word::literal).any(|t| t.starts_with('-') && t.contains('i'));
    if integers {
        // Every value that is assigned to such a variable, now or later, is evaluated.
        analysis.note(Uncertainty::Construct("integer variables".to_owned()));
    }
}

/// Checks an option. Returns true if its value is the next word.
fn option(builtin: Builtin, base: &str, text: &str, analysis: &mut Analysis) -> bool {
    match builtin {
        Builtin::Read => {
            if let Some(name) = text.split_once('a').map(|(_, name)| name)
                && !name.is_empty()
            {
                check_variable(name, analysis);
            }
            // The name after `-a` is checked like any other name.
            text.ends_with(['p', 't', 'd', 'n', 'N', 'u', 'i'])
        }
        Builtin::MapFile => {
            if text.contains('C') {
                analysis.note(Uncertainty::RunsText(format!("{base} -C")));
            }
            text.ends_with(['d', 'n', 'O', 's', 'u', 'c'])
        }
        Builtin::Declare if text.contains('n') => {
            analysis.note(Uncertainty::Construct("references to variables".to_owned()));
            false
        }
        _ => false,
    }
}

fn printf(words: &[Word], analysis: &mut Analysis) {
    let Some(first) = words.first() else { return };
    let name = match first {
        Word::Literal { text, .. } if text == "-v" => {
            words.get(1).map(|w| w.literal().unwrap_or("$"))
        }
        Word::Literal { text, .. } => text.strip_prefix("-v"),
        // The word may become `-vNAME`.
        Word::Unknown { raw, prefix, .. } => {
            let bare = raw.trim_matches('"');
            let whole = bare.ends_with(|c: char| c == '}' || c == ')' || c.is_ascii_alphanumeric());
            (prefix.starts_with('-') || prefix.is_empty() && whole && !raw.contains([' ', '\\']))
                .then_some("$")
        }
    };
    let Some(name) = name else { return };
    if is_plain_name(name.split('[').next().unwrap_or(name)) && !name.contains(['$', '`']) {
        check_variable(name, analysis);
        analysis.evaluation.fill(name);
    } else {
        analysis.note(Uncertainty::Hidden);
    }
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
                shopt || !text.contains(['k', 'H'])
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

/// Returns true if a test compares numbers, which evaluates both sides. `[` does not.
pub(super) fn compares_numbers(text: &str) -> bool {
    text.starts_with("[[") && NUMERIC.iter().any(|operator| text.contains(operator))
}

/// Returns true if a test only asks for variables by plain names: `-v a[$(x)]` runs x.
pub(super) fn tests_plain_names(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).all(|pair| !matches!(pair[0], "-v" | "-R") || is_plain_name(pair[1]))
}

/// Returns the part of an expansion that is evaluated as arithmetic, and notes what it sets.
pub(super) fn expansion<'t>(text: &'t str, analysis: &mut Analysis) -> Option<&'t str> {
    let inside = text.strip_prefix("${")?;
    if let Some(name) = inside.strip_prefix('!') {
        // `${!a[@]}` and `${!a*}` are lists of names; other forms use a value as a name.
        let listed = ["[@]}", "[*]}", "*}", "@}"].iter().any(|end| name.ends_with(end));
        if !listed {
            analysis.note(Uncertainty::Hidden);
        }
        return None;
    }
    let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let (name, rest) = inside.split_at(end);
    if rest.starts_with(":=") || rest.starts_with('=') {
        check_variable(name, analysis);
        analysis.evaluation.fill(name);
    }
    // An element of an array is sliced like a variable.
    let rest =
        if rest.starts_with('[') { rest.split_once(']').map_or(rest, |(_, r)| r) } else { rest };
    let offset = rest.strip_prefix(':')?;
    (!offset.starts_with(['-', '=', '?', '+'])).then_some(offset)
}

fn is_plain_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
