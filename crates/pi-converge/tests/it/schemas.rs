//! The published schemas, and the examples of the documentation against them.

use std::fs;
use std::path::{Path, PathBuf};

use pi_converge::{Document, Outcome, Task, TaskInput, TaskSource};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_published_schemas_are_up_to_date() {
    let schemas = [("task", pi_converge::task_schema()), ("report", pi_converge::report_schema())];
    for (name, schema) in schemas {
        let path = repository().join(format!("docs/schemas/{name}.schema.json"));
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == format!("{schema:#}\n"),
            "{name} is out of date: run `cargo xtask schemas`"
        );
    }
}

/// Returns the fenced blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    page.split(open.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[tokio::test]
async fn the_examples_of_the_guide_are_tasks() {
    let page = fs::read_to_string(repository().join("docs/run.md")).unwrap();
    let schema =
        pi_coding_agent::session::OutputContract::compile(&pi_converge::task_schema()).unwrap();
    let blocks = blocks(&page, "yaml");
    assert!(blocks.len() >= 5, "{}", blocks.len());
    for text in blocks {
        let document = Document::parse("task.yaml", text).unwrap();
        let violations = schema.check(&std::sync::Arc::new(document.value.clone())).await;
        assert!(violations.is_empty(), "{text}\n{violations:?}");
        let source = TaskSource::File {
            name: "task.yaml".to_owned(),
            text: text.to_owned(),
            directory: repository(),
        };
        let mut input = TaskInput::new(source, repository());
        if document.value.pointer("/inputs/parameters/issue").is_some() {
            input.parameters.push(("issue".to_owned(), "README.md".to_owned()));
        }
        if let Err(problems) = Task::load(&input) {
            panic!("{text}\n{problems:?}");
        }
    }
}

#[test]
fn the_guide_lists_every_outcome() {
    let page = fs::read_to_string(repository().join("docs/run.md")).unwrap();
    for outcome in Outcome::ALL {
        let row = format!("| {} | `{outcome}` | {} |", outcome.exit_code(), outcome.row().sentence);
        assert!(page.contains(&row), "docs/run.md needs this row:\n{row}");
    }
}

#[test]
fn the_workflow_is_valid_and_knows_the_exit_codes() {
    let path = repository().join("packaging/ci/pi-run.yml");
    let text = fs::read_to_string(path).unwrap();
    let workflow = Document::parse("pi-run.yml", &text).unwrap().value;
    let steps = workflow.pointer("/jobs/run/steps").and_then(|steps| steps.as_array()).unwrap();
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    assert!(scripts.iter().any(|script| script.contains("pi run ")), "{scripts:?}");
    assert!(scripts.iter().any(|script| script.contains("--dry-run")), "{scripts:?}");
    assert!(scripts.iter().any(|script| script.contains("75)")), "{scripts:?}");
}
