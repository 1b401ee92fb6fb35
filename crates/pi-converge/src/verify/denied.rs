//! What the sandbox denied to a check, with the option that permits it.

use std::path::Path;

use pi_coding_agent::UserShell;
use pi_guard::confine::{Denial, DenialTarget};

use crate::contract::CommandCheck;
use crate::report::Denied;

/// Most removed variables that are named.
const MOST_VARIABLES: usize = 5;

/// Returns what the sandbox denied to a failed check, as far as its output says so. `variables` are
/// those that it got.
pub(super) fn denied(
    shell: &UserShell,
    home: Option<&Path>,
    check: &CommandCheck,
    variables: &[String],
    output: &str,
) -> Vec<Denied> {
    let denials = shell.take_denials(output).into_iter();
    let mut found: Vec<Denied> = Vec::new();
    for one in denials.map(|denial| explain(shell, home, denial)) {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    let is_missing = |name: &&str| {
        let is_given = variables.iter().any(|given| given == name);
        !is_given && (is_word_of(name, output) || is_word_of(name, &check.command))
    };
    let missing = shell.removed_variables().filter(is_missing).take(MOST_VARIABLES);
    found.extend(missing.map(|name| Denied {
        target: format!("the variable {name}"),
        rule: "variables with secrets are removed from the environment".to_owned(),
        remedy: Some(format!("--check-env {name}")),
    }));
    found
}

fn explain(shell: &UserShell, home: Option<&Path>, denial: Denial) -> Denied {
    let (target, remedy) = match &denial.target {
        DenialTarget::Path(path) => {
            (path.display().to_string(), writable(path, home, &denial.rule))
        }
        DenialTarget::Host(Some(host)) => {
            (format!("a connection to {host}"), Some(network(shell, host)))
        }
        DenialTarget::Host(None) => {
            ("a connection".to_owned(), Some(format!("{} or --network on", network(shell, "HOST"))))
        }
        DenialTarget::Program(program) => (format!("running {}", program.display()), None),
        _ => ("an operation on other processes or the system".to_owned(), None),
    };
    Denied { target, rule: denial.rule, remedy }
}

/// Returns the option that makes a path writable, if an option can.
fn writable(path: &Path, home: Option<&Path>, rule: &str) -> Option<String> {
    if !rule.contains("writable roots") {
        return None;
    }
    let mut ancestors = path.ancestors().skip(1).peekable();
    let existing = ancestors.find(|directory| directory.is_dir())?;
    // The home directory and what is above it, and the directories in the root, are too much.
    let has_home = home.is_some_and(|home| home.starts_with(existing));
    if existing.components().count() > 2 && !has_home {
        return Some(format!("--add-dir {}", existing.display()));
    }
    let below = path.ancestors().find(|path| path.parent() == Some(existing))?;
    Some(format!("--add-dir {}, after you have created it", below.display()))
}

/// Returns the option that permits a host besides those that are permitted already.
fn network(shell: &UserShell, host: &str) -> String {
    if !shell.limits_hosts() {
        return "--network on".to_owned();
    }
    let hosts = shell.hosts().unwrap_or_default().iter().map(String::as_str);
    format!("--network {}", hosts.chain([host]).collect::<Vec<_>>().join(","))
}

/// Returns true if a text has a name as a whole word.
fn is_word_of(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_words() {
        let cases = [
            ("KeyError: 'DB_PASSWORD'", true),
            ("echo $DB_PASSWORD", true),
            ("DB_PASSWORD", true),
            ("MY_DB_PASSWORD", false),
            ("DB_PASSWORD_FILE and DB_PASSWORD.", true),
            ("DB_PASSWORDS", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_word_of("DB_PASSWORD", text), expected, "{text}");
        }
    }

    #[test]
    fn a_directory_that_is_too_wide_is_not_proposed() {
        let rule = "only the workspace and the writable roots can be written";
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        std::fs::create_dir(home.join("cache")).unwrap();
        let create = ", after you have created it";
        let cases = [
            (home.join("cache/a/b"), format!("--add-dir {}/cache", home.display())),
            (home.join("new/a/b"), format!("--add-dir {}/new{create}", home.display())),
            ("/no-such-directory/b".into(), format!("--add-dir /no-such-directory{create}")),
        ];
        for (path, expected) in cases {
            assert_eq!(writable(&path, Some(home), rule), Some(expected));
        }
        assert_eq!(writable(&home.join("a"), None, "this path is hidden"), None);
    }
}
