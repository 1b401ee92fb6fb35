//! The examples, run as they are. `schemas` is a chore: what it writes is compared with the documents by a test of its own.

#![allow(unreachable_pub)] // they are programs of their own, too

use std::collections::BTreeSet;

#[path = "../../examples/api_keys.rs"]
mod api_keys;
#[path = "../../examples/context_files.rs"]
mod context_files;
#[path = "../../examples/custom_model.rs"]
mod custom_model;
#[path = "../../examples/custom_prompt.rs"]
mod custom_prompt;
#[path = "../../examples/extensions.rs"]
mod extensions;
#[path = "../../examples/full_control.rs"]
mod full_control;
#[path = "../../examples/minimal.rs"]
mod minimal;
#[path = "../../examples/prompt_templates.rs"]
mod prompt_templates;
#[path = "../../examples/session_runtime.rs"]
mod session_runtime;
#[path = "../../examples/sessions.rs"]
mod sessions;
#[path = "../../examples/settings.rs"]
mod settings;
#[path = "../../examples/skills.rs"]
mod skills;
#[path = "../../examples/tools.rs"]
mod tools;

#[tokio::test]
async fn minimal_answers() {
    assert_eq!(minimal::run().await.unwrap().as_deref(), Some("You wanted to buy milk."));
}

#[tokio::test]
async fn custom_model_is_chosen_and_changed() {
    let seen = custom_model::run().await.unwrap();
    let [first, second, third] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(first, "claude-sonnet-4-5, thinking high");
    assert_eq!(second, "claude-sonnet-4-5, thinking off");
    assert!(third.starts_with("claude-haiku-4-5, "), "{third}");
}

#[tokio::test]
async fn custom_prompt_replaces_and_adds() {
    let [replaced, added] = custom_prompt::run().await.unwrap();
    assert!(replaced.contains("You are a pirate.") && !replaced.contains("coding agent"));
    assert!(added.contains("Be brief.") && added.contains("coding agent"), "{added}");
}

#[tokio::test]
async fn skills_are_listed_and_used() {
    let (commands, told) = skills::run().await.unwrap();
    assert_eq!(commands, ["skill:greeting"]);
    assert!(told.contains("Greet everyone") && told.contains("Say hello."), "{told}");
}

#[tokio::test]
async fn tools_are_chosen_and_called() {
    let (names, answer) = tools::run().await.unwrap();
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["dice", "find", "grep", "ls", "read"]));
    assert_eq!(answer.as_deref(), Some("You rolled a four."));
}

#[tokio::test]
async fn extensions_block_and_command() {
    let (told, name) = extensions::run().await.unwrap();
    assert_eq!(told, "The user does not allow deleting files.");
    assert_eq!(name.as_deref(), Some("1 blocked"));
}

#[tokio::test]
async fn context_files_are_in_the_prompt() {
    let [with, without] = context_files::run().await.unwrap();
    let general = with.find("be polite").unwrap();
    assert!(general < with.find("use tabs").unwrap(), "{with}");
    assert!(!without.contains("use tabs"), "{without}");
}

#[tokio::test]
async fn prompt_templates_take_arguments() {
    let said = prompt_templates::run().await.unwrap().unwrap();
    let expected = "Review main.rs and say what is wrong with it. Look at: the error paths.";
    assert_eq!(said.trim(), expected);
}

#[tokio::test]
async fn api_keys_come_from_three_places() {
    let providers = api_keys::run().await.unwrap();
    let expected = ["anthropic", "google", "openai"].map(str::to_owned);
    assert_eq!(providers, BTreeSet::from(expected));
}

#[tokio::test]
async fn settings_are_laid_over_each_other() {
    let (retries, compaction, file) = settings::run().await.unwrap();
    assert_eq!((retries, compaction), (7, false));
    assert!(file.contains("maxRetries") && !file.contains("compaction"), "{file}");
}

#[tokio::test]
async fn sessions_are_kept_and_found() {
    let expected = [
        "in memory: None",
        "the latest is the same: true",
        "by id: 2 messages of the user",
        "listed: Remember the milk.",
    ];
    assert_eq!(sessions::run().await.unwrap(), expected);
}

#[tokio::test]
async fn full_control_needs_no_files() {
    assert_eq!(full_control::run().await.unwrap(), "Done.\n");
}

#[tokio::test]
async fn session_runtime_replaces_sessions() {
    let expected = [
        "forked: 1 left, to be written anew: Some(\"Two.\")",
        "new: 0 messages",
        "back: 2 of the user",
    ];
    assert_eq!(session_runtime::run().await.unwrap(), expected);
}

/// An example that no test runs is one that breaks unseen.
#[test]
fn every_example_is_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let here = include_str!("examples.rs");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let elsewhere = ["schemas.rs"].contains(&name.as_str());
        assert!(elsewhere || here.contains(&format!("examples/{name}\"]")), "{name}");
    }
}
