//! `cargo xtask tidy [--lower]`: the rules of this repository that the compiler does not check.
//!
//! Each module is one kind of rule: a pure function from files (or from the dependency graph) to
//! findings, so that its tests can give it bad input. The tests at the end of this file run all
//! rules over the repository itself, so `cargo test` includes them. `--lower` lowers the budgets of
//! crates that have become smaller.

mod boundaries;
mod budgets;
mod callers;
mod cycles;
mod graph;
mod javascript;
mod layout;
mod packages;
mod prose;
mod sizes;
mod words;

use std::fmt;

use crate::files::{self, ReadError, SourceFile};
use crate::repository;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: String,
    /// From 1; 0 for the file as a whole.
    line: usize,
    /// The problem and its correction.
    advice: String,
}

impl Finding {
    fn new(file: &str, line: usize, advice: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line.max(1), self.advice)
    }
}

/// Errors of the task, findings included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    #[error("usage: cargo xtask tidy [--lower]")]
    Usage,
    #[error(transparent)]
    Load(#[from] ReadError),
    #[error("{path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("`cargo {command}` failed: {problem}")]
    Cargo { command: &'static str, problem: String },
    #[error("{}\n{} findings", lines(.0), .0.len())]
    Untidy(Vec<Finding>),
}

/// The kinds of files that are checked.
const EXTENSIONS: &[&str] = &["rs", "js", "md", "toml", "lock"];

/// A check of the files of the repository.
type Check = fn(&[SourceFile]) -> Vec<Finding>;

/// The checks of files. The measurement of doc comments has a test of its own.
const CHECKS: &[Check] = &[
    callers::check,
    cycles::check,
    layout::docs_first,
    layout::whitespace,
    layout::orphans,
    layout::lock_sources,
    sizes::check,
    javascript::check,
    words::names,
    words::words,
];

/// Runs all checks over the repository.
pub(crate) fn run(arguments: &[&str]) -> Result<(), TidyError> {
    let files = load()?;
    match arguments {
        [] => {}
        ["--lower"] => return budgets::lower(&files),
        _ => return Err(TidyError::Usage),
    }
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&files)).collect();
    findings.extend(prose::check(&files));
    findings.extend(budgets::check(&files)?);
    let graph = graph::whole()?;
    findings.extend(boundaries::check(&graph));
    findings.extend(packages::check(&graph.packages)?);
    findings.extend(boundaries::check_without_http(&graph::without_default_features("pi-ai")?));
    findings.sort();
    if findings.is_empty() { Ok(()) } else { Err(TidyError::Untidy(findings)) }
}

/// Reads the files that are checked.
fn load() -> Result<Vec<SourceFile>, ReadError> {
    files::load(&repository::root(), EXTENSIONS)
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_tidy() {
        let files = load().unwrap();
        let findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&files)).collect();
        assert!(findings.is_empty(), "\n{}", lines(&findings));
    }

    #[test]
    fn doc_comments_are_plain() {
        let findings = prose::check(&load().unwrap());
        assert!(findings.is_empty(), "\n{}", lines(&findings));
    }

    #[test]
    fn the_crates_keep_their_budgets() {
        let findings = budgets::check(&load().unwrap()).unwrap();
        assert!(findings.is_empty(), "\n{}", lines(&findings));
    }

    #[test]
    fn the_crates_keep_their_boundaries() {
        let findings = boundaries::check(&graph::whole().unwrap());
        assert!(findings.is_empty(), "\n{}", lines(&findings));
    }

    #[test]
    fn licenses_and_duplicates_are_known() {
        let findings = packages::check(&graph::whole().unwrap().packages).unwrap();
        assert!(findings.is_empty(), "\n{}", lines(&findings));
    }

    #[test]
    fn pi_ai_without_http_has_no_network() {
        let tree = graph::without_default_features("pi-ai").unwrap();
        assert!(tree.contains("serde_json"), "{tree:?}");
        let findings = boundaries::check_without_http(&tree);
        assert!(findings.is_empty(), "\n{}", lines(&findings));
    }

    #[test]
    fn findings_name_file_and_line() {
        let findings = vec![Finding::new("a.rs", 3, "do this"), Finding::new("b.rs", 0, "do that")];
        let text = TidyError::Untidy(findings).to_string();
        assert_eq!(text, "a.rs:3: do this\nb.rs:1: do that\n2 findings");
    }
}
