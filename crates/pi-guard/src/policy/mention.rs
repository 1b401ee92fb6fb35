//! Scripts that cannot be analyzed and mention something forbidden.

use super::check::{Checker, word_as_host};
use super::paths::PathAccess;
use super::{Part, spelling};
use crate::Decision;
use crate::programs;
use crate::word::base_name;

impl Checker<'_> {
    /// Forbids a script that cannot be analyzed if it mentions a forbidden command, file or host.
    pub(super) fn check_mentions(&mut self, script: &str) {
        let plain = script.replace(['\'', '"', '\\'], "");
        // `x:-cat` is one word or three, depending on the context.
        let expanded = without_defaults(&plain);
        let words = tokens(&plain, "_./+-@%:");
        let (parts, names) = (tokens(&plain, "_"), names(&expanded));
        let rules = self.policy.rules.commands.iter();
        let mut strict = rules.filter(|rule| rule.decision == Decision::Forbid);
        let named = strict.find(|rule| {
            let parts = if rule.prefix.len() > 1 { &parts } else { &names };
            rule.is_mentioned(&words) || rule.is_mentioned(parts)
        });
        if let Some(rule) = named {
            let names: Vec<&str> =
                rule.prefix.iter().filter_map(|p| p.first()).map(String::as_str).collect();
            self.mentions(&names.join(" "), rule.origin.clone());
        }
        self.mentioned_files(&words);
        for name in
            words.iter().flat_map(|word| spelling::names(word)).filter(|name| name.len() > 2)
        {
            let part = word_as_host(self.policy, name);
            if let Some(part) = part.filter(|part| part.decision == Decision::Forbid) {
                return self.mentions(name, part.rule.unwrap_or_default());
            }
        }
    }

    /// Checks for files that must not be read. Names without a dot are ordinary words.
    fn mentioned_files(&mut self, words: &[&str]) {
        let rules = self.policy.rules.paths.iter();
        let mut strict =
            rules.filter(|r| r.decision == Decision::Forbid && r.access != PathAccess::Write);
        let named = strict.find_map(|rule| {
            let pattern = rule.patterns.iter().find(|pattern| {
                let last = base_name(pattern.trim_end_matches(['*', '/']));
                let mut parts = words.iter().flat_map(|word| word.split(['/', ':', '@']));
                last.starts_with('.') && parts.any(|part| part.eq_ignore_ascii_case(last))
            })?;
            Some((pattern, &rule.origin))
        });
        if let Some((pattern, origin)) = named {
            self.mentions(pattern, origin.clone());
        }
    }

    fn mentions(&mut self, what: &str, origin: String) {
        let reason =
            format!("the script cannot be analyzed and names `{what}`, which is forbidden");
        let part = Part::new("script", Decision::Forbid, reason, self.scope.clone());
        self.parts.push(Part { rule: Some(origin), ..part });
    }
}

/// Returns the pieces of a text that consist of letters, digits and these characters.
fn tokens<'t>(text: &'t str, inside: &str) -> Vec<&'t str> {
    let is_separator = |c: char| !(c.is_alphanumeric() || inside.contains(c));
    text.split(is_separator).filter(|token| !token.is_empty()).collect()
}

/// Separates the default value of an expansion from the name: `${x-cat}` is not the word `x-cat`.
fn without_defaults(text: &str) -> String {
    let mut pieces = text.split("${");
    let mut separated = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        separated.push_str("${");
        separated.push_str(&piece.replacen('-', " ", 1));
    }
    separated
}

/// Returns the names in a text. One with dashes stays as it is, or is the program and the subcommand
/// that it stands for: `curl-config` is not `curl`, but `git-push` is `git push`.
fn names(text: &str) -> Vec<&str> {
    let names = tokens(text, "_-").into_iter().map(|name| name.trim_matches('-'));
    let parts = names.flat_map(|name| match programs::split_dashed(name) {
        Some((program, subcommand)) => [program, subcommand],
        None => [name, ""],
    });
    parts.filter(|part| !part.is_empty()).collect()
}
