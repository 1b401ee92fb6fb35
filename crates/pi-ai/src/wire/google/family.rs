//! What a model's id says about what it takes.
//!
//! Google publishes no capability flags, and its generations differ in what a request may contain,
//! so the id is all there is. Nothing here looks at the model record.

/// A model's place among Google's families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family<'a> {
    /// The id without a leading path, such as `models/`.
    name: &'a str,
}

/// Thinking tokens per level of a model that takes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budgets {
    /// The least there is; for [`Budgets::cannot_stop`] also what "off" comes to.
    pub(super) minimal: i64,
    /// A little.
    pub(super) low: i64,
    /// Moderately.
    pub(super) medium: i64,
    /// As much as the model takes.
    pub(super) high: i64,
    /// The model refuses a budget of zero.
    pub(super) cannot_stop: bool,
}

/// The budget that leaves the choice to the model.
const DYNAMIC: Budgets = Budgets { minimal: -1, low: -1, medium: -1, high: -1, cannot_stop: false };

impl<'a> Family<'a> {
    /// The family of a model id.
    pub(super) fn of(id: &'a str) -> Self {
        Self { name: id.rsplit('/').next().unwrap_or(id) }
    }

    /// What follows `prefix`, whatever the case.
    fn after(&self, prefix: &str) -> Option<&'a str> {
        let head = self.name.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then(|| &self.name[prefix.len()..])
    }

    fn contains(&self, part: &str) -> bool {
        self.name.to_ascii_lowercase().contains(part)
    }

    /// The generation of a Gemini model: 3 for `gemini-3.1-pro`.
    fn gemini(&self) -> Option<u32> {
        let rest = self.after("gemini-live-").or_else(|| self.after("gemini-"))?;
        version(rest).map(|(major, _)| major)
    }

    /// Calls and results carry ids. Earlier generations reject the field.
    pub(super) fn takes_call_ids(&self) -> bool {
        self.after("claude-").is_some() || self.after("gpt-oss-").is_some() || self.is_gemini_3()
    }

    /// A function response may contain images.
    pub(super) fn takes_images_in_results(&self) -> bool {
        self.gemini().is_none_or(|major| major >= 3)
    }

    /// The model can be held to the schemas of its tools.
    pub(super) fn takes_strict_tools(&self) -> bool {
        self.is_gemini_3()
    }

    fn is_gemini_3(&self) -> bool {
        self.gemini().is_some_and(|major| major >= 3)
    }

    /// Thinking is asked for by level, not by number of tokens.
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

    /// The model is known to take a number of tokens.
    pub(super) fn thinks_by_budget(&self) -> bool {
        self.gemini().is_some_and(|major| major < 3)
    }

    /// Thinking tokens per level.
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

/// Reads `3`, `3.1` or `10`: the major number, and what follows the version.
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
    fn ids_tell_what_a_model_takes() {
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
                family.takes_call_ids(),
                family.takes_images_in_results(),
                family.thinks_by_level(),
            );
            assert_eq!(seen, (ids, images, levels), "{id}");
        }
    }
}
