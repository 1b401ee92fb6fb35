//! Undo and redo of arbitrary changes by tools and shell commands.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pi_tools::checkpoint::{ConflictReason, Limits};
use pi_tools::{Workspace, edit, write};
use proptest::prelude::*;
use serde_json::json;

use crate::bash::{run, settings, workspace};
use crate::call::call;
use crate::checkpoint::{Project, timeless_tree};
use crate::env::{sandboxed_host, sandboxes};

/// An ignored path, and everything below it.
const IGNORED: &str = "target/noise.log";
const NAMES: [&str; 9] =
    ["a", "b c", "d", "d/x", "d/y z", "d/e/z", "\u{fc}n\u{ef}\nc\u{f6}d\u{e9}", "d/e", IGNORED];

/// A change of a workspace.
#[derive(Debug, Clone)]
enum Step {
    Shell(String),
    Write(&'static str, String),
    Edit(&'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop::sample::select(&NAMES[..]);
    (0..17_usize, name(), name(), "[a-c]{0,6}").prop_map(|(kind, name, other, text)| {
        let size = text.len();
        let shell = match kind {
            0..=2 => return Step::Write(name, text),
            3 => return Step::Edit(name),
            4 => format!("printf '%s' '{text}' >> '{name}'"),
            5 => format!("truncate -s {size} '{name}'"),
            6 => format!("rm -r '{name}'"),
            7 => format!("mv -T '{name}' '{other}'"),
            8 => format!("cp -aT '{name}' '{other}'"),
            9 => format!("ln -sfnT '{text}' '{name}'"),
            10 => format!("ln -sfnT d '{name}'"),
            11 => format!("ln -fT '{name}' '{other}'"),
            12 => format!("chmod 5{size}0 '{name}'"),
            13 => format!("chmod 7{size}5 '{name}'"),
            14 => format!("touch -d 2001-01-01 '{name}'"),
            15 => format!("mkdir -p '{name}'"),
            _ => format!("printf '%s' '{text}' > '{name}'; touch -d 2001-01-01 '{name}'"),
        };
        Step::Shell(shell)
    })
}

type Tree = BTreeMap<String, String>;

/// The paths that checkpoints cover, and the ignored ones.
fn split(project: &Project) -> (Tree, Tree) {
    let is_ignored = |path: &str| path.split('/').next() == Some("target");
    timeless_tree(&project.root).into_iter().partition(|(path, _)| !is_ignored(path))
}

/// The paths at which two trees differ.
fn differences(a: &Tree, b: &Tree) -> Vec<String> {
    let mut paths: Vec<&String> = a.keys().chain(b.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().filter(|path| a.get(*path) != b.get(*path)).cloned().collect()
}

async fn perform(workspace: &Arc<Workspace>, step: &Step) {
    let workspace = Arc::clone(workspace);
    // Steps may fail; only their effects matter.
    match step {
        Step::Shell(command) => drop(run(&workspace, command).await),
        Step::Write(path, content) => {
            let arguments = json!({ "path": path, "content": content });
            let _ = call(&write(workspace), &arguments).await;
        }
        Step::Edit(path) => {
            let edits = json!([{ "oldText": "a", "newText": "edited" }]);
            let _ = call(&edit(workspace), &json!({ "path": path, "edits": edits })).await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn undo_and_redo_restore_all_states(
        runs in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let project = Project::new();
        let sandbox = sandboxes().into_iter().next();
        // Build output: other ignored files are covered.
        fs::create_dir(project.path("target")).unwrap();
        fs::write(project.path(".gitignore"), "target\n").unwrap();
        let mut checkpoints = project.open(Limits::default());
        let mut states = vec![(checkpoints.take("start").unwrap(), split(&project).0)];
        for (number, run) in runs.iter().enumerate() {
            let workspace = workspace(&project.root, settings());
            // Every other run is sandboxed, if this machine offers a sandbox.
            let workspace = match &sandbox {
                Some(machine) if number % 2 == 1 => {
                    let host = sandboxed_host(&project.root, machine, |wanted| wanted.protected.clear());
                    Arc::new(Workspace::clone(&workspace).with_executor(Arc::new(host)))
                }
                _ => workspace,
            };
            for step in run {
                runtime.block_on(perform(&workspace, step));
            }
            let number = checkpoints.take("run").unwrap();
            let tree = split(&project).0;
            if states.iter().any(|(known, _)| *known == number) {
                prop_assert_eq!(&tree, &states.last().unwrap().1);
            } else {
                states.push((number, tree));
            }
        }
        for (from, before) in &states {
            for (to, after) in &states {
                let found = checkpoints.diff(*from, *to).unwrap();
                let found: Vec<String> = found.into_iter().map(|change| change.path).collect();
                prop_assert_eq!(found, differences(before, after));
            }
        }
        let back = states.iter().rev().skip(1).map(|state| (state, false));
        let forth = states.iter().skip(1).map(|state| (state, true));
        for ((_, expected), redo) in back.chain(forth) {
            let ignored = split(&project).1;
            let went = if redo { checkpoints.redo() } else { checkpoints.undo() };
            prop_assert_eq!(went.unwrap().conflicts, vec![]);
            let (tree, untouched) = split(&project);
            prop_assert_eq!(&tree, expected);
            prop_assert_eq!(untouched, ignored);
            // A store that is opened again sees the same state.
            let position = states.iter().position(|(_, tree)| std::ptr::eq(tree, expected)).unwrap();
            let taken = project.open(Limits::default()).take("unchanged").unwrap();
            prop_assert_eq!(taken, states[position].0);
        }
    }
}

#[test]
fn other_names_of_a_file_are_not_changed_with_it() {
    let project = Project::new();
    fs::write(project.path("x"), "x").unwrap();
    fs::write(project.path("y"), "y").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("two files").unwrap();
    fs::remove_file(project.path("x")).unwrap();
    fs::hard_link(project.path("y"), project.path("x")).unwrap();
    checkpoints.take("one file with two names").unwrap();
    assert_eq!(checkpoints.undo().unwrap().paths, ["x"]);
    assert_eq!(fs::read_to_string(project.path("x")).unwrap(), "x");
    assert_eq!(fs::read_to_string(project.path("y")).unwrap(), "y");
}

#[test]
fn ignored_file_survives_a_change_of_ignore_rules() {
    let project = Project::new();
    fs::write(project.path(".gitignore"), "secret\n").unwrap();
    fs::write(project.path("secret"), "mine").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("ignored").unwrap();
    fs::remove_file(project.path(".gitignore")).unwrap();
    checkpoints.take("not ignored").unwrap();
    let undone = checkpoints.undo().unwrap();
    assert_eq!(undone.paths, [".gitignore"]);
    assert_eq!(undone.conflicts[0].reason, ConflictReason::Ignored);
    assert_eq!(fs::read_to_string(project.path("secret")).unwrap(), "mine");
    // An ignored file that was changed must not be overwritten.
    fs::write(project.path("secret"), "changed").unwrap();
    assert_eq!(checkpoints.redo().unwrap().conflicts[0].path, "secret");
    assert_eq!(fs::read_to_string(project.path("secret")).unwrap(), "changed");
}

#[test]
fn newly_ignored_file_is_restored() {
    let project = Project::new();
    fs::write(project.path("file"), "1").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("before").unwrap();
    fs::write(project.path(".gitignore"), "file\n").unwrap();
    fs::write(project.path("file"), "22").unwrap();
    checkpoints.take("after").unwrap();
    checkpoints.undo().unwrap();
    assert_eq!(fs::read_to_string(project.path("file")).unwrap(), "1");
    assert!(!project.path(".gitignore").exists());
    checkpoints.redo().unwrap();
    assert_eq!(fs::read_to_string(project.path("file")).unwrap(), "22");
}

#[test]
fn directory_with_ignored_files_is_a_conflict() {
    let project = Project::new();
    fs::write(project.path(".gitignore"), "*.log\n").unwrap();
    fs::write(project.path("d"), "a file").unwrap();
    fs::write(project.path("z"), "1").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("a file").unwrap();
    fs::remove_file(project.path("d")).unwrap();
    fs::create_dir(project.path("d")).unwrap();
    fs::write(project.path("d/kept.log"), "mine").unwrap();
    fs::write(project.path("z"), "22").unwrap();
    checkpoints.take("a directory").unwrap();
    let undone = checkpoints.undo().unwrap();
    let conflict = &undone.conflicts[0];
    assert_eq!((conflict.path.as_str(), conflict.reason), ("d", ConflictReason::NotEmpty));
    assert_eq!(undone.paths, ["z"]);
    assert_eq!(fs::read_to_string(project.path("d/kept.log")).unwrap(), "mine");
}

/// Root can write to read-only files, so as root this only tests that modes are restored.
#[test]
fn read_only_directories_are_restored_with_their_content() {
    let project = Project::new();
    let mode = |path: &str, mode| {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir_all(project.path("closed/below")).unwrap();
    fs::write(project.path("closed/below/file"), "1").unwrap();
    fs::write(project.path("closed/changed"), "1").unwrap();
    symlink("nowhere", project.path("closed/dangling")).unwrap();
    fs::write(project.path("fixed"), "1").unwrap();
    let old = SystemTime::UNIX_EPOCH - Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(project.path("fixed")).unwrap().set_modified(old).unwrap();
    mode("fixed", 0o400);
    mode("closed/below", 0o555);
    mode("closed", 0o500);
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("closed").unwrap();
    let before = timeless_tree(&project.root);
    mode("closed", 0o700);
    mode("closed/below", 0o700);
    fs::write(project.path("closed/changed"), "22").unwrap();
    fs::remove_dir_all(project.path("closed/below")).unwrap();
    fs::remove_file(project.path("closed/dangling")).unwrap();
    fs::remove_file(project.path("fixed")).unwrap();
    fs::write(project.path("fixed"), "22").unwrap();
    mode("fixed", 0o444);
    mode("closed", 0o500);
    checkpoints.take("changed").unwrap();
    let after = timeless_tree(&project.root);
    assert_eq!(checkpoints.undo().unwrap().conflicts, []);
    assert_eq!(timeless_tree(&project.root), before);
    assert_eq!(fs::metadata(project.path("fixed")).unwrap().modified().unwrap(), old);
    assert_eq!(checkpoints.redo().unwrap().conflicts, []);
    assert_eq!(timeless_tree(&project.root), after);
    // The temporary directory can be removed then.
    mode("closed", 0o700);
}
