//! Checkpoints and restoring them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use pi_tools::checkpoint::{CheckpointError, Checkpoints, ConflictReason, Limits, prune, usage};
use tempfile::TempDir;

pub(crate) struct Project {
    _directory: TempDir,
    pub(crate) root: PathBuf,
    store: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let (root, store) = (directory.path().join("work"), directory.path().join("store"));
        fs::create_dir(&root).unwrap();
        Self { _directory: directory, root, store }
    }

    pub(crate) fn open(&self, limits: Limits) -> Checkpoints {
        Checkpoints::open(&self.store, &self.root, limits).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }
}

/// Everything below a directory: kind, mode and content, and the time of files.
fn tree(root: &Path) -> BTreeMap<String, String> {
    describe(root, |metadata| format!("{:?}", metadata.modified().unwrap()))
}

/// The same without times: a file that was rewritten with the same content has not changed.
pub(crate) fn timeless_tree(root: &Path) -> BTreeMap<String, String> {
    describe(root, |_| String::new())
}

fn describe(root: &Path, time: fn(&fs::Metadata) -> String) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap();
            // Only invalid UTF-8 is escaped.
            let name = name.to_str().map_or_else(|| format!("{name:?}"), str::to_owned);
            let mode = metadata.permissions().mode();
            let what = if metadata.is_symlink() {
                format!("-> {:?}", fs::read_link(&path).unwrap())
            } else if metadata.is_dir() {
                open.push(path);
                format!("directory {mode:o}")
            } else {
                let content = fs::read(&path).unwrap();
                format!("file {mode:o} {} {content:?}", time(&metadata))
            };
            found.insert(name, what);
        }
    }
    found
}

#[test]
fn changes_are_undone_and_redone() {
    let project = Project::new();
    fs::write(project.path("kept"), "as it was").unwrap();
    fs::write(project.path("edited"), "before").unwrap();
    fs::create_dir_all(project.path("a/b")).unwrap();
    fs::write(project.path("a/b/removed"), [0, 159, 146, 150]).unwrap();
    symlink("kept", project.path("link")).unwrap();
    let before = tree(&project.root);
    let mut checkpoints = project.open(Limits::default());
    let first = checkpoints.take("before the run").unwrap();
    assert_eq!(checkpoints.take("nothing happened").unwrap(), first);

    let script = "printf after > edited; rm -r a; mkdir new; echo x > new/file; chmod 755 edited; ln -sf edited link";
    assert!(
        Command::new("sh")
            .args(["-c", script])
            .current_dir(&project.root)
            .status()
            .unwrap()
            .success()
    );
    let after = tree(&project.root);
    let second = checkpoints.take("after the run").unwrap();
    let changed: Vec<String> =
        checkpoints.diff(first, second).unwrap().into_iter().map(|change| change.path).collect();
    assert_eq!(changed, ["a", "a/b", "a/b/removed", "edited", "link", "new", "new/file"]);

    // A store that is opened again has the same checkpoints.
    let mut checkpoints = project.open(Limits::default());
    let undone = checkpoints.undo().unwrap();
    assert_eq!((undone.paths.len(), undone.conflicts.as_slice()), (7, &[][..]));
    assert_eq!(tree(&project.root), before);
    let nothing = checkpoints.undo();
    assert!(matches!(nothing, Err(CheckpointError::NothingToUndo)), "{nothing:?}");
    checkpoints.redo().unwrap();
    assert_eq!(tree(&project.root), after);
    assert_eq!(checkpoints.content(first, "edited").unwrap().as_deref(), Some(&b"before"[..]));
}

#[test]
fn only_runs_are_undone() {
    let project = Project::new();
    let write = |name: &str, text: &str| fs::write(project.path(name), text).unwrap();
    let read = |name: &str| fs::read_to_string(project.path(name)).ok();
    write("a", "1");
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take_found().unwrap();
    assert_eq!(checkpoints.undoable(), None);
    write("a", "22");
    checkpoints.take("first run").unwrap();
    write("mine", "of the user");
    checkpoints.take_found().unwrap();
    write("b", "333");
    checkpoints.take("second run").unwrap();
    write("mine", "of the user, again");
    checkpoints.take_found().unwrap();

    let mut checkpoints = project.open(Limits::default());
    let found: Vec<bool> = checkpoints.list().iter().map(|checkpoint| checkpoint.found).collect();
    assert_eq!(found, [true, false, true, false, true]);
    assert!(checkpoints.list().iter().all(|checkpoint| checkpoint.time.is_some()));
    assert_eq!(checkpoints.undo().unwrap().paths, ["b"]);
    assert_eq!(checkpoints.undo().unwrap().paths, ["a"]);
    assert_eq!(read("a").as_deref(), Some("1"));
    assert_eq!((read("b"), read("mine").as_deref()), (None, Some("of the user, again")));
    assert!(matches!(checkpoints.undo(), Err(CheckpointError::NothingToUndo)));
    checkpoints.redo().unwrap();
    checkpoints.redo().unwrap();
    assert_eq!((read("a").as_deref(), read("b").as_deref()), (Some("22"), Some("333")));
    assert!(matches!(checkpoints.redo(), Err(CheckpointError::NothingToRedo)));
}

#[test]
fn later_changes_are_not_overwritten() {
    let project = Project::new();
    for name in ["mine", "theirs", "gone"] {
        fs::write(project.path(name), "1").unwrap();
    }
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("before").unwrap();
    for name in ["mine", "theirs", "gone", "new"] {
        fs::write(project.path(name), "22").unwrap();
    }
    checkpoints.take("after").unwrap();
    fs::write(project.path("theirs"), "edited by the user").unwrap();
    fs::write(project.path("new"), "edited by the user").unwrap();
    fs::remove_file(project.path("gone")).unwrap();
    let restored = checkpoints.undo().unwrap();
    let conflicts: Vec<&str> = restored.conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(
        (restored.paths, conflicts),
        (vec!["mine".to_owned()], vec!["new", "gone", "theirs"])
    );
    assert_eq!(fs::read_to_string(project.path("mine")).unwrap(), "1");
    assert_eq!(fs::read_to_string(project.path("theirs")).unwrap(), "edited by the user");
}

/// Linux permits any bytes in a name; macOS does not.
#[cfg(target_os = "linux")]
#[test]
fn invalid_utf8_names_are_restored() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let project = Project::new();
    let path = |name: &[u8]| project.root.join(OsStr::from_bytes(name));
    fs::create_dir(path(b"d\xff")).unwrap();
    fs::write(path(b"d\xff/caf\xe9"), "1").unwrap();
    fs::write(path(b"gone\xf0\x9f"), "1").unwrap();
    symlink(OsStr::from_bytes(b"caf\xe9"), path(b"d\xff/link")).unwrap();
    let before = tree(&project.root);
    let mut checkpoints = project.open(Limits::default());
    let first = checkpoints.take("before").unwrap();
    fs::write(path(b"d\xff/caf\xe9"), "22").unwrap();
    // A lossy conversion makes these names equal.
    fs::write(path(b"d\xff/caf\xe8"), "new").unwrap();
    fs::remove_file(path(b"gone\xf0\x9f")).unwrap();
    fs::remove_file(path(b"d\xff/link")).unwrap();
    symlink(OsStr::from_bytes(b"caf\xe8"), path(b"d\xff/link")).unwrap();
    let after = tree(&project.root);
    checkpoints.take("after").unwrap();
    let changed = ["d\0ff/caf\0e8", "d\0ff/caf\0e9", "d\0ff/link", "gone\0f0\09f"];
    let mut checkpoints = project.open(Limits::default());
    let content = checkpoints.content(first, changed[3]).unwrap();
    assert_eq!(content.as_deref(), Some(&b"1"[..]));
    let mut undone = checkpoints.undo().unwrap();
    undone.paths.sort();
    assert_eq!((undone.paths, undone.conflicts), (changed.map(str::to_owned).to_vec(), vec![]));
    assert_eq!(tree(&project.root), before);
    checkpoints.redo().unwrap();
    assert_eq!(tree(&project.root), after);
}

#[test]
fn nothing_is_written_behind_a_link() {
    let project = Project::new();
    let other = TempDir::new().unwrap();
    fs::create_dir(project.path("d")).unwrap();
    fs::write(project.path("d/x"), "1").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("before").unwrap();
    fs::remove_file(project.path("d/x")).unwrap();
    checkpoints.take("after").unwrap();
    fs::remove_dir(project.path("d")).unwrap();
    symlink(other.path(), project.path("d")).unwrap();
    let restored = checkpoints.undo().unwrap();
    assert_eq!(restored.paths, [] as [&str; 0]);
    assert_eq!(restored.conflicts[0].reason, ConflictReason::BehindLink);
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}

#[test]
fn build_output_and_what_is_no_repository_is_not_touched() {
    let project = Project::new();
    fs::create_dir_all(project.path(".git")).unwrap();
    fs::create_dir_all(project.path("target")).unwrap();
    fs::write(project.path(".gitignore"), "target/\n").unwrap();
    fs::write(project.path("target/out"), "1").unwrap();
    fs::write(project.path(".git/index"), "1").unwrap();
    let mut checkpoints = project.open(Limits::default());
    checkpoints.take("before").unwrap();
    fs::write(project.path("target/out"), "2").unwrap();
    fs::write(project.path(".git/index"), "2").unwrap();
    fs::write(project.path(".hidden"), "2").unwrap();
    checkpoints.take("after").unwrap();
    let restored = checkpoints.undo().unwrap();
    assert_eq!(restored.paths, [".hidden"]);
    assert_eq!(fs::read_to_string(project.path("target/out")).unwrap(), "2");
    assert_eq!(fs::read_to_string(project.path(".git/index")).unwrap(), "2");
}

#[test]
fn store_is_bounded_and_keeps_the_latest_checkpoint() {
    let project = Project::new();
    let mut limits = Limits::default();
    (limits.file_bytes, limits.store_bytes) = (1000, 2500);
    let mut checkpoints = project.open(limits);
    fs::write(project.path("large"), vec![7; 2000]).unwrap();
    for round in 0..10_u8 {
        fs::write(project.path("file"), vec![round; 900]).unwrap();
        checkpoints.take(&format!("round {round}")).unwrap();
    }
    let kept = checkpoints.list();
    assert!((1..=3).contains(&kept.len()), "{kept:?}");
    assert_eq!(kept.last().unwrap().label, "round 9");
    checkpoints.undo().unwrap();
    assert_eq!(fs::read(project.path("file")).unwrap(), vec![8; 900]);
    assert_eq!(fs::read(project.path("large")).unwrap(), vec![7; 2000]);
    let mut again = project.open(limits);
    again.redo().unwrap();
    assert_eq!(fs::read(project.path("file")).unwrap(), vec![9; 900]);
}

#[test]
fn incomplete_journal_loses_only_the_unreported_checkpoint() {
    let project = Project::new();
    let mut checkpoints = project.open(Limits::default());
    fs::write(project.path("file"), "1").unwrap();
    checkpoints.take("one").unwrap();
    fs::write(project.path("file"), "22").unwrap();
    checkpoints.take("two").unwrap();
    let journal = project.store.join("journal");
    let whole = fs::read(&journal).unwrap();
    for cut in [whole.len() - 1, whole.len() - 20] {
        fs::write(&journal, &whole[..cut]).unwrap();
        let mut again = project.open(Limits::default());
        let labels: Vec<String> = again.list().into_iter().map(|c| c.label).collect();
        let expected: &[&str] = if cut + 1 == whole.len() { &["one", "two"] } else { &["one"] };
        assert_eq!(labels, expected);
        again.take("three").unwrap();
        assert_eq!(project.open(Limits::default()).list(), again.list());
    }
}

/// Sessions that share a store and a working directory.
struct Sessions {
    project: Project,
    sessions: PathBuf,
}

impl Sessions {
    fn new() -> Self {
        let project = Project::new();
        let sessions = project.store.join("sessions");
        fs::create_dir_all(&sessions).unwrap();
        Self { project, sessions }
    }

    fn open(&self, name: &str) -> Checkpoints {
        Checkpoints::open(&self.sessions.join(name), &self.project.root, Limits::default()).unwrap()
    }

    fn bytes(&self) -> u64 {
        usage(&self.sessions).unwrap().bytes
    }

    fn prune(&self, limits: Limits, later: Duration) -> Vec<String> {
        prune(&self.sessions, &limits, SystemTime::now() + later).unwrap().unwrap().sessions
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn unchanged_files_are_stored_once_for_all_sessions() {
    let env = Sessions::new();
    for number in 0..100 {
        fs::write(env.project.path(&format!("file {number}")), format!("{number}\n").repeat(50))
            .unwrap();
    }
    env.open("one").take("as found").unwrap();
    let first = env.bytes();
    env.open("two").take("as found").unwrap();
    assert!(env.bytes() - first < 500, "{} after {first}", env.bytes());
    // A session that begins with another state stores the difference.
    fs::write(env.project.path("file 1"), "changed").unwrap();
    let mut three = env.open("three");
    three.take("as found").unwrap();
    assert!(env.bytes() - first < 1500, "{} after {first}", env.bytes());
    fs::remove_file(env.project.path("file 1")).unwrap();
    three.take("removed").unwrap();
    three.undo().unwrap();
    assert_eq!(fs::read_to_string(env.project.path("file 1")).unwrap(), "changed");
    // The earlier session still has its own state.
    assert_eq!(env.open("one").content(0, "file 1").unwrap().unwrap(), "1\n".repeat(50).as_bytes());
}

#[test]
fn unused_sessions_expire_and_shared_contents_stay() {
    let env = Sessions::new();
    fs::write(env.project.path("shared"), "in both").unwrap();
    fs::write(env.project.path("early"), "in the first").unwrap();
    env.open("one").take("as found").unwrap();
    fs::remove_file(env.project.path("early")).unwrap();
    env.open("two").take("as found").unwrap();
    let journal = env.sessions.join("one/journal");
    let long_ago = SystemTime::now() - 40 * DAY;
    fs::File::options().append(true).open(&journal).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(env.prune(Limits::default(), Duration::ZERO), ["one"]);
    assert!(!env.sessions.join("one").exists());
    let two = env.open("two");
    assert_eq!(two.content(0, "shared").unwrap().unwrap(), b"in both");
    // A content that was removed is stored again, although its file has not changed.
    fs::write(env.project.path("early"), "in the first").unwrap();
    let mut three = env.open("three");
    three.take("as found").unwrap();
    assert_eq!(three.content(0, "early").unwrap().unwrap(), b"in the first");
}

#[test]
fn oldest_unused_sessions_are_removed_until_the_rest_fits() {
    let env = Sessions::new();
    let mut kept = Vec::new();
    for (age, name) in ["one", "two", "three"].into_iter().enumerate() {
        fs::write(env.project.path("file"), name.repeat(1000)).unwrap();
        let mut checkpoints = env.open(name);
        checkpoints.take("as found").unwrap();
        let used = SystemTime::now() - DAY * u32::try_from(9 - age).unwrap();
        let journal = env.sessions.join(name).join("journal");
        fs::File::options().append(true).open(&journal).unwrap().set_modified(used).unwrap();
        if name == "one" {
            // In use, so it stays.
            kept.push(checkpoints.lease());
        }
    }
    let mut limits = Limits::default();
    limits.store_bytes = 11_000;
    assert_eq!(env.prune(limits, Duration::ZERO), ["two"]);
    assert!(env.bytes() < 11_000);
    drop(kept);
    assert_eq!(env.prune(limits, 60 * DAY), ["one", "three"]);
    assert!(env.bytes() < 100, "{}", env.bytes());
}

#[test]
fn contents_in_use_are_not_removed_by_another_process() {
    let env = Sessions::new();
    fs::write(env.project.path("file"), "1").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pruning = scope.spawn(|| {
            let mut removed = 0;
            let mut limits = Limits::default();
            limits.store_bytes = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                if let Some(pruned) = prune(&env.sessions, &limits, SystemTime::now()).unwrap() {
                    removed += pruned.sessions.len();
                }
            }
            removed
        });
        for round in 0..60 {
            let mut checkpoints = env.open(&format!("session {round}"));
            checkpoints.take("as found").unwrap();
            fs::write(env.project.path("file"), format!("{round} changed")).unwrap();
            let number = checkpoints.take("changed").unwrap();
            let content = checkpoints.content(number, "file").unwrap().unwrap();
            assert_eq!(content, format!("{round} changed").as_bytes());
            checkpoints.undo().unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(pruning.join().unwrap() > 0);
    });
}

#[test]
fn stores_of_earlier_versions_are_read() {
    let project = Project::new();
    fs::write(project.path("file"), "new").unwrap();
    let store = &project.store;
    // The SHA-256 of "old" and "new".
    let (old, new) = (
        "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4",
        "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437",
    );
    for (hash, content) in [(old, "old"), (new, "new")] {
        let path = store.join("objects").join(&hash[..2]);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(&hash[2..]), content).unwrap();
    }
    let mode = fs::metadata(project.path("file")).unwrap().permissions().mode() & 0o7777;
    let taken = |number: usize, follows: &str, hash: &str| {
        format!(
            r#"{{"taken":{{"number":{number},"label":"{number}","follows":{follows},"changes":[["file",{{"kind":"file","hash":"{hash}","size":3,"mode":{mode},"modified":0}}]]}}}}"#
        )
    };
    let journal = format!("{}\n{}\n", taken(0, "null", old), taken(1, "0", new));
    fs::write(store.join("journal"), journal).unwrap();
    let mut checkpoints = project.open(Limits::default());
    fs::write(project.path("other"), "another").unwrap();
    checkpoints.take("with the new version").unwrap();
    checkpoints.undo().unwrap();
    assert!(!project.path("other").exists());
    checkpoints.undo().unwrap();
    assert_eq!(fs::read_to_string(project.path("file")).unwrap(), "old");
}
