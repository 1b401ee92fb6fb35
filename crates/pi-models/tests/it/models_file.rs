//! `models.json`: what it changes, and what is said when it is broken.

use std::path::Path;

use pi_models::{Models, ModelsFile, schemas};
use pi_protocol::{InputKind, Model, ThinkingLevel};
use serde_json::json;

fn parse(text: &str) -> (ModelsFile, Vec<String>) {
    let (file, diagnostics) = ModelsFile::parse(text, Path::new("models.json"));
    (file, diagnostics.iter().map(ToString::to_string).collect())
}

fn models(text: &str) -> Models {
    let (file, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    Models::new(file)
}

fn find(models: &Models, provider: &str, id: &str) -> Model {
    models.find(provider, id).unwrap_or_else(|| panic!("no {provider}/{id}"))
}

#[test]
fn a_new_provider_has_pis_defaults() {
    let models = models(
        "\u{feff}// mine\n{\"$schema\": \"x\", \"providers\": {\"corp\": {\"baseUrl\": \"http://a/v1\", /* wire */ \"api\": \"openai-completions\",\n  \"compat\": {\"supportsStore\": false, \"x\": {\"a\": 1}}, \"models\": [{\"id\": \"m\", \"unknown\": 1, \"compat\": {\"x\": {\"b\": 2}}},]},}}",
    );
    let model = find(&models, "corp", "m");
    assert_eq!(
        serde_json::to_value(&model).unwrap(),
        json!({"id": "m", "name": "m", "api": "openai-completions", "provider": "corp",
            "baseUrl": "http://a/v1", "reasoning": false, "input": ["text"],
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": 128_000, "maxTokens": 16_384,
            "compat": {"supportsStore": false, "x": {"a": 1, "b": 2}}})
    );
    assert_eq!(models.providers().last(), Some("corp"));
}

/// The order and the numbers are observed from pi 1.5.0.
#[test]
fn a_record_changes_a_built_in_provider() {
    let models = models(
        r#"{"providers": {"groq": {
            "models": [{"id": "zzz"}, {"id": "llama-3.1-8b-instant", "contextWindow": 5}, {"id": "aaa", "name": "Triple"}],
            "modelOverrides": {
                "llama-3.3-70b-versatile": {"contextWindow": 7, "reasoning": true, "name": "Llama!",
                    "cost": {"output": 9}, "input": ["text", "image"], "thinkingLevelMap": {"max": "m", "bogus": "x"}},
                "nope": {}, "zzz": {"maxTokens": 8.5}}}}}"#,
    );
    let names: Vec<_> = models.names_of("groq").iter().map(|name| (name.id, name.name)).collect();
    let ids: Vec<_> = names.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        ids,
        [
            "llama-3.1-8b-instant",
            "llama-3.3-70b-versatile",
            "openai/gpt-oss-120b",
            "openai/gpt-oss-20b",
            "openai/gpt-oss-safeguard-20b",
            "qwen/qwen3.6-27b",
            "qwen/qwen3.8-27b",
            "zzz",
            "aaa"
        ]
    );
    assert_eq!((names[1].1, names[8].1), ("Llama!", "Triple"));
    let replaced = find(&models, "groq", "llama-3.1-8b-instant");
    assert_eq!((replaced.context_window, replaced.max_tokens), (5, 16_384));
    let changed = find(&models, "groq", "llama-3.3-70b-versatile");
    let built_in = find(&Models::new(ModelsFile::default()), "groq", "llama-3.3-70b-versatile");
    assert_eq!((changed.context_window, changed.max_tokens), (7, built_in.max_tokens));
    assert_eq!((changed.cost.input, changed.cost.output), (built_in.cost.input, 9.0));
    assert_eq!(changed.input, [InputKind::Text, InputKind::Image]);
    assert_eq!(changed.mapped_thinking(ThinkingLevel::Max), Some("m"));
    assert!(changed.reasoning);
    let added = find(&models, "groq", "zzz");
    assert_eq!((added.max_tokens, added.base_url), (9, built_in.base_url));
    assert!(models.find("groq", "nope").is_none());
}

#[test]
fn a_built_in_provider_can_have_another_url() {
    let models = models(
        r#"{"providers": {"anthropic": {"baseUrl": "https://proxy.example/v1", "compat": {"a": 1}}}}"#,
    );
    let model = find(&models, "anthropic", "claude-sonnet-4-5");
    assert_eq!(model.base_url, "https://proxy.example/v1");
    assert_eq!(model.compat["a"], 1);
    assert!(model.reasoning && model.compat.len() > 1);
}

#[test]
fn the_last_of_two_models_with_the_same_id_applies() {
    let models = models(
        r#"{"providers": {"x": {"baseUrl": "http://a", "api": "openai-completions",
            "models": [{"id": "m"}, {"id": "n"}, {"id": "m", "maxTokens": 5}],
            "modelOverrides": {"m": {"contextWindow": 9}}}}}"#,
    );
    let model = find(&models, "x", "m");
    assert_eq!((model.context_window, model.max_tokens), (9, 5));
    assert_eq!(models.names_of("x").iter().map(|name| name.id).collect::<Vec<_>>(), ["m", "n"]);
}

/// As in pi 1.5.0, a schema violation invalidates the whole file, an incomplete provider only itself.
#[test]
fn invalid_files_are_reported_with_their_position() {
    let good =
        r#""good": {"baseUrl": "http://a", "api": "openai-completions", "models": [{"id": "m"}]}"#;
    let all: &[(&str, &[&str])] = &[
        ("", &["line 1 column 0"]),
        ("[]", &["line 1 column"]),
        ("{}", &["missing field `providers`", "line 1 column 2"]),
        ("{\n  \"providers\": {\n    GOOD,\n    oops\n  }\n}", &["line 4 column"]),
        ("{\"providers\": {GOOD, \"x\": 5}}", &["providers.x", "line 1 column"]),
        (
            "{\"providers\": {GOOD, \"x\": {\"models\": [{\"name\": \"y\"}]}}}",
            &["providers.x.models.0", "id"],
        ),
        (
            "{\"providers\": {GOOD,\n\"x\": {\"models\": [{\"id\": \"a\"}, {\"id\": \"\"}]}}}",
            &["providers.x.models.1.id", "must not be empty", "line 2 column"],
        ),
        (
            "{\"providers\": {GOOD, \"x\": {\"models\": [{\"id\": \"a\", \"contextWindow\": \"1\", \"maxTokens\": -1}]}}}",
            &[
                "providers.x.models.0.contextWindow",
                "providers.x.models.0.maxTokens",
                "more than 0",
            ],
        ),
        (
            "{\"providers\": {GOOD, \"x\": {\"headers\": {\"A\": 1}, \"oauth\": \"foo\"}}}",
            &["providers.x.headers", "providers.x.oauth"],
        ),
        (
            "{\"providers\": {GOOD, \"x\": {\"modelOverrides\": {\"m\": {\"input\": [\"audio\"]}}}}}",
            &["providers.x.modelOverrides.m.input"],
        ),
        ("{\"providers\": {GOOD, \"x\": {\"apiKey\": \"\"}}}", &["providers.x.apiKey"]),
    ];
    for (text, expected) in all {
        let (file, diagnostics) = parse(&text.replace("GOOD", good));
        assert_eq!(file, ModelsFile::default(), "{text}");
        let [diagnostic] = diagnostics.as_slice() else { panic!("{text}: {diagnostics:?}") };
        assert!(diagnostic.starts_with("models.json: "), "{diagnostic}");
        assert!(diagnostic.ends_with("the whole file is ignored until this is corrected"));
        for part in *expected {
            assert!(diagnostic.contains(part), "{text}: {diagnostic}");
        }
    }
    for (provider, expected) in [
        ("{}", "it is empty"),
        (r#"{"baseUrl": "http://a", "models": [{"id": "m"}]}"#, "has no \"api\""),
        (r#"{"api": "openai-completions", "models": [{"id": "m"}]}"#, "has no \"baseUrl\""),
        (
            r#"{"baseUrl": "http://a", "api": "x", "models": [{"id": "m", "cost": {"input": 1}}]}"#,
            "needs input, output, cacheRead and cacheWrite",
        ),
    ] {
        let (file, diagnostics) =
            parse(&format!("{{\"providers\": {{\"x\": {provider}, {good}}}}}"));
        assert_eq!(file.provider_ids().count(), 1, "{provider}");
        assert!(diagnostics.len() == 1 && diagnostics[0].contains(expected), "{diagnostics:?}");
        assert!(diagnostics[0].contains("provider \"x\""), "{diagnostics:?}");
    }
}

#[test]
fn missing_and_unreadable_files_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("models.json");
    assert_eq!(ModelsFile::load(&path), (ModelsFile::default(), vec![]));
    std::fs::write(&path, b"{\"providers\": {\"\xff\": {}}}").unwrap();
    let (_, diagnostics) = ModelsFile::load(&path);
    assert!(diagnostics[0].message.contains("not UTF-8 after 16 bytes"), "{diagnostics:?}");
    std::fs::write(&path, "{\"providers\": {\"groq\": {\"baseUrl\": \"http://a\"}}}").unwrap();
    let (file, diagnostics) = ModelsFile::load(&path);
    assert_eq!((file.provider_ids().count(), diagnostics.len()), (1, 0));
    // A directory cannot be read as a file.
    let (_, diagnostics) = ModelsFile::load(directory.path());
    assert!(diagnostics[0].message.contains("cannot be read"), "{diagnostics:?}");
}

#[test]
fn the_schema_comes_from_the_types() {
    let schema = schemas().into_iter().find(|file| file.name == "models").unwrap().schema;
    assert_eq!(schema["required"], json!(["providers"]));
    let model = &schema["$defs"]["ModelRecord"];
    assert_eq!(model["required"], json!(["id"]));
    for field in ["id", "api", "baseUrl", "contextWindow", "thinkingLevelMap", "samplingParams"] {
        assert!(model["properties"][field].is_object(), "{field}: {model}");
    }
    assert!(schema["$defs"]["ProviderRecord"]["properties"]["modelOverrides"].is_object());
}
