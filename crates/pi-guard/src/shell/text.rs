//! Checks of a script before it is parsed: misleading characters, and lines that are continued in
//! the middle of a word.

use pi_base::text::is_shown;

use super::uncertainty::Uncertainty;

/// Returns the uncertainties that follow from the text alone.
pub(super) fn uncertainties(script: &str) -> Vec<Uncertainty> {
    let mut found = Vec::new();
    let mut before = None;
    for character in script.chars() {
        let before = before.replace(character);
        let what = match character {
            '\n' | '\t' | ' '..='~' => continue,
            '\r' => "a carriage return".to_owned(),
            c if c.is_control() => format!("a control character (U+{:04X})", u32::from(c)),
            c if c.is_whitespace() || is_joiner(c) || !is_shown(before, c) => {
                format!("an invisible character (U+{:04X})", u32::from(c))
            }
            _ => continue,
        };
        let uncertainty = Uncertainty::Character(what);
        if !found.contains(&uncertainty) {
            found.push(uncertainty);
        }
    }
    // The grammar starts a here-document that begins with a continued line one line too late.
    if script.contains("<<") && script.contains("\n\\\n") {
        found.push(Uncertainty::Syntax);
    }
    // `${x@P}` runs the substitutions in the value of x, and `$[x]` is old arithmetic, which the
    // grammar does not find everywhere.
    if script.contains("@P}") || script.contains("$[") {
        found.push(Uncertainty::Hidden);
    }
    found
}

/// Returns an uncertainty if a word contains a typographic quote or sign, which the shell reads as
/// a letter.
pub(super) fn look_alike(word: &str) -> Option<Uncertainty> {
    let found =
        word.chars().find(|c| matches!(c, '\u{2018}'..='\u{201F}' | '\u{FF01}'..='\u{FF5E}'))?;
    let what = format!("a look-alike of a shell character (U+{:04X})", u32::from(found));
    Some(Uncertainty::Character(what))
}

/// Returns true for the joiners of letters and emoji. They change what a word is, also where they
/// are shown.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

/// Returns the script without continued lines, if one is continued inside a word.
pub(super) fn without_continuations(script: &str) -> Option<String> {
    let within_a_word = script.match_indices("\\\n").any(|(at, _)| {
        let before = script[..at].chars().next_back();
        before.is_some_and(|c| !c.is_whitespace()) || script[at + 2..].starts_with("\\\n")
    });
    within_a_word.then(|| script.replace("\\\n", ""))
}
