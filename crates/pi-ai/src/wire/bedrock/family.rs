//! Capabilities of a model, by its id or its name.
//!
//! Bedrock serves models of many vendors under one API and publishes no capability flags. The id of
//! an application inference profile says nothing about its model, so the name of the record counts,
//! too: a user gives such a profile the name of its model.

use pi_protocol::Model;

/// The vendors whose models differ in what a request may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Claude, with its version if one is known: (4, 5).
    Claude(Option<(u32, u32)>),
    /// OpenAI's open models.
    GptOss,
    /// OpenAI's other models.
    Gpt,
    Other,
}

/// The way in which a Claude model is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// A number of tokens.
    Budget,
    /// An effort.
    Adaptive,
    /// An effort; thinking is bound to the conversation before it.
    Bound,
}

impl Family {
    /// Returns the family of a model.
    pub(super) fn of(model: &Model) -> Self {
        let names = [normalized(&model.name), normalized(&model.id)];
        let has = |part: &str| names.iter().any(|name| name.contains(part));
        if has("claude") {
            // The newer of both: an old id can be an alias for a newer model, which is then in the
            // name.
            Self::Claude(names.iter().filter_map(|name| claude_version(name)).max())
        } else if has("gpt-oss") {
            Self::GptOss
        } else if has("gpt-") {
            Self::Gpt
        } else {
            Self::Other
        }
    }

    /// Returns true for Claude models.
    pub(super) fn is_claude(self) -> bool {
        matches!(self, Self::Claude(_))
    }

    /// Returns true if the model accepts cache points.
    pub(super) fn supports_cache_points(self, model: &Model) -> bool {
        let Self::Claude(Some(version)) = self else { return false };
        version >= (3, 7)
            || version == (3, 5) && [&model.id, &model.name].iter().any(|id| is_haiku(id))
    }

    /// Returns the way in which a Claude model is told how much to think.
    pub(super) fn thinking(self) -> Thinking {
        match self {
            Self::Claude(Some(version)) if version >= (4, 7) => Thinking::Bound,
            Self::Claude(Some(version)) if version >= (4, 6) => Thinking::Adaptive,
            _ => Thinking::Budget,
        }
    }
}

fn is_haiku(id: &str) -> bool {
    id.to_ascii_lowercase().contains("haiku")
}

/// Brings ids and names into one form: "Claude Opus 4.7" is `claude-opus-4-7`.
fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace(['.', ' ', '_', ':', '/'], "-")
}

/// Reads the version of a Claude model: the first number, and the number right after it. Longer
/// numbers are dates.
fn claude_version(name: &str) -> Option<(u32, u32)> {
    let rest = name.split_once("claude-")?.1;
    let number = |part: &str| match part.len() {
        1 | 2 => part.parse::<u32>().ok(),
        _ => None,
    };
    let mut parts = rest.split('-').skip_while(|part| number(part).is_none());
    let major = number(parts.next()?)?;
    Some((major, parts.next().and_then(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_follow_from_id_and_name() {
        use Thinking::{Adaptive, Bound, Budget};
        // id, name, cache points, thinking
        let claude = [
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", true, Budget),
            ("anthropic.claude-opus-4-20250514-v1:0", "", true, Budget),
            ("anthropic.claude-3-7-sonnet-20250219-v1:0", "", true, Budget),
            ("anthropic.claude-3-5-haiku-20241022-v1:0", "", true, Budget),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", "", false, Budget),
            ("anthropic.claude-3-haiku-20240307-v1:0", "", false, Budget),
            ("anthropic.claude-v2:1", "", false, Budget),
            ("my-claude", "", false, Budget),
            ("eu.anthropic.claude-opus-4-6-v1", "", true, Adaptive),
            ("anthropic.claude-sonnet-4-6", "", true, Adaptive),
            ("anthropic.claude-opus-4-7", "", true, Bound),
            ("Anthropic.Claude-Opus-4.7", "", true, Bound),
            ("anthropic.claude-opus-4-10", "", true, Bound),
            ("anthropic.claude-fable-5", "", true, Bound),
            ("global.anthropic.claude-haiku-5-5", "", true, Bound),
            ("anthropic.claude-sonnet-6", "", true, Bound),
            ("arn:aws:bedrock:x:1:inference-profile/eu.anthropic.claude-opus-4-7", "", true, Bound),
            (
                "arn:aws:bedrock:x:1:application-inference-profile/a1",
                "Claude Opus 4.6",
                true,
                Adaptive,
            ),
            (
                "arn:aws:bedrock:x:1:application-inference-profile/a1",
                "Claude Sonnet 4.5",
                true,
                Budget,
            ),
        ];
        for (id, name, cache, thinking) in claude {
            let model = Model { id: id.into(), name: name.into(), ..Model::default() };
            let family = Family::of(&model);
            assert!(family.is_claude(), "{id}");
            assert_eq!(
                (family.supports_cache_points(&model), family.thinking()),
                (cache, thinking),
                "{id}"
            );
        }
        let others = [
            ("openai.gpt-oss-120b-1:0", Family::GptOss),
            ("us-gov.openai.gpt-oss-20b-1:0", Family::GptOss),
            ("global.openai.gpt-6.1-sol", Family::Gpt),
            ("amazon.nova-pro-v1:0", Family::Other),
            ("arn:aws:bedrock:us-west-2:1:application-inference-profile/a1", Family::Other),
            ("", Family::Other),
        ];
        for (id, expected) in others {
            let model = Model { id: id.into(), ..Model::default() };
            assert_eq!(Family::of(&model), expected, "{id}");
            assert!(!expected.supports_cache_points(&model));
        }
    }
}
