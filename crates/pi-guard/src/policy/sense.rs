//! Rules that cannot be meant: what is said of them when a file is loaded.
//!
//! A rule that can never match is worse than none, because its author believes in it.

use super::paths;

/// Words that a rule on commands begins with.
pub(super) fn prefix(prefix: &[Vec<String>]) -> Result<(), String> {
    let empty =
        prefix.is_empty() || prefix.iter().any(|t| t.is_empty() || t.iter().any(String::is_empty));
    if empty {
        return Err("a prefix needs at least one word, and no word may be empty".to_owned());
    }
    for (index, alternatives) in prefix.iter().enumerate() {
        for (at, word) in alternatives.iter().enumerate() {
            if alternatives[..at].contains(word) {
                return Err(format!("`{word}` is there twice; take one of them out"));
            }
            if word.trim() != word || index == 0 && word.contains(char::is_whitespace) {
                let words: Vec<String> =
                    word.split_whitespace().map(|part| format!("\"{part}\"")).collect();
                let words = words.join(", ");
                return Err(format!(
                    "`{word}` is one word with a space in it, which no command is; write {words}"
                ));
            }
            if word.trim_matches('*').is_empty() {
                return Err(format!(
                    "words are matched exactly, so `{word}` matches nothing else; take it out: a \
                     prefix covers whatever follows it"
                ));
            }
            let starts = index == 0 && (word.starts_with('-') || word.ends_with('/'));
            if starts || word.contains(['\n', '\0']) {
                return Err(format!("`{word}` is not the name of a program; begin with one"));
            }
        }
    }
    Ok(())
}

/// Patterns of a rule on files.
pub(super) fn paths(patterns: &[String]) -> Result<(), String> {
    some(patterns, "paths", "a file")?;
    for pattern in patterns {
        if pattern.contains("://") {
            return Err(format!("`{pattern}` is not a path; for hosts there are [[host]] rules"));
        }
        let shell = pattern.contains('$') || pattern.contains('{') && pattern.contains(',');
        if shell {
            return Err(format!(
                "`{pattern}` is taken as it is written, so it matches no file; write `~` for the \
                 home folder, and one pattern for each file"
            ));
        }
    }
    Ok(())
}

/// Names of a rule on hosts.
pub(super) fn hosts(names: &[String]) -> Result<(), String> {
    some(names, "hosts", "a host")?;
    for name in names {
        let bare = paths::host_in(name).or_else(|| {
            let six = name.starts_with('[') || name.matches(':').count() > 1;
            let end = if six { None } else { name.find(['/', ':']) };
            end.map(|end| name[..end].to_owned())
        });
        if let Some(bare) = bare {
            return Err(format!("`{name}` is more than the name of a host; write `{bare}`"));
        }
        if name.contains(char::is_whitespace) {
            return Err(format!("`{name}` has a space in it, which no host has"));
        }
    }
    Ok(())
}

/// The name of a rule on tools.
pub(super) fn tool(name: &str) -> Result<(), String> {
    some(&[name.to_owned()], "name", "a tool")
}

/// Which paths may stand for a name.
pub(super) fn executable(name: &str, paths: &[String]) -> Result<(), String> {
    some(&[name.to_owned()], "name", "a program")?;
    some(paths, "paths", "a path")?;
    if name.contains('/') {
        return Err(format!("`{name}` must be a bare name; its paths go into `paths`"));
    }
    match paths.iter().find(|path| !path.starts_with('/')) {
        Some(path) => Err(format!("`{path}` must be an absolute path")),
        None => Ok(()),
    }
}

/// What to do about a mistake in the form of the file.
pub(super) fn advice(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    if message.starts_with("unknown field") {
        return format!("{message}; correct its spelling or take it out");
    }
    if message.starts_with("unknown variant") {
        return format!("{message}; write one of these");
    }
    if message.starts_with("missing field") {
        return format!("{message}; add it to this table");
    }
    message
}

fn some(values: &[String], key: &str, what: &str) -> Result<(), String> {
    if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
        return Err(format!("`{key}` is empty, so the rule can never match; name {what}"));
    }
    let twice = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value));
    match twice {
        Some((_, value)) => Err(format!("`{value}` is there twice; take one of them out")),
        None => Ok(()),
    }
}
