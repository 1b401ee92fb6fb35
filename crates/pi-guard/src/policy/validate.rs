//! Validation of rules when a file is loaded.
//!
//! A rule that can never match is worse than none, because its author relies on it.

use super::paths;

/// Validates the words that a command begins with.
pub(super) fn prefix(prefix: &[Vec<String>]) -> Result<(), String> {
    let is_empty = |words: &Vec<String>| words.is_empty() || words.iter().any(String::is_empty);
    if prefix.is_empty() || prefix.iter().any(is_empty) {
        return Err("a prefix needs at least one word, and no word may be empty".to_owned());
    }
    for (index, alternatives) in prefix.iter().enumerate() {
        unique(alternatives)?;
        for word in alternatives {
            if word.trim() != word || index == 0 && word.contains(char::is_whitespace) {
                let words: Vec<String> =
                    word.split_whitespace().map(|part| format!("\"{part}\"")).collect();
                let words = words.join(", ");
                return Err(format!("`{word}` contains a space; write {words}"));
            }
            if word.trim_matches('*').is_empty() {
                return Err(format!(
                    "words match exactly, so `{word}` only matches itself; remove it: a prefix \
                     matches any arguments that follow"
                ));
            }
            let is_program = index > 0 || !word.starts_with('-') && !word.ends_with('/');
            if !is_program || word.contains(['\n', '\0']) {
                return Err(format!("`{word}` is not the name of a program; begin with one"));
            }
        }
    }
    Ok(())
}

/// Validates the patterns of a rule on files.
pub(super) fn paths(patterns: &[String]) -> Result<(), String> {
    not_empty(patterns, "paths", "a file")?;
    for pattern in patterns {
        if pattern.contains("://") {
            return Err(format!("`{pattern}` is not a path; use a [[host]] rule for hosts"));
        }
        if pattern.contains('$') || pattern.contains('{') && pattern.contains(',') {
            return Err(format!(
                "`{pattern}` is not expanded and matches no file; write `~` for the home \
                 directory, and one pattern per file"
            ));
        }
    }
    Ok(())
}

/// Validates the names of a rule on hosts.
pub(super) fn hosts(names: &[String]) -> Result<(), String> {
    not_empty(names, "hosts", "a host")?;
    for name in names {
        let bare = paths::host_in(name).or_else(|| {
            let is_ipv6 = name.starts_with('[') || name.matches(':').count() > 1;
            let end = if is_ipv6 { None } else { name.find(['/', ':']) };
            end.map(|end| name[..end].to_owned())
        });
        if let Some(bare) = bare {
            return Err(format!("`{name}` is not a host name; write `{bare}`"));
        }
        if name.contains(char::is_whitespace) {
            return Err(format!("`{name}` contains a space; write a host name"));
        }
    }
    Ok(())
}

/// Validates the name of a rule on tools.
pub(super) fn tool(name: &str) -> Result<(), String> {
    not_empty(&[name.to_owned()], "name", "a tool")
}

/// Validates the paths of a program.
pub(super) fn executable(name: &str, paths: &[String]) -> Result<(), String> {
    not_empty(&[name.to_owned()], "name", "a program")?;
    not_empty(paths, "paths", "a path")?;
    if name.contains('/') {
        return Err(format!("`{name}` must be a name without a directory; add it to `paths`"));
    }
    match paths.iter().find(|path| !path.starts_with('/')) {
        Some(path) => Err(format!("`{path}` must be an absolute path")),
        None => Ok(()),
    }
}

/// Adds a hint to an error of the TOML parser.
pub(super) fn with_hint(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    if message.starts_with("unknown field") {
        return format!("{message}; correct or remove it");
    }
    if message.starts_with("unknown variant") {
        return format!("{message}; write one of these");
    }
    if message.starts_with("missing field") {
        return format!("{message}; add it to this table");
    }
    message
}

fn not_empty(values: &[String], key: &str, what: &str) -> Result<(), String> {
    if values.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
        return Err(format!("`{key}` is empty, so the rule never matches; name {what}"));
    }
    unique(values)
}

fn unique(values: &[String]) -> Result<(), String> {
    let is_duplicate = |(at, value): &(usize, &String)| values[..*at].contains(value);
    match values.iter().enumerate().find(is_duplicate) {
        Some((_, value)) => Err(format!("`{value}` is listed twice; remove one")),
        None => Ok(()),
    }
}
