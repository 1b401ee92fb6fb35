//! Capabilities of a model, by its id.
//!
//! Google publishes no capability flags, and its generations differ in what a request may contain,
//! so only the id is available. This module must not use the model record.

use crate::wire::OutputSupport;

/// The family of a model id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family<'a> {
    /// The id without a leading path such as `models/`.
    name: &'a str,
}

/// Thinking tokens per level of a model that accepts a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budgets {
    /// The smallest budget, which is also that of "off" if [`Budgets::cannot_stop`].
    pub(super) minimal: i64,
    pub(super) low: i64,
    pub(super) medium: i64,
    pub(super) high: i64,
    /// True if the model rejects a budget of zero.
    pub(super) cannot_stop: bool,
}

/// Budgets that leave the amount of thinking to the model.
const DYNAMIC: Budgets = Budgets { minimal: -1, low: -1, medium: -1, high: -1, cannot_stop: false };

impl<'a> Family<'a> {
    /// Returns the family of a model id.
    pub(super) fn of(id: &'a str) -> Self {
        Self { name: id.rsplit('/').next().unwrap_or(id) }
    }

    /// Returns the rest of the name after `prefix`, ignoring case.
    fn after(&self, prefix: &str) -> Option<&'a str> {
        let head = self.name.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then(|| &self.name[prefix.len()..])
    }

    fn contains(&self, part: &str) -> bool {
        self.name.to_ascii_lowercase().contains(part)
    }

    /// Returns the generation of a Gemini model: 3 for `gemini-3.1-pro`.
    fn gemini(&self) -> Option<u32> {
        let rest = self.after("gemini-live-").or_else(|| self.after("gemini-"))?;
        version(rest).map(|(major, _)| major)
    }

    /// Returns true if calls and results have ids. Earlier generations reject the field.
    pub(super) fn supports_call_ids(&self) -> bool {
        self.after("claude-").is_some() || self.after("gpt-oss-").is_some() || self.is_gemini_3()
    }

    /// Returns true if a function response may contain images.
    pub(super) fn supports_images_in_results(&self) -> bool {
        self.gemini().is_none_or(|major| major >= 3)
    }

    /// Returns true if the model supports strict tool schemas.
    pub(super) fn supports_strict_tools(&self) -> bool {
        self.is_gemini_3()
    }

    /// Returns the support for schemas of the final answer. Before Gemini 3, a request has either
    /// tools or a schema.
    pub(super) fn output_support(&self) -> OutputSupport {
        match self.gemini() {
            Some(major) if major >= 3 => OutputSupport::Supported,
            Some(2) => OutputSupport::WithoutTools,
            _ => OutputSupport::Unsupported,
        }
    }

    fn is_gemini_3(&self) -> bool {
        self.gemini().is_some_and(|major| major >= 3)
    }

    /// Returns true if thinking is requested by level, not by number of tokens.
    pub(super) fn thinks_by_level(&self) -> bool {
        if self.after("gemma-4").is_some() || self.after("gemma4").is_some() {
            return true;
        }
        let Some(rest) = self.after("gemini-") else { return false };
        if rest.eq_ignore_ascii_case("flash-latest")
            || rest.eq_ignore_ascii_case("flash-lite-latest")
        {
            return true;
        }
        match version(rest) {
            Some((3, rest)) => {
                let rest = rest.to_ascii_lowercase();
                rest.starts_with("-pro") || rest.starts_with("-flash")
            }
            Some((major, _)) => major > 3,
            None => false,
        }
    }

    /// Returns true if the model is known to accept a number of tokens.
    pub(super) fn thinks_by_budget(&self) -> bool {
        self.gemini().is_some_and(|major| major < 3)
    }

    /// Returns the thinking tokens per level.
    pub(super) fn budgets(&self) -> Budgets {
        let flash = Budgets { minimal: 128, low: 2048, medium: 8192, high: 24576, ..DYNAMIC };
        if self.contains("2.5-pro") {
            Budgets { high: 32768, cannot_stop: true, ..flash }
        } else if self.contains("2.5-flash-lite") {
            Budgets { minimal: 512, ..flash }
        } else if self.contains("2.5-flash") {
            flash
        } else {
            DYNAMIC
        }
    }
}

/// Parses `3`, `3.1` or `10`: returns the major number and the text after the version.
fn version(text: &str) -> Option<(u32, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (major, rest) = text.split_at(digits(text));
    let major = major.parse().ok()?;
    let rest = match rest.strip_prefix('.') {
        Some(minor) if digits(minor) > 0 => &minor[digits(minor)..],
        _ => rest,
    };
    Some((major, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_follow_from_the_id() {
        // id, call ids, images in results, levels
        let cases = [
            ("gemini-3-flash-preview", true, true, true),
            ("gemini-3.10-pro", true, true, true),
            ("Gemini-3-PRO", true, true, true),
            ("models/gemini-3-pro", true, true, true),
            ("gemini-3-ultra", true, true, false),
            ("gemini-10-x", true, true, true),
            ("gemini-live-3.1-flash", true, true, false),
            ("gemini-live-2.5-flash-preview", false, false, false),
            ("gemini-2.5-pro", false, false, false),
            ("google/gemini-2.5-flash", false, false, false),
            ("gemini-flash-lite-latest", false, true, true),
            ("gemini-pro-latest", false, true, false),
            ("gemma-4-31b-it", false, true, true),
            ("gemma-3-27b-it", false, true, false),
            ("claude-sonnet-4", true, true, false),
            ("gpt-oss-120b", true, true, false),
            ("learnlm", false, true, false),
            ("gemini-", false, true, false),
            ("gemini-é", false, true, false),
            ("", false, true, false),
        ];
        for (id, ids, images, levels) in cases {
            let family = Family::of(id);
            let seen = (
                family.supports_call_ids(),
                family.supports_images_in_results(),
                family.thinks_by_level(),
            );
            assert_eq!(seen, (ids, images, levels), "{id}");
        }
    }
}
