//! The model catalog: what is known of the models of the built-in providers.
//!
//! The records are embedded as text and stay text until somebody asks: nothing is parsed or
//! allocated at start-up. `index` says where each provider's lines are, a look-up scans those
//! lines for one id, and `decode` builds the one record. `models.txt` and `index.rs` are
//! written by `cargo xtask catalog`; do not edit them.
//!
//! This module knows nothing of models the user defines, of fuzzy names, or of which providers
//! have a key.

mod decode;
mod index;

use std::ops::Range;

use pi_protocol::Model;

use decode::Tables;

/// The generated text: shared tables first, then one line per model, grouped by provider.
static TEXT: &str = include_str!("catalog/models.txt");

/// The model of this provider with exactly this id.
pub fn find(provider: &str, id: &str) -> Option<Model> {
    let (provider, lines) = provider_section(provider)?;
    decode::model(provider, find_line(lines, id)?, &tables())
}

/// All models of a provider, sorted by id; none when the provider is unknown.
pub fn models(provider: &str) -> impl Iterator<Item = Model> + use<> {
    let tables = tables();
    provider_section(provider).into_iter().flat_map(move |(provider, lines)| {
        lines.lines().filter_map(move |line| decode::model(provider, line, &tables))
    })
}

/// Id and display name of a model of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogName {
    /// The id that is sent to the provider.
    pub id: &'static str,
    /// The display name; the id if there is none.
    pub name: &'static str,
}

/// The ids and names of a provider's models, in the order of [`models`]. No record is decoded: this
/// is for finding a model among all of them.
pub fn names(provider: &str) -> impl Iterator<Item = CatalogName> + use<> {
    provider_section(provider).into_iter().flat_map(|(_, lines)| lines.lines()).filter_map(|line| {
        let mut fields = line.split('\t');
        let (id, name) = (fields.next()?, fields.next()?);
        Some(CatalogName { id, name: if name.is_empty() { id } else { name } })
    })
}

/// The ids of the providers that have models here, sorted.
pub fn providers() -> impl Iterator<Item = &'static str> {
    index::PROVIDERS.iter().map(|(provider, _)| *provider)
}

/// The models with exactly this id, one for each provider that offers it.
pub fn find_anywhere(id: &str) -> Vec<Model> {
    let tables = tables();
    index::PROVIDERS
        .iter()
        .filter_map(|(provider, range)| {
            decode::model(provider, find_line(section(range), id)?, &tables)
        })
        .collect()
}

fn provider_section(id: &str) -> Option<(&'static str, &'static str)> {
    let at = index::PROVIDERS.binary_search_by_key(&id, |(provider, _)| provider).ok()?;
    let (provider, range) = index::PROVIDERS.get(at)?;
    Some((provider, section(range)))
}

/// The line that starts with `id` and a tab. An id holds neither tabs nor line breaks, which the
/// generator checks, so a query that does finds nothing.
fn find_line(lines: &'static str, id: &str) -> Option<&'static str> {
    lines.lines().find(|line| line.strip_prefix(id).is_some_and(|rest| rest.starts_with('\t')))
}

/// A part of the text. A range that does not fit reads as empty instead of panicking; the test
/// that the committed files are up to date is what keeps that from happening.
fn section(range: &Range<usize>) -> &'static str {
    TEXT.get(range.clone()).unwrap_or_default()
}

fn tables() -> Tables {
    Tables {
        endpoints: section(&index::ENDPOINTS),
        thinking: section(&index::THINKING),
        limits: section(&index::LIMITS),
        compat: section(&index::COMPAT),
        headers: section(&index::HEADERS),
        caches: section(&index::CACHES),
        tiers: section(&index::TIERS),
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::ThinkingLevel;

    use super::*;

    #[test]
    fn finds_a_known_model() {
        let model = find("anthropic", "claude-sonnet-4-5").unwrap();
        assert_eq!(model.provider, "anthropic");
        assert_eq!(model.api, "anthropic-messages");
        assert_eq!(model.base_url, "https://api.anthropic.com");
        assert!(model.reasoning && model.accepts_images());
        assert_eq!((model.cost.input, model.cost.output), (3.0, 15.0));
        assert!(model.prompt_cache.is_some() && model.input_limits.is_some());
    }

    #[test]
    fn finds_ids_with_punctuation() {
        for (provider, id) in [
            ("openrouter", "anthropic/claude-sonnet-4.5"),
            ("amazon-bedrock", "amazon.nova-lite-v1:0"),
            ("cloudflare-workers-ai", "@cf/openai/gpt-oss-120b"),
        ] {
            assert_eq!(find(provider, id).map(|model| model.id).as_deref(), Some(id));
        }
    }

    #[test]
    fn unknown_names_find_nothing() {
        for (provider, id) in [
            ("nobody", "claude-sonnet-4-5"),
            ("", "claude-sonnet-4-5"),
            ("Anthropic", "claude-sonnet-4-5"),
            ("anthropic", "claude-sonnet"),
            ("anthropic", "claude sonnet 4 5"),
            ("anthropic", ""),
            // Whole lines and parts of lines are not ids.
            ("anthropic", "claude-sonnet-4-5\t"),
            ("anthropic", "claude-sonnet-4-5\tClaude Sonnet 4.5"),
            ("anthropic", "\n"),
        ] {
            assert_eq!(find(provider, id), None, "{provider:?} {id:?}");
        }
        assert_eq!(models("nobody").count(), 0);
        assert_eq!(find_anywhere("no such model"), []);
    }

    #[test]
    fn spaces_in_an_id_are_part_of_it() {
        let lines = "a b\tA\nab\tB\na\tC\n";
        assert_eq!(find_line(lines, "a b"), Some("a b\tA"));
        assert_eq!(find_line(lines, "a"), Some("a\tC"));
        assert_eq!(find_line(lines, "b"), None);
    }

    #[test]
    fn every_line_decodes() {
        for (provider, range) in index::PROVIDERS {
            let ids: Vec<String> = models(provider).map(|model| model.id).collect();
            assert!(!ids.is_empty(), "{provider}");
            assert_eq!(ids.len(), section(range).lines().count(), "{provider}");
            assert!(ids.is_sorted(), "{provider}");
            let named = names(provider).map(|model| (model.id.to_owned(), model.name.to_owned()));
            assert!(named.eq(models(provider).map(|model| (model.id, model.name))), "{provider}");
        }
        assert!(providers().is_sorted());
    }

    #[test]
    fn an_id_may_have_several_providers() {
        let found = find_anywhere("gpt-5.1");
        let providers: Vec<&str> = found.iter().map(|model| model.provider.as_str()).collect();
        assert!(providers.contains(&"openai") && providers.contains(&"azure"), "{providers:?}");
        assert!(found.iter().all(|model| model.id == "gpt-5.1"));
    }

    #[test]
    fn shared_rows_reach_the_model() {
        let nvidia = models("nvidia").next().unwrap();
        assert_eq!(nvidia.headers.get("NVCF-POLL-SECONDS").map(String::as_str), Some("3600"));
        let model = find("openai", "gpt-5.1").unwrap();
        assert!(model.thinking_level_map.contains_key(&ThinkingLevel::Off));
        assert_eq!(model.compat.get("supportsStrictMode"), Some(&serde_json::Value::Bool(true)));
    }

    #[test]
    fn copilot_models_do_not_pass_for_an_editor() {
        assert!(models("github-copilot").all(|model| model.headers.is_empty()));
    }
}
