//! The selection of models, compared with recordings of the TypeScript pi.

use std::collections::BTreeMap;

use pi_protocol::{Model, ThinkingLevel};
use serde::Deserialize;
use serde_json::json;

use super::initial::DEFAULT_MODELS;
use super::*;

const OBSERVED: &str = include_str!("../tests/fixtures/models/resolution.jsonl");

#[derive(Deserialize)]
struct Line {
    list: Option<u8>,
    #[serde(default)]
    models: Vec<(String, String, String, bool)>,
    cli: Option<Cli>,
    scope: Option<Patterns>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Usable {
    All(All),
    Some(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cli {
    list: u8,
    usable: Usable,
    provider: Option<String>,
    model: Option<String>,
    thinking: Option<ThinkingLevel>,
    #[serde(default)]
    inline_key: bool,
    expect: Expected,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Expected {
    model: Option<(String, String, String, bool)>,
    level: Option<ThinkingLevel>,
    warning: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Patterns {
    list: u8,
    usable: Usable,
    patterns: Vec<String>,
    expect: ExpectedScope,
}

#[derive(Debug, PartialEq, Deserialize)]
struct ExpectedScope {
    models: Vec<String>,
    warnings: Vec<(String, String, String)>,
}

impl Usable {
    fn has(&self, provider: &str) -> bool {
        match self {
            Self::All(All::All) => true,
            Self::Some(providers) => providers.iter().any(|known| known == provider),
        }
    }
}

#[test]
fn references_are_resolved_as_by_the_typescript_pi() {
    let lines: Vec<Line> =
        OBSERVED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut lists = BTreeMap::new();
    for line in &lines {
        if let Some(list) = line.list {
            lists.insert(list, &line.models);
        }
    }
    let names =
        |list: u8| -> Vec<ModelName<'_>> {
            let name = |(provider, id, name, _): &'static (String, String, String, bool)| {
                ModelName { provider, id, name }
            };
            let models: &'static [_] = Vec::leak(lists[&list].clone());
            models.iter().map(name).collect()
        };
    let by_list: BTreeMap<u8, Vec<ModelName<'_>>> =
        lists.keys().map(|list| (*list, names(*list))).collect();
    let (mut cases, mut wrong) = (0, Vec::new());
    for line in &lines {
        if let Some(cli) = &line.cli {
            cases += 1;
            let ours = ours(cli, &by_list[&cli.list], lists[&cli.list]);
            if ours != cli.expect {
                wrong.push(format!("{cli:?}\n  ours: {ours:?}"));
            }
        }
        if let Some(case) = &line.scope {
            cases += 1;
            let usable = by_list[&case.list].iter().filter(|name| case.usable.has(name.provider));
            let usable: Vec<ModelName<'_>> = usable.copied().collect();
            let ours = model_scope(&case.patterns, &usable);
            let models = ours.models.iter().map(|ScopedName { model, level }| {
                let level = level.map(|level| format!("|{level}")).unwrap_or_default();
                format!("{}|{}{level}", model.provider, model.id)
            });
            let warnings = ours.warnings.iter().map(|warning| {
                let kind = warning.kind.as_str().to_owned();
                (kind, warning.message.clone(), warning.pattern.clone())
            });
            let ours = ExpectedScope { models: models.collect(), warnings: warnings.collect() };
            if ours != case.expect {
                wrong.push(format!("{case:?}\n  ours: {ours:?}"));
            }
        }
    }
    assert!(cases > 400, "{cases}");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Adds the advice about the command line that the recorded errors end in. The library leaves it
/// to the binary.
fn with_advice(error: &SelectModelError) -> String {
    let advice = match error {
        SelectModelError::UnknownProvider(_) => {
            "Use --list-models to see available providers/models."
        }
        SelectModelError::NotFound(_) => "Use --list-models to see available models.",
        SelectModelError::Ambiguous { .. } => "Use --provider or provider/model.",
        SelectModelError::Unusable { .. } => "",
    };
    format!("{error} {advice}").replace("An API key does not", "--api-key does not")
}

fn ours(cli: &Cli, names: &[ModelName<'_>], list: &[(String, String, String, bool)]) -> Expected {
    let request = ModelRequest {
        provider: cli.provider.as_deref(),
        model: cli.model.as_deref(),
        level: cli.thinking,
        has_key: cli.inline_key,
    };
    let nothing = Expected { model: None, level: None, warning: None, error: None };
    match select_model(&request, names, &|provider| cli.usable.has(provider)) {
        Err(error) => Expected { error: Some(with_advice(&error)), ..nothing },
        Ok(None) => nothing,
        Ok(Some(chosen)) => {
            let find = |provider: &str, id: &str| {
                let row = list.iter().find(|row| row.0 == provider && row.1 == id)?;
                Some(Model {
                    provider: row.0.clone(),
                    id: row.1.clone(),
                    name: row.2.clone(),
                    reasoning: row.3,
                    ..Model::default()
                })
            };
            let model = chosen.model.record(find).unwrap();
            Expected {
                model: Some((model.provider, model.id, model.name, model.reasoning)),
                level: chosen.level,
                warning: chosen.warning,
                error: None,
            }
        }
    }
}

#[test]
fn degenerate_references_match_nothing() {
    let names = [ModelName { provider: "a", id: "x", name: "x" }];
    for text in ["a/:high", ":", "a/", &":".repeat(100_000), &"x".repeat(100_000)] {
        let request = ModelRequest { model: Some(text), ..ModelRequest::default() };
        assert!(select_model(&request, &names, &|_| true).is_err(), "{text:.20}");
        assert!(model_scope(&[text], &names).models.is_empty());
    }
}

#[test]
fn credentials_of_a_provider_are_looked_up_once() {
    let models = Models::new(ModelsFile::default());
    let names = models.names();
    let asked = std::cell::RefCell::new(Vec::new());
    let usable = |provider: &str| {
        asked.borrow_mut().push(provider.to_owned());
        provider == "anthropic"
    };
    let request = ModelRequest { model: Some("sonnet:high"), ..ModelRequest::default() };
    let chosen = select_model(&request, &names, &usable).unwrap().unwrap();
    assert!(matches!(chosen.model, SelectedModel::Known(ModelName { provider: "anthropic", .. })));
    let mut asked = asked.into_inner();
    let count = asked.len();
    asked.sort();
    asked.dedup();
    assert!(count > 1 && count == asked.len(), "{count} {asked:?}");
}

#[test]
fn the_default_models_are_in_the_catalog() {
    let models = Models::new(ModelsFile::default());
    let missing: Vec<_> =
        DEFAULT_MODELS.iter().filter(|(p, id)| models.find(p, id).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Observed from pi 1.5.0 with a models.json of three models.
#[test]
fn the_initial_model_is_the_default_of_a_provider_or_the_first() {
    let name = |provider, id| ModelName { provider, id, name: id };
    let corp = [name("corp", "b"), name("corp", "a"), name("corp", "c")];
    let both = [name("groq", "other"), corp[0], name("groq", "openai/gpt-oss-120b")];
    for (case, available, expected) in [
        ("no models", &[][..], None),
        ("the first", &corp, Some(corp[0])),
        ("a default of the table", &both, Some(both[2])),
    ] {
        assert_eq!(initial_model(available), expected, "{case}");
    }
}

#[test]
fn thinking_levels_are_derived_and_limited_to_the_model() {
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off};
    let model = |reasoning: bool, map: serde_json::Value| -> Model {
        serde_json::from_value(json!({
            "id": "m", "provider": "p", "api": "x", "reasoning": reasoning, "thinkingLevelMap": map,
        }))
        .unwrap()
    };
    let (thinks, plain) = (model(true, json!({})), model(false, json!({})));
    let picky = model(true, json!({"minimal": null, "low": null, "medium": null}));
    let own = BTreeMap::from([("p/m".to_owned(), High)]);
    let other = BTreeMap::from([("p/other".to_owned(), High)]);
    for (model, requested, by_model, default, expected) in [
        (&thinks, None, &other, Medium, Medium),
        (&thinks, None, &other, Minimal, Minimal),
        (&thinks, None, &own, Minimal, High),
        (&thinks, Some(Low), &own, Minimal, Low),
        (&thinks, Some(Max), &own, Medium, High),
        (&thinks, Some(Off), &own, Medium, Off),
        (&plain, Some(High), &own, Medium, Off),
        (&picky, None, &other, Medium, High),
    ] {
        let level = thinking_level(model, requested, by_model, default);
        assert_eq!(level, expected, "{requested:?} {default:?}");
    }
}
