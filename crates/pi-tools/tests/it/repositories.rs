//! Undo in repositories: what a run destroys comes back, and what others did meanwhile stays.

use std::fs;
use std::path::Path;
use std::process::Command;

use pi_tools::checkpoint::{Change, Choice, ConflictReason, Limits, uncovered};

use crate::checkpoint::Project;

/// Runs a script in the workspace. Returns its output.
fn sh(root: &Path, script: &str) -> String {
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(root)
        .env("HOME", root.parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{script}\n{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

const SETUP: &str = "git init -q -b main . && mkdir d && echo 1 > a && echo 1 > d/b && git add . \
    && git commit -qm one && echo 2 > a && git commit -qam two && git tag -a v1 -m tag \
    && git switch -qc feature && echo f > f && git add f && git commit -qm feature \
    && git switch -q main && git update-ref refs/remotes/origin/topic feature \
    && echo s1 > a && git stash -q && echo s2 > a && git stash -q && echo wip > d/b";

/// What a user can lose in a repository, besides the files.
fn look(root: &Path) -> String {
    sh(
        root,
        "git for-each-ref; git symbolic-ref -q HEAD; git stash list; git reflog --all | wc -l; \
         git log --all --format=%h%s | sort; git status --porcelain --untracked-files=no; cat a d/b; \
         git show stash@{1}:a 2>/dev/null; git fsck --connectivity-only 2>&1 | grep -i missing; true",
    )
}

const DESTROYERS: &[&str] = &[
    "git branch -D feature",
    "git branch -q --delete --force feature",
    "git branch -rd origin/topic",
    "git tag -d v1",
    "git tag -f v1 HEAD~1",
    "git stash drop",
    "git stash clear",
    "git update-ref -d refs/heads/feature",
    "git update-ref refs/heads/feature main",
    "git reset -q --hard HEAD~1",
    "git reset -q --soft HEAD~1",
    "git checkout -q -B feature",
    "git switch -qC main HEAD~1 --discard-changes",
    "git branch -M feature main2",
    "git commit -q --amend -am other",
    "git commit -qam more",
    "git reflog expire --expire=all --all",
    "git reflog delete HEAD@{1}",
    "git switch -q feature --discard-changes && git branch -D main",
    "git branch -D feature && git update-ref -d refs/remotes/origin/topic && git stash clear \
     && git tag -d v1 && git reflog expire --expire=now --all && git gc -q --prune=now",
    "git stash clear; git reflog expire --expire=now --all; git prune --expire=now; git repack -qad",
    "python3 -c \"import subprocess as s; s.run(['git','branch','-D','feature'], check=True)\"",
    "rm -rf .git/refs .git/logs .git/packed-refs",
    "rm -rf .git/objects",
    "rm -rf .git",
];

#[test]
fn loose_references_and_objects_come_back() {
    destroy("true");
}

#[test]
fn packed_references_and_objects_come_back() {
    destroy("git gc -q");
}

/// Each way to lose something loses it without an undo, and nothing with one.
fn destroy(packing: &str) {
    let template = Project::new();
    sh(&template.root, SETUP);
    sh(&template.root, packing);
    let before = look(&template.root);
    for script in DESTROYERS {
        let case = format!("{packing}: {script}");
        let project = Project::new();
        sh(&project.root, &format!("cp -a {}/. .", template.root.display()));
        let mut checkpoints = project.open(Limits::default());
        checkpoints.take_found().unwrap();
        assert_eq!(checkpoints.uncovered_repository(), None);
        sh(&project.root, script);
        let is_there = |name: &str| project.root.join(name).exists();
        let is_whole = [".git/HEAD", ".git/objects", ".git/refs"].into_iter().all(is_there);
        assert!(!is_whole || look(&project.root) != before, "nothing is lost: {case}");
        checkpoints.take("run").unwrap();
        let report = checkpoints.undo().unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(report.conflicts, [], "{case}");
        assert!(!report.paths.is_empty(), "{case}");
        assert_eq!(look(&project.root), before, "{case}");
    }
}

#[test]
fn what_an_undo_restored_is_destroyed_again_by_a_redo() {
    let project = Project::new();
    sh(&project.root, SETUP);
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take_found().unwrap();
    sh(
        &project.root,
        "git branch -D feature && git stash drop -q && git commit -qam more && git branch new \
         && git switch -q new",
    );
    let after = look(&project.root);
    checkpoints.take("run").unwrap();
    checkpoints.undo().unwrap();
    assert_ne!(look(&project.root), after);
    assert_eq!(checkpoints.redo().unwrap().conflicts, []);
    assert_eq!(look(&project.root), after);
}

#[test]
fn what_others_did_since_stays_and_is_named() {
    let project = Project::new();
    sh(&project.root, SETUP);
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take_found().unwrap();
    sh(
        &project.root,
        "git branch -D feature && git tag -d v1 && git stash clear && git branch agent",
    );
    checkpoints.take("run").unwrap();
    let theirs = "git branch feature HEAD~1 && echo mine > a && git stash -q && git commit -q \
        --allow-empty -m mine && git switch -q agent && git commit -q --allow-empty -m more";
    sh(&project.root, theirs);
    let report = checkpoints.undo().unwrap();
    let conflicts: Vec<(&str, ConflictReason)> =
        report.conflicts.iter().map(|one| (one.path.as_str(), one.reason)).collect();
    assert!(
        conflicts.contains(&(".git/refs/heads/feature", ConflictReason::Changed)),
        "{conflicts:?}"
    );
    assert!(
        conflicts.contains(&(".git/refs/heads/agent", ConflictReason::Changed)),
        "{conflicts:?}"
    );
    let subject =
        |reference: &str| sh(&project.root, &format!("git log -1 --format=%s {reference}"));
    assert_eq!(subject("feature"), "one\n");
    assert_eq!(subject("main"), "mine\n");
    assert_eq!(subject("agent"), "more\n");
    assert_eq!(subject("v1"), "two\n");
    // The stash of the user, and those that the run dropped.
    assert_eq!(sh(&project.root, "git stash list | wc -l").trim(), "3");
    let stashed = sh(&project.root, "for n in 0 1 2; do git show stash@{$n}:a; done");
    assert_eq!(stashed, "mine\ns2\ns1\n");
    sh(&project.root, "git fsck --connectivity-only 2>&1 | grep -i missing && exit 1; true");
}

/// A rollback restores the references that a caller chooses: those that others moved meanwhile stay,
/// although they are in the same state.
#[test]
fn only_chosen_references_are_restored() {
    for packing in ["true", "git pack-refs --all"] {
        let project = Project::new();
        sh(&project.root, SETUP);
        sh(&project.root, packing);
        let mut checkpoints = project.open(Limits::default());
        let first = checkpoints.take_found().unwrap();
        sh(&project.root, "git branch -D feature && git commit -q --allow-empty -m theirs");
        checkpoints.take("before the rollback").unwrap();
        let choose = |change: &Change| match change.path.contains("feature") {
            true => Choice::Restore,
            false if change.path == ".git/packed-refs" => Choice::Restore,
            false => Choice::Leave,
        };
        let report = checkpoints.restore_some(first, &choose).unwrap();
        assert_eq!(report.conflicts, [], "{packing}");
        let subjects =
            sh(&project.root, "git log -1 --format=%s main; git log -1 --format=%s feature");
        assert_eq!(subjects, "theirs\nfeature\n", "{packing}");
        let none = checkpoints.restore_some(first, &|_| Choice::Leave).unwrap();
        assert_eq!((none.paths.len(), none.conflicts.len()), (0, 0), "{packing}");
    }
}

#[test]
fn nested_repositories_and_worktrees_are_covered() {
    let project = Project::new();
    sh(&project.root, SETUP);
    sh(
        &project.root,
        "mkdir -p lib && cd lib && git init -q -b main . && echo l > l && git add l \
        && git commit -qm lib && git branch side && cd .. && echo lib/ >> .gitignore \
        && git worktree add -q wt -b in-wt && cd wt && git commit -q --allow-empty -m in-worktree",
    );
    let refs = || {
        sh(&project.root, "git for-each-ref; git -C lib for-each-ref; git -C wt log --format=%s")
    };
    let before = refs();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take_found().unwrap();
    sh(
        &project.root,
        "rm -rf lib/.git/refs/heads/side && git -C lib reflog expire --expire=all --all \
        && git -C wt reset -q --hard HEAD~1 && git -C wt reflog expire --expire=now --all \
        && git gc -q --prune=now && git -C lib gc -q --prune=now",
    );
    assert_ne!(refs(), before);
    checkpoints.take("run").unwrap();
    assert_eq!(checkpoints.undo().unwrap().conflicts, []);
    assert_eq!(refs(), before);
}

#[test]
fn taking_checkpoints_changes_no_repository() {
    let project = Project::new();
    sh(&project.root, SETUP);
    let all = || {
        let script =
            "find .git -type f | sort | xargs sha256sum; find . | xargs stat -c '%n %a %Y'";
        sh(&project.root, script)
    };
    let before = all();
    let mut checkpoints = project.open(Limits::default());
    let number = checkpoints.take_found().unwrap();
    assert_eq!(checkpoints.take("nothing").unwrap(), number);
    assert_eq!(all(), before);
    sh(&project.root, "touch -d 2001-01-01 a; git status > /dev/null; git log > /dev/null");
    // A cache of git is no change that a run made.
    assert_eq!(checkpoints.take("status").unwrap(), number);
    sh(&project.root, "git fsck");
}

#[test]
fn a_repository_that_a_run_created_stays() {
    let project = Project::new();
    fs::write(project.path("a"), "1").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take_found().unwrap();
    sh(&project.root, "git init -q . && git add a && git commit -qm x && echo 2 > a");
    checkpoints.take("run").unwrap();
    let report = checkpoints.undo().unwrap();
    assert_eq!(report.conflicts.len(), 1);
    assert_eq!(report.conflicts[0].reason, ConflictReason::NewRepository);
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "1");
    sh(&project.root, "git fsck && git log");
}

#[test]
fn small_ignored_files_come_back() {
    let project = Project::new();
    let write = |name: &str, size: usize| {
        let path = project.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x".repeat(size)).unwrap();
    };
    fs::write(project.path(".gitignore"), "*.db\n.env\ntarget\nnode_modules\nprivate\n").unwrap();
    for (name, size) in [
        (".env", 10),
        ("small.db", 1000),
        ("big.db", 2_000_000),
        ("target/x", 10),
        ("node_modules/a/b", 10),
        ("private/deep/notes", 10),
        ("d/.env", 5),
    ] {
        write(name, size);
    }
    let exists = |name: &str| project.path(name).exists();
    let mut checkpoints = project.open(Limits::default());
    let first = checkpoints.take_found().unwrap();
    sh(
        &project.root,
        "rm -rf .env *.db target node_modules private; echo changed > d/.env; echo n > new.db",
    );
    let second = checkpoints.take("run").unwrap();
    assert_eq!(checkpoints.diff(first, second).unwrap(), [], "no diff has ignored files");
    fs::write(project.path("small.db"), "of the user").unwrap();
    let report = checkpoints.undo().unwrap();
    for (name, expected) in [
        (".env", true),
        ("private/deep/notes", true),
        ("big.db", false),
        ("target/x", false),
        ("node_modules/a/b", false),
        ("new.db", true),
    ] {
        assert_eq!(exists(name), expected, "{name}");
    }
    assert_eq!(fs::read_to_string(project.path("d/.env")).unwrap(), "xxxxx");
    assert_eq!(fs::read_to_string(project.path("small.db")).unwrap(), "of the user");
    let left: Vec<&str> = report.conflicts.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(left, ["small.db"]);
    // What a checkpoint does not cover is known beforehand.
    write("big.db", 2_000_000);
    write("private/large", 2_000_000);
    write("target/large", 2_000_000);
    write("tracked", 20_000_000);
    for (path, expected) in [
        (".", 3),
        ("big.db", 1),
        ("private", 1),
        ("target", 0),
        ("target/large", 0),
        (".env", 0),
        ("tracked", 1),
        ("missing", 0),
        ("d", 0),
    ] {
        let path = if path == "." { project.root.clone() } else { project.path(path) };
        let found = uncovered(&project.root, &path, Limits::default().file_bytes);
        assert_eq!(found.len(), expected, "{}: {found:?}", path.display());
    }
}

/// Objects that no session needs are removed with the sessions.
#[test]
fn kept_objects_are_removed_with_their_sessions() {
    let project = Project::new();
    sh(&project.root, SETUP);
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take_found().unwrap();
    drop(checkpoints);
    let sessions = project.store().parent().unwrap().to_owned();
    let kept = || {
        let found = fs::read_dir(sessions.join(".store/repositories"));
        found.map_or(0, |found| found.count())
    };
    assert_eq!(kept(), 1);
    let later = std::time::SystemTime::now() + Limits::default().age * 2;
    pi_tools::checkpoint::prune(&sessions, &Limits::default(), later).unwrap();
    assert_eq!(kept(), 0);
}
