//! The output of `--list-models`, as recorded from pi 1.5.0.

use std::path::Path;

use pi_models::{Models, ModelsFile, model_rows, model_table};
use pi_protocol::Model;

const FILE: &str = r#"{"providers": {
    "corp": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k",
        "models": [{"id": "a"},
            {"id": "b", "contextWindow": 1000000, "maxTokens": 1500, "reasoning": true, "input": ["text", "image"]},
            {"id": "c", "contextWindow": 1500000, "maxTokens": 999},
            {"id": "d", "contextWindow": 200500, "maxTokens": 65536},
            {"id": "e e", "contextWindow": 1000001, "maxTokens": 12345678}]},
    "cmd": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "!false",
        "models": [{"id": "cmdbad"}]}}}"#;

fn models(providers: &[&str]) -> Vec<Model> {
    let (file, diagnostics) = ModelsFile::parse(FILE, Path::new("models.json"));
    assert_eq!(diagnostics, []);
    let models = Models::new(file);
    let names = providers.iter().flat_map(|provider| models.names_of(provider));
    names.map(|name| models.find(name.provider, name.id).unwrap()).collect()
}

#[test]
fn models_are_listed_as_a_table() {
    let lines = model_table(&model_rows(&models(&["corp", "groq", "cmd"])[..6], None));
    assert_eq!(
        lines,
        [
            "provider  model                 context  max-out  thinking  images",
            "corp      a                     128K     16.4K    no        no    ",
            "corp      b                     1M       1.5K     yes       yes   ",
            "corp      c                     1.5M     999      no        no    ",
            "corp      d                     200.5K   65.5K    no        no    ",
            "corp      e e                   1.0M     12.3M    no        no    ",
            "groq      llama-3.1-8b-instant  131.1K   131.1K   no        no    ",
        ]
    );
}

#[test]
fn a_search_matches_letters_in_order() {
    let models = models(&["groq", "corp", "cmd"]);
    for (search, expected) in [
        ("corp", &["a", "b", "c", "d", "e e"][..]),
        ("c b", &["cmdbad", "b"]),
        ("zzz", &[]),
        ("crp/a", &["a"]),
        ("a/corp", &["a"]),
        ("a corp", &["a"]),
        ("corp e e", &["e e"]),
        ("27qwen", &["qwen/qwen3.6-27b", "qwen/qwen3.8-27b"]),
        ("qwen27", &["qwen/qwen3.6-27b", "qwen/qwen3.8-27b"]),
        ("3.6qwen", &[]),
        ("qwn 32", &["qwen/qwen3.6-27b", "qwen/qwen3.8-27b"]),
        ("groqgpt 120", &["openai/gpt-oss-120b"]),
        ("gptgroq", &[]),
        ("OSS safe", &["openai/gpt-oss-safeguard-20b"]),
    ] {
        let found: Vec<String> =
            model_rows(&models, Some(search)).into_iter().map(|r| r.model).collect();
        assert_eq!(found, expected, "{search}");
    }
}
