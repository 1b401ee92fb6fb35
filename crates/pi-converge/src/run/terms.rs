//! The terms of a contract, as a part of the first prompt: how the result is checked, and what may
//! not change. Pure.

use std::fmt::Write as _;

use pi_base::text::cut;

use crate::contract::{
    Check, CommandCheck, Contract, FileRules, JsonCheck, JsonTest, Review, ReviewCheck,
};

/// Characters of one term.
const LONGEST: usize = 2000;

/// Returns the terms; `None` if the contract has neither checks nor a schema.
pub(super) fn terms(contract: &Contract) -> Option<String> {
    let mut terms = Vec::new();
    for check in &contract.verify {
        match check {
            Check::Command(check) => terms.push(command(check)),
            Check::Files(check) => files(&check.files, &mut terms),
            Check::Json(check) => json(check, &mut terms),
            Check::Review(ReviewCheck { review: Review { rubric, must, .. }, .. }) => {
                terms.extend(rubric.iter().map(|text| format!("A reviewer judges: {text}")));
                terms.extend(must.iter().map(|text| format!("A reviewer must confirm: {text}")));
            }
        }
    }
    if contract.output.as_ref().is_some_and(|output| output.schema.is_some()) {
        terms.push("The result of `submit_result` matches its schema.".to_owned());
    }
    if terms.is_empty() {
        return None;
    }
    let mut text = "The result is checked after you have ended:\n".to_owned();
    for term in terms {
        let _ = writeln!(text, "- {}", cut(&term, LONGEST));
    }
    text.push_str(
        "The checks run in a clean copy: the state at the start plus your changes. Changes to files \
         that git ignores are not in it.",
    );
    if contract.verify.iter().any(|check| matches!(check, Check::Command(_))) {
        text.push_str(
            " Do not change what decides the checks, such as their scripts, their configuration \
             and existing tests, unless the goal asks for it.",
        );
        if !contract.may_change.is_empty() {
            let _ = write!(text, " You may change {}.", listed(&contract.may_change));
        }
    }
    Some(text)
}

fn command(check: &CommandCheck) -> String {
    let expect = &check.expect;
    let mut text = match expect.exit {
        0 => format!("`{}` succeeds", check.command),
        code => format!("`{}` exits with {code}", check.command),
    };
    if let Some(pattern) = &expect.output_matches {
        let _ = write!(text, ", its output matches `{pattern}`");
    }
    if let Some(pattern) = &expect.output_lacks {
        let _ = write!(text, ", its output does not match `{pattern}`");
    }
    if let Some(file) = &expect.junit {
        let _ = write!(text, ", it writes tests without a failure to {}", file.display());
    }
    text.push('.');
    text
}

fn files(rules: &FileRules, terms: &mut Vec<String>) {
    let lists = [
        (&rules.required, "A file is changed for each of"),
        (&rules.allowed, "Only these files are changed:"),
        (&rules.protected, "These files are not changed:"),
        (&rules.forbidden, "These files are not changed:"),
        (&rules.exist, "A file exists at the end for each of"),
    ];
    for (patterns, text) in lists.into_iter().filter(|(patterns, _)| !patterns.is_empty()) {
        terms.push(format!("{text} {}.", listed(patterns)));
    }
    if let Some(most) = rules.max_diff_lines {
        terms.push(format!("At most {most} lines are added and removed."));
    }
    if let Some(most) = rules.max_files {
        terms.push(format!("At most {most} files are changed."));
    }
}

fn json(check: &JsonCheck, terms: &mut Vec<String>) {
    let subject = match &check.file {
        Some(file) => format!("In {}", file.display()),
        None => "In the result".to_owned(),
    };
    terms.extend(check.json.iter().map(|test| format!("{subject}, {}.", assertion(test))));
}

fn assertion(test: &JsonTest) -> String {
    let mut parts = Vec::new();
    if let Some(value) = &test.equals {
        parts.push(format!("equals {value}"));
    }
    if let Some(pattern) = &test.matches {
        parts.push(format!("matches `{pattern}`"));
    }
    match test.exists {
        Some(true) => parts.push("exists".to_owned()),
        Some(false) => parts.push("does not exist".to_owned()),
        None => {}
    }
    if let Some(least) = test.min {
        parts.push(format!("is, or has a length of, at least {least}"));
    }
    if let Some(most) = test.max {
        parts.push(format!("is, or has a length of, at most {most}"));
    }
    format!("{} {}", test.pointer, parts.join(" and "))
}

fn listed(patterns: &[String]) -> String {
    let quoted: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn contract(fields: Value) -> Contract {
        let mut value = json!({ "goal": "Work." });
        if let (Value::Object(value), Value::Object(fields)) = (&mut value, fields) {
            value.extend(fields);
        }
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_kind_of_check_is_stated() {
        let contract = contract(json!({
            "verify": [
                { "command": "make test" },
                { "command": "./lint", "name": "lint", "expect": {
                    "exit": 3, "output_matches": "ok", "output_lacks": "bad", "junit": "j.xml" } },
                { "files": { "required": ["src/**"], "allowed": ["src/**", "Cargo.lock"],
                    "protected": ["tests/**"], "forbidden": ["*.key"], "exist": ["a.json"],
                    "max_diff_lines": 9, "max_files": 2 } },
                { "json": [{ "pointer": "/a", "equals": null }, { "pointer": "/b", "min": 1.0 }] },
                { "json": [{ "pointer": "/c", "exists": true, "matches": "x" }], "file": "a.json" },
                { "review": { "rubric": "Is it simple?", "must": ["It has a test"] } },
            ],
            "output": { "schema": { "type": "object" } },
            "may_change": ["Makefile"],
        }));
        assert_eq!(
            terms(&contract).unwrap(),
            "The result is checked after you have ended:\n\
             - `make test` succeeds.\n\
             - `./lint` exits with 3, its output matches `ok`, its output does not match `bad`, it \
             writes tests without a failure to j.xml.\n\
             - A file is changed for each of `src/**`.\n\
             - Only these files are changed: `src/**`, `Cargo.lock`.\n\
             - These files are not changed: `tests/**`.\n\
             - These files are not changed: `*.key`.\n\
             - A file exists at the end for each of `a.json`.\n\
             - At most 9 lines are added and removed.\n\
             - At most 2 files are changed.\n\
             - In the result, /a equals null.\n\
             - In the result, /b is, or has a length of, at least 1.\n\
             - In a.json, /c matches `x` and exists.\n\
             - A reviewer judges: Is it simple?\n\
             - A reviewer must confirm: It has a test\n\
             - The result of `submit_result` matches its schema.\n\
             The checks run in a clean copy: the state at the start plus your changes. Changes to \
             files that git ignores are not in it. Do not change what decides the checks, such as \
             their scripts, their configuration and existing tests, unless the goal asks for it. \
             You may change `Makefile`."
        );
    }

    #[test]
    fn without_checks_there_are_no_terms() {
        assert_eq!(terms(&contract(json!({}))), None);
    }
}
