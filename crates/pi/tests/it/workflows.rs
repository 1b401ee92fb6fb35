//! The shipped CI files: they parse, their scripts are valid for bash, and every option of `pi run`
//! in them exists. No test runs them on a runner.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pi_converge::Document;
use serde_json::Value;

use crate::test_env::TestEnv;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/ci").join(name);
    fs::read_to_string(path).unwrap()
}

/// Returns the workflow with the job that is commented out.
fn uncommented(text: &str) -> String {
    let (before, job) = text.split_once("  # pull-request:\n").unwrap();
    let job = job.lines().map(|line| line.strip_prefix("  # ").unwrap_or(line));
    let job: String = job.map(|line| format!("  {line}\n")).collect();
    format!("{before}  pull-request:\n{job}")
}

/// Collects the scripts: `run` of GitHub, `script` and `before_script` of GitLab.
fn scripts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, member) in map {
                match (name.as_str(), member) {
                    ("run", Value::String(script)) => found.push(script.clone()),
                    ("script" | "before_script", Value::Array(lines)) => {
                        let lines = lines.iter().map(|line| line.as_str().unwrap());
                        found.push(lines.collect::<Vec<_>>().join("\n"));
                    }
                    _ => scripts(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| scripts(item, found)),
        _ => {}
    }
}

/// Returns the options of all commands `pi run` of a script.
fn options(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let commands = joined.lines().filter_map(|line| line.trim().strip_prefix("pi run "));
    let words = commands.flat_map(str::split_whitespace);
    let options = words.filter_map(|word| word.strip_prefix("--"));
    options.map(|option| option.split('=').next().unwrap().to_owned()).collect()
}

#[test]
fn scripts_are_valid_and_their_options_exist() {
    let help = TestEnv::new().out(&["run", "--help"]);
    let known: Vec<&str> = help
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter_map(|word| word.strip_prefix("--"))
        .collect();
    let github = read("pi-run.yml");
    let files = [
        ("pi-run.yml", uncommented(&github), 6),
        ("pi-run.gitlab-ci.yml", read("pi-run.gitlab-ci.yml"), 2),
    ];
    let mut used = Vec::new();
    for (name, text, count) in files {
        let value = Document::parse(name, &text).unwrap_or_else(|error| panic!("{error}")).value;
        let mut found = Vec::new();
        scripts(&value, &mut found);
        assert_eq!(found.len(), count, "{name}: {found:#?}");
        for script in found {
            let mut bash = Command::new("/bin/bash")
                .arg("-n")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            let output = bash.wait_with_output().unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{script}\n{output:?}");
            used.extend(options(&script));
        }
    }
    for option in ["pull-request", "dry-run", "report", "junit", "summary", "pr-base"] {
        assert!(used.iter().any(|used| used == option), "{option} is not used: {used:?}");
    }
    for option in used {
        assert!(known.contains(&option.as_str()), "pi run has no option --{option}");
    }
}

#[test]
fn changes_are_saved_also_if_the_run_fails() {
    let value = Document::parse("pi-run.yml", &read("pi-run.yml")).unwrap().value;
    let steps = value["jobs"]["run"]["steps"].as_array().unwrap();
    let step = |part: &str| steps.iter().find(|step| step.to_string().contains(part)).unwrap();
    assert_eq!(step("diffFile")["if"], "always()");
    let upload = step("upload-artifact");
    assert_eq!(upload["if"], "always()");
    assert_eq!(upload["with"]["if-no-files-found"], "ignore");
    assert_eq!(value["permissions"]["contents"], "read");
    let whole = uncommented(&read("pi-run.yml"));
    let whole = Document::parse("pi-run.yml", &whole).unwrap().value;
    let permissions = &whole["jobs"]["pull-request"]["permissions"];
    assert_eq!(
        (&permissions["contents"], &permissions["pull-requests"]),
        (&"write".into(), &"write".into())
    );
    let gitlab = Document::parse("gitlab", &read("pi-run.gitlab-ci.yml")).unwrap().value;
    assert_eq!(gitlab["pi-run"]["artifacts"]["when"], "always");
}
