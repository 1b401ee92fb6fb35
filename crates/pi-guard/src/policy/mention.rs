//! A script that is not understood, and names what is forbidden.

use super::check::{Check, word_as_host};
use super::paths::PathAccess;
use super::spelling;
use crate::Decision;
use crate::shell::base_name;

impl Check<'_> {
    /// Forbids a script that is not understood and names what is forbidden.
    pub(super) fn mentioned(&mut self, script: &str) {
        let plain = script.replace(['\'', '"', '\\'], "");
        // `x:-cat` is one word or three, depending on where it stands.
        let tokens = |inside: &str| -> Vec<&str> {
            let apart = |c: char| !(c.is_alphanumeric() || inside.contains(c));
            plain.split(apart).filter(|token| !token.is_empty()).collect()
        };
        let (words, parts) = (tokens("_./+-@%:"), tokens("_"));
        let rules = self.policy.rules.commands.iter();
        let mut strict = rules.filter(|rule| rule.decision == Decision::Forbid);
        let named = strict.find(|rule| rule.is_mentioned(&words) || rule.is_mentioned(&parts));
        if let Some(rule) = named {
            let named: Vec<&str> =
                rule.prefix.iter().filter_map(|p| p.first()).map(String::as_str).collect();
            let origin = rule.origin.clone();
            self.names(&named.join(" "), origin);
        }
        self.mentioned_files(&words);
        for name in words.iter().flat_map(|word| spelling::names(word)) {
            if let Some(part) =
                word_as_host(self.policy, name).filter(|p| p.decision == Decision::Forbid)
            {
                return self.names(name, part.rule.unwrap_or_default());
            }
        }
    }

    /// Files that may not even be read. Names without a dot are words like any other.
    fn mentioned_files(&mut self, words: &[&str]) {
        let rules = self.policy.rules.paths.iter();
        let strict =
            rules.filter(|r| r.decision == Decision::Forbid && r.access != PathAccess::Write);
        let named = strict.into_iter().find_map(|rule| {
            let pattern = rule.patterns.iter().find(|pattern| {
                let last = base_name(pattern.trim_end_matches(['*', '/']));
                let parts = || words.iter().flat_map(|word| word.split(['/', ':', '@']));
                last.starts_with('.') && parts().any(|part| part.eq_ignore_ascii_case(last))
            })?;
            Some((pattern.clone(), rule.origin.clone()))
        });
        if let Some((pattern, origin)) = named {
            self.names(&pattern, origin);
        }
    }

    fn names(&mut self, what: &str, origin: String) {
        let reason = format!("the script is not certain and names `{what}`, which is forbidden");
        self.part("script", Decision::Forbid, Some(origin), &reason);
    }
}
