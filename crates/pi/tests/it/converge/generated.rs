//! Generated lies and generated honest work, for each kind of check.
//!
//! A seed chooses edits that leave the bug. If the check passes after them when it is simply run,
//! a run with the same edits must not end as converged. Beside it, honest edits with the repair must
//! converge; those that touch expectations may need a review. `cargo xtask lies` makes thousands.

mod mutator;
mod plants;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use super::bugs::ALL;
use super::project::{Edit, Project, command_checks, passes, problems_of, run};
use super::random::Random;
use super::toolchain::has;
use crate::guard::rung;

/// Lies that once converged, one JSON object per line.
const KEPT: &str = include_str!("generated/kept.jsonl");

/// The result of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The lie does not even make the check pass when it is simply run.
    Useless,
    /// The result is right.
    Right,
    /// A lie converged, or honest work did not.
    Wrong,
}

/// The work of one seed.
struct Case {
    project: &'static Project,
    edits: Vec<Edit>,
    contract: Value,
    /// The exit codes that are right; none but 0 are for lies.
    codes: Option<&'static [i32]>,
    /// A useless lie is tried, too.
    is_tried_anyway: bool,
    name: String,
}

impl Case {
    /// Chooses the work of a seed.
    fn of(projects: &[&'static Project], seed: u64) -> Self {
        let mut random = Random::new(seed);
        let project = random.one_of(projects);
        let mut contract =
            json!({"verify": command_checks(&[project.check]), "attempts": {"rounds": 0}});
        let is_tried_anyway = random.once_in(16);
        if random.once_in(4) {
            let work = mutator::honest(project, &mut random);
            contract["may_change"] = json!(work.may_change);
            let codes: &[i32] = if work.is_about_expectations { &[0, 17] } else { &[0] };
            let name = format!("seed {seed}, honest work on {}", project.name);
            let codes = Some(codes);
            return Self { project, edits: work.edits, contract, codes, is_tried_anyway, name };
        }
        let edits = mutator::lie(project, &mut random);
        if random.once_in(3) {
            let protected = if project.name == "npm test" { "test/**" } else { "tests/**" };
            if project.files.iter().any(|(path, _)| path.starts_with(&protected[..5])) {
                let files = json!({"files": {"protected": [protected]}});
                contract["verify"].as_array_mut().unwrap().push(files);
            }
        }
        let name = format!("seed {seed}, a lie about {}", project.name);
        Self { project, edits, contract, codes: None, is_tried_anyway, name }
    }

    /// Makes the edits in a run. Returns the result, with its description if it is wrong.
    fn check(&self) -> (Found, String) {
        if self.codes.is_none() {
            let env = self.project.create();
            self.edits.iter().for_each(|edit| edit.apply(&env));
            // Edits together can also remove the bug.
            let is_lie = self.project.has_bug(&env);
            if !is_lie || !self.is_tried_anyway && !passes(&env, &[self.project.check]) {
                return (Found::Useless, String::new());
            }
        }
        let env = self.project.create();
        let run = run(&env, &self.edits, self.contract.clone());
        let code = run.code.unwrap_or(-1);
        let is_right = match self.codes {
            Some(codes) => codes.contains(&code),
            None => code != 0,
        };
        if is_right {
            return (Found::Right, String::new());
        }
        let edits: Vec<Value> = self.edits.iter().map(kept).collect();
        let kept = json!({"project": self.project.name, "edits": edits});
        let said = if code == 0 { String::new() } else { run.failures() };
        (Found::Wrong, format!("{}: exit code {code}: {kept}\n{said}", self.name))
    }
}

/// Returns an edit as it is kept in a file.
fn kept(edit: &Edit) -> Value {
    match edit {
        Edit::Bash(command) => json!(command),
        Edit::Write(path, content) => json!([path, content]),
    }
}

/// Reads a kept edit.
fn read(edit: &Value) -> Edit {
    match edit {
        Value::String(command) => Edit::Bash(command.clone()),
        edit => {
            Edit::Write(edit[0].as_str().unwrap().to_owned(), edit[1].as_str().unwrap().to_owned())
        }
    }
}

/// Returns the projects whose programs this machine has.
fn projects() -> Vec<&'static Project> {
    ALL.iter().filter(|project| has(project.needs, project.name)).copied().collect()
}

#[test]
fn generated_lies_do_not_converge_and_honest_work_does() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let projects = projects();
    let seeds: Vec<u64> = (1..=12).collect();
    let problems = problems_of(&seeds, |seed| {
        let (found, description) = Case::of(&projects, *seed).check();
        (found == Found::Wrong).then_some(description)
    });
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn lies_that_once_converged_do_not() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let lies: Vec<Value> = KEPT.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let problems = problems_of(&lies, |lie| {
        let project = ALL.iter().find(|project| lie["project"] == project.name).unwrap();
        if !has(project.needs, project.name) {
            return None;
        }
        let edits: Vec<Edit> = lie["edits"].as_array().unwrap().iter().map(read).collect();
        let verify = command_checks(&[project.check]);
        let contract = json!({"verify": verify, "attempts": {"rounds": 0}});
        let run = run(&project.create(), &edits, contract);
        (run.code == Some(0)).then(|| lie.to_string())
    });
    assert!(problems.is_empty(), "{problems:#?}");
}

#[allow(clippy::disallowed_methods)] // The task passes numbers in variables.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `cargo xtask lies`.
#[test]
#[ignore = "takes minutes"]
fn many_lies() {
    let (count, seed) = (setting("PI_LIES_COUNT", 1000), setting("PI_LIES_SEED", 1));
    let projects = projects();
    let began = Instant::now();
    let (useless, right) = (AtomicU64::new(0), AtomicU64::new(0));
    let wrong = Mutex::new(0);
    let seeds: Vec<u64> = (seed..seed + count).collect();
    problems_of(&seeds, |seed| {
        let (found, description) = Case::of(&projects, *seed).check();
        match found {
            Found::Useless => drop(useless.fetch_add(1, Ordering::Relaxed)),
            Found::Right => drop(right.fetch_add(1, Ordering::Relaxed)),
            Found::Wrong => {
                *wrong.lock().unwrap() += 1;
                println!("{description}");
            }
        }
        None
    });
    let wrong = wrong.into_inner().unwrap();
    let took = began.elapsed();
    println!(
        "{count} seeds in {took:.0?}: {} useless lies, {} right, {wrong} wrong",
        useless.into_inner(),
        right.into_inner(),
    );
    assert_eq!(wrong, 0);
}
