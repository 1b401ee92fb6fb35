//! Text that the shell evaluates a second time.
//!
//! In arithmetic, in subscripts and where a builtin expects the name of a variable, bash evaluates
//! the *values* of variables and runs the substitutions in them: with `x='a[$(rm y)]'`, `$((x))`
//! runs rm. So a variable may be used there only if the script shows that its value is a number.
//! Variables that the script does not set belong to the caller and are trusted.

use super::word::Word;
use crate::programs;

/// The variables of a script that may contain text, and those whose value is evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evaluation {
    /// Variables whose value may not be a number.
    texts: Vec<String>,
    /// Variables that are set to the value of another variable.
    copies: Vec<(String, String)>,
    /// Variables whose value is evaluated.
    evaluated: Vec<String>,
}

impl Evaluation {
    /// Notes that a variable is set to a word.
    pub(super) fn assign(&mut self, name: &str, value: &Word) {
        let name = name.split(['[', '+']).next().unwrap_or(name).to_owned();
        match value {
            Word::Literal { text, .. } if is_number(text) => {}
            Word::Literal { .. } => self.texts.push(name),
            Word::Unknown { raw, .. } => match sources(raw) {
                Some(names) => self.copies.extend(names.into_iter().map(|n| (name.clone(), n))),
                None => self.texts.push(name),
            },
        }
    }

    /// Notes that a variable is set to an unknown value.
    pub(super) fn fill(&mut self, name: &str) {
        self.texts.push(name.split(['[', '=']).next().unwrap_or(name).to_owned());
    }

    /// Notes that text is evaluated as arithmetic. Returns false if it may run something with any
    /// values of its variables.
    #[must_use]
    pub(super) fn evaluate(&mut self, text: &str) -> bool {
        if has_parameters(text) {
            return false;
        }
        // A length is always a number.
        let text = text.replace("${#", "${#0");
        let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names = names.filter(|name| name.starts_with(|c: char| !c.is_ascii_digit()));
        self.evaluated.extend(names.map(str::to_owned));
        true
    }

    /// Returns true if a value that may not be a number is evaluated.
    pub(super) fn is_dangerous(&self) -> bool {
        if self.evaluated.is_empty() || self.texts.is_empty() {
            return false;
        }
        let mut texts = self.texts.clone();
        // Each iteration but the last adds at least one name.
        loop {
            let copied: Vec<String> = self
                .copies
                .iter()
                .filter(|(to, from)| texts.contains(from) && !texts.contains(to))
                .map(|(to, _)| to.clone())
                .collect();
            if copied.is_empty() {
                return self.evaluated.iter().any(|name| texts.contains(name));
            }
            texts.extend(copied);
        }
    }
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || " +-*/%.:_".contains(c))
}

/// Returns true if text uses positional parameters, which may be anything.
fn has_parameters(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = &text[at + 1..];
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit() && c != '0' || c == '@' || c == '*')
    })
}

/// Returns the variables of a value that is a number if all of them are.
fn sources(raw: &str) -> Option<Vec<String>> {
    let raw = raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')).unwrap_or(raw);
    if let Some(inside) = raw.strip_prefix("$((").and_then(|r| r.strip_suffix("))")) {
        // The inside is evaluated in its place.
        return (!inside.contains("))")).then(Vec::new);
    }
    if let Some(inside) = raw.strip_prefix("$(").and_then(|r| r.strip_suffix(')')) {
        return prints_number(inside).then(Vec::new);
    }
    if let Some(inside) = raw.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
        return is_number(&inside.replace(['\n', '\t'], " ")).then(Vec::new);
    }
    // A pattern, or braces.
    if !raw.contains('$') {
        return None;
    }
    let mut names = Vec::new();
    let mut parts = raw.split('$');
    let start = parts.next().unwrap_or_default();
    for part in parts {
        let (inside, rest) = match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}')?,
            None => {
                let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                // Special variables such as `$?` are one character.
                let first = part.chars().next().map_or(0, char::len_utf8);
                part.split_at(end.unwrap_or(part.len()).max(first))
            }
        };
        // A length is always a number.
        if !(matches!(inside, "?" | "#" | "$" | "!") || inside.starts_with('#')) {
            let first = inside.chars().next()?;
            let plain = inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !plain || first.is_ascii_digit() {
                return None;
            }
            names.push(inside.to_owned());
        }
        if !is_number(rest) {
            return None;
        }
    }
    is_number(start).then_some(names)
}

/// Returns true if a script prints a number and nothing else.
pub(super) fn prints_number(script: &str) -> bool {
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
    let command = last.split_once('<').map_or(last, |(command, _)| command);
    let word = |text: &str| {
        let quotes = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
        let inside = quotes('\'').or_else(|| quotes('"')).unwrap_or(text);
        let is_literal = !inside.contains(['$', '\'', '"'])
            && (inside.len() < text.len() || !inside.contains(['*', '?', '[']));
        if is_literal { Word::plain(inside) } else { Word::unknown(text, "an expansion") }
    };
    programs::prints_number(&command.split_whitespace().map(word).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use crate::shell::analyze;

    #[test]
    fn evaluated_values_must_be_numbers() {
        for (script, certain) in [
            ("x=1; echo $((x + 1))", true),
            ("x=$(wc -l < f); echo $((x + 1))", true),
            ("x=$(ls | wc -l); [[ $x -gt 3 ]] && ls", true),
            ("for i in 1 2 3; do echo $((i * 2)); done", true),
            ("for ((i=0; i<3; i++)); do echo $i; done", true),
            ("y=2; x=$y; echo $((x)); ((y++))", true),
            ("echo $((HISTCMD + 1)) ${a[0]} ${x:1:2}", true),
            ("[[ $? -eq 0 ]] && ls; [[ $# -lt 2 ]]", true),
            ("n=abc; echo ${#n} $((${#n} + 1))", true),
            ("x='a[0+$(cat f)]'; echo $((x))", false),
            ("x=y; y='a[`cat f`]'; echo $((x))", false),
            ("x='$(cat f)'; echo ${a[$x]}", false),
            ("z='$(cat f)'; y=$z; x=\"$y\"; echo ${s:x}", false),
            ("read -r x < f; echo $((x))", false),
            ("read -r x < f; ((x))", false),
            ("read -r x < f; ((y = x)) && ls", false),
            ("x=$(grep -c a f || true); echo $((x + 1))", true),
            ("x=$(grep -c 'a' f); echo $((x + 1))", true),
            ("x=$(grep -c a *); echo $((x))", false),
            ("x=$(grep -c a $f); echo $((x))", false),
            ("x=$(grep -c a f g); echo $((x))", false),
            ("x=$(stat -c %s --format=\"$q\" f); echo $((x))", false),
            ("x=$(echo $z \\| nproc); echo $((x))", false),
            ("x=$(echo ${z:-| nproc }); echo $((x))", false),
            ("x=$(echo \"$z\" '|' nproc); echo $((x))", false),
            ("test -v ok -a -v 'a['\"\\$(cat y)]\"", false),
            ("x=$(head -1 f); echo $((x))", false),
            ("x=$(wc -l f); ((x++))", false),
            ("for x in *; do echo $((x)); done", false),
            ("f() { echo $(($1)); }; f 'a[$(cat f)]'", false),
            ("printf -v x %s y; [[ $x -eq 1 ]]", false),
            ("X=a env Y='a[$(b)]' bash -c 'echo $((Y))'", false),
            ("declare -i x; x='a[$(cat f)]'", false),
            ("for ((i=x; i<3; i++)); do ls; done; x=\"a[\\$(b)]\"", false),
        ] {
            assert_eq!(analyze(script).is_certain(), certain, "{script}");
        }
    }
}
