//! Mistakes in a contract that its schema cannot express, and that need no file or agent to find.

use globset::Glob;
use pi_agent::ThinkingLevel;
use pi_coding_agent::ToolChoice;
use pi_config::settings::{Profile, SandboxMode};
use regex_lite::Regex;

use crate::contract::{
    Check, CommandCheck, Contract, FileRules, JsonCheck, PublishPlan, Review, WorkspaceMode,
};
use crate::publish::is_branch;
use pi_coding_agent::session::OutputContract;

/// Pointers and messages of the mistakes.
type Mistakes = Vec<(String, String)>;

/// Returns all mistakes.
pub(super) fn mistakes(contract: &Contract) -> Mistakes {
    let mut found = Mistakes::new();
    let mut report = |pointer: &str, message: String| found.push((pointer.to_owned(), message));
    if contract.version != 1 {
        report("/version", format!("version {} is not supported; expected 1", contract.version));
    }
    if contract.goal.trim().is_empty() {
        report("/goal", "the goal is empty".to_owned());
    }
    if let Some(level) = &contract.thinking
        && let Err(error) = level.parse::<ThinkingLevel>()
    {
        report("/thinking", error.to_string());
    }
    if let Some(Err(error)) = contract.tools.as_deref().map(ToolChoice::parse) {
        report("/tools", error.to_string());
    }
    if let Some(profile) = &contract.policy.profile
        && let Err(error) = profile.parse::<Profile>()
    {
        report("/policy/profile", error.to_string());
    }
    if let Some(mode) = &contract.policy.sandbox
        && let Err(error) = mode.parse::<SandboxMode>()
    {
        report("/policy/sandbox", error.to_string());
    }
    if contract.limits.cost_usd.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
        report("/limits/cost_usd", "expected an amount that is not negative".to_owned());
    }
    if contract.workspace.base.is_some() && contract.workspace.mode != WorkspaceMode::Worktree {
        report("/workspace/base", "a base requires the mode worktree".to_owned());
    }
    publication(&contract.publish, &mut report);
    if contract.attempts.count == Some(0) {
        report("/attempts/count", "at least one attempt is required".to_owned());
    }
    let schema = contract.output.as_ref().and_then(|output| output.schema.as_ref());
    if let Some(schema) = schema
        && let Err(error) = OutputContract::compile(schema)
    {
        report("/output/schema", error.to_string());
    }
    variables(&contract.check_env, "/check_env", &mut found);
    for (index, check) in contract.verify.iter().enumerate() {
        let pointer = format!("/verify/{index}");
        match check {
            Check::Command(check) => command(check, &pointer, &mut found),
            Check::Files(check) => files(&check.files, &pointer, &mut found),
            Check::Json(check) => json(check, schema.is_some(), &pointer, &mut found),
            Check::Review(check) => review(&check.review, &pointer, &mut found),
        }
    }
    found
}

fn publication(plan: &PublishPlan, report: &mut impl FnMut(&str, String)) {
    if !plan.is_empty() && !plan.pull_request {
        let message = "the settings have no effect without publish.pull_request";
        report("/publish", message.to_owned());
    }
    for (name, branch) in [("base", &plan.base), ("branch", &plan.branch)] {
        if let Some(branch) = branch.as_ref().filter(|branch| !is_branch(branch)) {
            report(&format!("/publish/{name}"), format!("{branch:?} is not the name of a branch"));
        }
    }
    if plan.branch.is_some() && plan.branch == plan.base {
        report("/publish/branch", "expected another branch than publish.base".to_owned());
    }
}

fn command(check: &CommandCheck, pointer: &str, found: &mut Mistakes) {
    if check.command.trim().is_empty() {
        found.push((format!("{pointer}/command"), "the command is empty".to_owned()));
    }
    let patterns = [
        ("output_matches", &check.expect.output_matches),
        ("output_lacks", &check.expect.output_lacks),
    ];
    for (name, pattern) in patterns {
        regex(pattern.as_deref(), &format!("{pointer}/expect/{name}"), found);
    }
    variables(&check.env, &format!("{pointer}/env"), found);
}

fn variables(names: &[String], pointer: &str, found: &mut Mistakes) {
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() || name.contains(['=', '\0', '$']) || name.contains(char::is_whitespace)
        {
            let message = format!("{name:?} is not the name of an environment variable");
            found.push((format!("{pointer}/{index}"), message));
        }
    }
}

fn regex(pattern: Option<&str>, pointer: &str, found: &mut Mistakes) {
    if let Some(Err(error)) = pattern.map(Regex::new) {
        found.push((pointer.to_owned(), format!("invalid regular expression: {error}")));
    }
}

fn files(rules: &FileRules, pointer: &str, found: &mut Mistakes) {
    let lists = [
        ("required", &rules.required),
        ("forbidden", &rules.forbidden),
        ("allowed", &rules.allowed),
        ("protected", &rules.protected),
        ("exist", &rules.exist),
    ];
    let mut empty = rules.max_diff_lines.is_none() && rules.max_files.is_none();
    for (name, globs) in lists {
        empty &= globs.is_empty();
        for (index, glob) in globs.iter().enumerate() {
            if let Err(error) = Glob::new(glob) {
                let message = format!("invalid pattern: {}", error.kind());
                found.push((format!("{pointer}/files/{name}/{index}"), message));
            }
        }
    }
    if empty {
        found.push((format!("{pointer}/files"), "the check has no rule".to_owned()));
    }
}

fn json(check: &JsonCheck, has_schema: bool, pointer: &str, found: &mut Mistakes) {
    if check.file.is_none() && !has_schema {
        let message = "the check reads the result, but the task has no output.schema; \
                       add one, or name a file";
        found.push((pointer.to_owned(), message.to_owned()));
    }
    if check.json.is_empty() {
        found.push((format!("{pointer}/json"), "the check has no assertion".to_owned()));
    }
    for (index, test) in check.json.iter().enumerate() {
        let pointer = format!("{pointer}/json/{index}");
        if !test.pointer.is_empty() && !test.pointer.starts_with('/') {
            let message = "a JSON pointer is empty or begins with a slash".to_owned();
            found.push((format!("{pointer}/pointer"), message));
        }
        regex(test.matches.as_deref(), &format!("{pointer}/matches"), found);
        let asserts = test.equals.is_some()
            || test.matches.is_some()
            || test.exists.is_some()
            || test.min.is_some()
            || test.max.is_some();
        if !asserts {
            let message = "expected one of the fields equals, matches, exists, min or max";
            found.push((pointer, message.to_owned()));
        }
    }
}

fn review(review: &Review, pointer: &str, found: &mut Mistakes) {
    if review.must.is_empty() && review.rubric.as_deref().unwrap_or_default().trim().is_empty() {
        let message = "a review needs a rubric or statements that must hold";
        found.push((format!("{pointer}/review"), message.to_owned()));
    }
}
