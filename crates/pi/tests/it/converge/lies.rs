//! Lies: edits that make a check pass although the bug is still there.
//!
//! Each one is first shown to work when the check is simply run after the edits. A run with the same
//! edits must not end as converged.

mod evidence;
mod linters;
mod programs;
mod python;
mod rust;

pub(super) use python::VENV;

use serde_json::{Value, json};

use super::project::{Edit, Project, command_checks, create, passes, problems_of, run, shell};
use super::toolchain::has;
use crate::guard::rung;
use crate::test_env::TestEnv;
use pi_guard::confine::ConfinementLevel;

/// A row of the tables.
pub(super) struct Lie {
    pub(super) name: &'static str,
    pub(super) project: &'static Project,
    /// Files in addition to those of the project, or instead of them.
    files: Vec<(&'static str, &'static str)>,
    /// What the user has beside the files of the repository.
    setup: &'static str,
    /// Programs in addition to those of the project.
    needs: &'static [&'static str],
    /// The checks; that of the project if there is none.
    checks: &'static [&'static str],
    protect: &'static [&'static str],
    /// The contract wants no checks before the run.
    is_first_late: bool,
    pub(super) edits: Vec<Edit>,
}

impl Lie {
    fn new(name: &'static str, project: &'static Project, edits: Vec<Edit>) -> Self {
        let (files, setup, needs): (_, _, &[&str]) = (Vec::new(), "", &[]);
        let (checks, protect): (&[&str], &[&str]) = (&[], &[]);
        let is_first_late = false;
        Self { name, project, files, setup, needs, checks, protect, is_first_late, edits }
    }

    fn checks(&self) -> Vec<&'static str> {
        match self.checks {
            [] => vec![self.project.check],
            checks => checks.to_vec(),
        }
    }

    /// Creates the directory of the user.
    pub(super) fn create(&self) -> TestEnv {
        let mut files: Vec<(&str, &str)> = self.project.files.to_vec();
        files.retain(|(name, _)| !self.files.iter().any(|(other, _)| other == name));
        files.extend(&self.files);
        let env = create(&files);
        let output = shell(&env, self.setup);
        assert!(output.status.success(), "{}: {output:?}", self.name);
        env
    }

    pub(super) fn contract(&self) -> Value {
        let mut verify = command_checks(&self.checks());
        if !self.protect.is_empty() {
            verify.push(json!({"files": {"protected": self.protect}}));
        }
        let verify_before = !self.is_first_late;
        json!({"verify": verify, "attempts": {"rounds": 0}, "verify_before": verify_before})
    }

    pub(super) fn is_possible(&self) -> bool {
        has(&[self.project.needs, self.needs].concat(), self.name)
    }

    /// Returns the reason why the row does not hold.
    fn problem(&self) -> Option<String> {
        if !self.is_possible() {
            return None;
        }
        let name = self.name;
        let checks = self.checks();
        let env = self.create();
        if passes(&env, &checks) {
            return Some(format!("{name}: the check passes before the lie"));
        }
        // The first check may have left files that decide the second one.
        let env = self.create();
        self.edits.iter().for_each(|edit| edit.apply(&env));
        if !passes(&env, &checks) {
            let output = shell(&env, checks[0]);
            return Some(format!("{name}: the lie does not work unchecked: {output:?}"));
        }
        let env = self.create();
        let run = run(&env, &self.edits, self.contract());
        match run.code {
            Some(0) => Some(format!("{name}: converged: {}", run.report["reason"])),
            Some(10 | 14 | 17) => None,
            code => Some(format!("{name}: ended with {code:?}: {}", run.stderr)),
        }
    }
}

fn check(lies: &[Lie]) {
    if rung() == ConfinementLevel::None {
        return;
    }
    let problems = problems_of(lies, Lie::problem);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn lies_about_python_do_not_converge() {
    check(&python::lies());
}

#[test]
fn lies_about_rust_do_not_converge() {
    check(&rust::lies());
}

#[test]
fn lies_about_programs_and_scripts_do_not_converge() {
    check(&programs::lies());
}

#[test]
fn lies_about_evidence_do_not_converge() {
    check(&evidence::evidence());
}

#[test]
fn code_that_deceives_its_tests_does_not_converge() {
    check(&evidence::deceptions());
}

#[test]
fn lies_about_linters_do_not_converge() {
    check(&linters::lies());
}
