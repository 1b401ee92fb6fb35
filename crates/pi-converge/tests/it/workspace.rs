//! Workspaces: in place, as a git worktree and as a copy.

use std::fs;
use std::path::Path;
use std::process::Command;

use pi_coding_agent::guard::AgentChange;
use pi_converge::{BroughtBack, RunWorkspace, WorkspaceMode, WorkspacePlaces, WorkspacePlan};

struct Directories {
    directory: tempfile::TempDir,
}

impl Directories {
    fn new() -> Self {
        let directories = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(directories.origin()).unwrap();
        fs::create_dir_all(directories.run()).unwrap();
        directories
    }

    fn origin(&self) -> std::path::PathBuf {
        self.directory.path().canonicalize().unwrap().join("origin")
    }

    fn run(&self) -> std::path::PathBuf {
        self.directory.path().canonicalize().unwrap().join("run")
    }

    fn places(&self) -> WorkspacePlaces {
        WorkspacePlaces::new(self.origin(), self.run(), self.directory.path().join("store/run"))
    }

    fn prepare(&self, mode: WorkspaceMode) -> RunWorkspace {
        let mut plan = WorkspacePlan::default();
        plan.mode = mode;
        RunWorkspace::prepare(&plan, &self.places(), 1).unwrap()
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn repository(directory: &Path) {
    git(directory, &["init", "-q", "-b", "main"]);
    fs::write(directory.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    fs::create_dir_all(directory.join("sub")).unwrap();
    fs::write(directory.join("sub/b.txt"), "b\n").unwrap();
    git(directory, &["add", "."]);
    git(directory, &["commit", "-qm", "start"]);
}

/// Makes changes in a call of the agent whose changes are not reported.
fn by_agent(workspace: &RunWorkspace, change: impl FnOnce(&Path)) {
    let observer = workspace.observer();
    observer.observe(AgentChange::Begun { is_unknown: true });
    change(workspace.root());
    observer.observe(AgentChange::Ended);
}

/// Changes that a patch must be able to express.
fn change(root: &Path) {
    fs::write(root.join("a.txt"), "one\n2\nthree").unwrap();
    fs::remove_file(root.join("sub/b.txt")).unwrap();
    fs::create_dir_all(root.join("new dir")).unwrap();
    fs::write(root.join("new dir/\"c\".txt"), "c\n").unwrap();
    fs::write(root.join("empty"), "").unwrap();
    fs::write(root.join("script"), "#!/bin/sh\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(root.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
    }
}

fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if name == ".git" {
                continue;
            }
            if path.is_symlink() {
                found.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
            } else if path.is_dir() {
                directories.push(path);
            } else {
                found.push(format!(
                    "{name}: {:?}",
                    String::from_utf8_lossy(&fs::read(&path).unwrap())
                ));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn changes_in_place_are_listed_and_undone() {
    let directories = Directories::new();
    let root = directories.origin();
    repository(&root);
    // What the user has not committed belongs to the start.
    fs::write(root.join("a.txt"), "uncommitted\n").unwrap();
    fs::write(root.join("untracked"), "u\n").unwrap();
    let start = tree(&root);
    let workspace = directories.prepare(WorkspaceMode::InPlace);
    assert_eq!(workspace.root(), root);
    assert!(workspace.changes().unwrap().files.is_empty());
    by_agent(&workspace, change);
    let changes = workspace.changes().unwrap();
    let listed: Vec<String> = changes
        .reports()
        .iter()
        .map(|file| format!("{} {} +{} -{}", file.change, file.path, file.added, file.removed))
        .collect();
    insta::assert_snapshot!(listed.join("\n"), @r#"
    changed a.txt +3 -1
    added empty +0 -0
    added link +1 -0
    added new dir/"c".txt +1 -0
    added script +1 -0
    removed sub/b.txt +0 -1
    "#);
    let status = git(&root, &["diff", "--cached", "--name-only"]);
    assert_eq!(status, "", "the index of the user is not touched");
    assert!(workspace.rollback().unwrap().conflicts.is_empty());
    assert_eq!(tree(&root), start);
}

#[test]
fn a_rollback_keeps_what_others_wrote() {
    let directories = Directories::new();
    let root = directories.origin();
    repository(&root);
    let workspace = directories.prepare(WorkspaceMode::InPlace);
    by_agent(&workspace, change);
    fs::write(root.join("sub/of-the-user"), "kept").unwrap();
    fs::write(root.join("empty"), "both").unwrap();
    let report = workspace.rollback().unwrap();
    let paths: Vec<&str> = report.conflicts.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["empty"]);
    assert_eq!(fs::read_to_string(root.join("sub/of-the-user")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(root.join("empty")).unwrap(), "both");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn a_patch_applies_with_git() {
    let directories = Directories::new();
    let root = directories.origin();
    repository(&root);
    let workspace = directories.prepare(WorkspaceMode::InPlace);
    by_agent(&workspace, change);
    let wanted = tree(&root);
    let patch = directories.run().join("changes.patch");
    let saved = workspace.save_patch(&patch).unwrap();
    assert!(saved.copies.is_empty() && saved.lost.is_empty(), "{saved:?}");
    workspace.rollback().unwrap();
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    git(&root, &["apply", patch.to_str().unwrap()]);
    assert_eq!(tree(&root), wanted);
}

#[test]
fn files_that_are_not_text_are_beside_the_patch() {
    let directories = Directories::new();
    let root = directories.origin();
    repository(&root);
    let workspace = directories.prepare(WorkspaceMode::InPlace);
    fs::write(root.join("sub/image"), b"\0binary").unwrap();
    let patch = directories.run().join("changes.patch");
    let saved = workspace.save_patch(&patch).unwrap();
    assert_eq!(fs::read(&saved.copies[0]).unwrap(), b"\0binary");
    assert!(fs::read_to_string(&patch).unwrap().contains("Binary files"));
}

#[test]
fn the_result_of_a_worktree_or_a_copy_comes_back() {
    for mode in [WorkspaceMode::Worktree, WorkspaceMode::Copy] {
        let directories = Directories::new();
        let origin = directories.origin();
        repository(&origin);
        let start = tree(&origin);
        let workspace = directories.prepare(mode);
        assert_ne!(workspace.root(), origin);
        assert_eq!(tree(workspace.root()), start);
        change(workspace.root());
        let wanted = tree(workspace.root());
        assert_eq!(tree(&origin), start, "{mode:?}: the original stays");
        assert_eq!(workspace.bring_back().unwrap(), BroughtBack::Applied);
        assert_eq!(tree(&origin), wanted, "{mode:?}");
        let root = workspace.root().to_owned();
        workspace.remove().unwrap();
        assert!(!root.exists());
        assert_eq!(git(&origin, &["worktree", "list"]).lines().count(), 1);
    }
}

#[test]
fn nothing_comes_back_over_changes_of_the_user() {
    for mode in [WorkspaceMode::Worktree, WorkspaceMode::Copy] {
        let directories = Directories::new();
        let origin = directories.origin();
        repository(&origin);
        let workspace = directories.prepare(mode);
        change(workspace.root());
        fs::write(origin.join("a.txt"), "of the user\n").unwrap();
        let before = tree(&origin);
        let conflicts = BroughtBack::Conflicts(vec!["a.txt".to_owned()]);
        assert_eq!(workspace.bring_back().unwrap(), conflicts);
        assert_eq!(tree(&origin), before, "{mode:?}");
    }
}

#[test]
fn a_worktree_is_the_commit_and_says_what_it_lacks() {
    let directories = Directories::new();
    let origin = directories.origin();
    repository(&origin);
    fs::write(origin.join("untracked"), "u").unwrap();
    fs::write(origin.join("a.txt"), "uncommitted\n").unwrap();
    // A hook of the repository does not run.
    let hook = origin.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch hook-ran\n").unwrap();
    let mut plan = WorkspacePlan::default();
    plan.mode = WorkspaceMode::Worktree;
    plan.directory = Some("sub".into());
    let workspace = RunWorkspace::prepare(&plan, &directories.places(), 1).unwrap();
    assert_eq!(tree(workspace.root()), ["b.txt: \"b\\n\""]);
    let top = workspace.root().parent().unwrap();
    assert_eq!(fs::read_to_string(top.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    plan.directory = None;
    let whole = RunWorkspace::prepare(&plan, &directories.places(), 2).unwrap();
    assert!(
        whole.notes()[0].starts_with("2 uncommitted or untracked path(s)"),
        "{:?}",
        whole.notes()
    );
    for base in ["missing", "--upload-pack=x"] {
        plan.base = Some(base.to_owned());
        assert!(RunWorkspace::prepare(&plan, &directories.places(), 3).is_err(), "{base}");
    }
}

#[test]
fn a_directory_that_is_not_fit_is_refused() {
    let directories = Directories::new();
    let mut places = directories.places();
    places.home = Some(directories.origin().join("home"));
    let plan = WorkspacePlan::default();
    let refused = RunWorkspace::prepare(&plan, &places, 1).unwrap_err().to_string();
    assert!(refused.contains("contains the home directory"), "{refused}");
    places = directories.places();
    places.origin = directories.origin().join("missing");
    let refused = RunWorkspace::prepare(&plan, &places, 1).unwrap_err().to_string();
    assert!(refused.contains("is not a directory"), "{refused}");
}

#[test]
fn an_attempt_can_be_repeated_from_its_checkpoint() {
    let directories = Directories::new();
    let root = directories.origin();
    fs::write(root.join("a"), "0").unwrap();
    let first = directories.prepare(WorkspaceMode::InPlace);
    by_agent(&first, |root| fs::write(root.join("a"), "1").unwrap());
    let state = first.take("first").unwrap();
    first.rollback().unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "0");
    let second =
        RunWorkspace::prepare(&WorkspacePlan::default(), &directories.places(), 2).unwrap();
    by_agent(&second, |root| fs::write(root.join("a"), "2").unwrap());
    second.rollback().unwrap();
    first.reapply(state).unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "1");
    // Opened again after a crash, the start is still the first state.
    drop((first, second));
    let again = directories.prepare(WorkspaceMode::InPlace);
    assert_eq!(again.changes().unwrap().files.len(), 1);
}

#[test]
fn a_new_ignore_rule_hides_no_change() {
    let directories = Directories::new();
    let root = directories.origin();
    repository(&root);
    fs::write(root.join(".gitignore"), "target\n").unwrap();
    let workspace = directories.prepare(WorkspaceMode::InPlace);
    fs::create_dir(root.join("target")).unwrap();
    fs::write(root.join("target/out"), "o").unwrap();
    fs::write(root.join("evil.sh"), "e\n").unwrap();
    fs::create_dir_all(root.join(".git/info")).unwrap();
    let names = || -> Vec<String> {
        let changes = workspace.changes().unwrap();
        changes.reports().into_iter().map(|file| file.path).collect()
    };
    assert_eq!(names(), ["evil.sh"]);
    fs::write(root.join(".git/info/exclude"), "evil*\n").unwrap();
    assert_eq!(names(), ["evil.sh"]);
    fs::write(root.join(".gitignore"), "target\nevil*\nother*\n").unwrap();
    fs::write(root.join("other.sh"), "e\n").unwrap();
    assert_eq!(names(), [".gitignore", "evil.sh", "other.sh"]);
}
