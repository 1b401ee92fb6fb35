//! Writers that are killed at random moments, and writers without space: every file has the old
//! content or the new content, and the next write removes what a killed writer left behind.
//!
//! A few runs are part of the ordinary tests; `cargo xtask crash tools` does hundreds.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pi_tools::{edit, write};
use serde_json::json;
use tempfile::TempDir;

use crate::call::{call, text, workspace};
use crate::env::not_tested;

const DIRECTORY: &str = "PI_CRASH_DIRECTORY";
const SEED: &str = "PI_CRASH_SEED";
const RUNS: &str = "PI_CRASH_RUNS";
/// Prefix of new files before they are renamed.
const NEW: &str = ".pi-write-";
/// Changes that a writer makes until it is killed.
const CHANGES: usize = 30;
/// Files that exist at the start, with their modes. `link` leads to the last.
const FILES: [(&str, u32); 4] =
    [("plain", 0o644), ("program", 0o751), ("private", 0o600), ("below/real", 0o664)];
const SIZES: [usize; 5] = [0, 100, 20_000, 300_000, 2_000_000];

/// Reproducible pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A change: a file and its new content. An edit changes only the first line.
struct Change {
    path: String,
    edited: Option<(String, String)>,
    content: String,
}

type Contents = BTreeMap<String, String>;

fn before() -> Contents {
    FILES.iter().map(|(path, _)| ((*path).to_owned(), content(path, 0, 20_000))).collect()
}

fn content(path: &str, version: usize, size: usize) -> String {
    let line = format!("{version} of {path}, one of many lines\n");
    format!("{path} {version}\n{}", line.repeat(size / line.len()))
}

/// The changes of a writer. Paths are without links.
fn plan(seed: u64) -> Vec<Change> {
    let (mut random, mut contents, mut changes) = (Random(seed), before(), Vec::new());
    for version in 1..=CHANGES {
        let path = match random.below(FILES.len() + 1) {
            FILES_AND_ONE => format!("new/{}", random.below(5)),
            known => FILES[known].0.to_owned(),
        };
        let size = SIZES[random.below(SIZES.len())];
        let old = if random.below(3) == 0 { contents.get(&path) } else { None };
        let change = match old.and_then(|old| old.split_once('\n')) {
            Some((first, rest)) => {
                let new = format!("{path} {version}");
                let content = format!("{new}\n{rest}");
                Change { path, edited: Some((format!("{first}\n"), format!("{new}\n"))), content }
            }
            None => Change { content: content(&path, version, size), path, edited: None },
        };
        contents.insert(change.path.clone(), change.content.clone());
        changes.push(change);
    }
    changes
}

const FILES_AND_ONE: usize = FILES.len();

fn prepare(root: &Path) {
    fs::create_dir(root.join("below")).unwrap();
    for (path, content) in before() {
        fs::write(root.join(path), content).unwrap();
    }
    for (path, mode) in FILES {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    symlink("below/real", root.join("link")).unwrap();
}

/// Makes a change with the tools.
async fn make(root: &Path, change: &Change) -> String {
    let workspace = workspace(root);
    // Through the link, which must stay a link.
    let path = if change.path == "below/real" { "link" } else { &change.path };
    let result = match &change.edited {
        Some((old, new)) => {
            let edits = json!([{ "oldText": old, "newText": new }]);
            call(&edit(workspace), &json!({ "path": path, "edits": edits })).await
        }
        None => call(&write(workspace), &json!({ "path": path, "content": change.content })).await,
    };
    text(&result)
}

/// All files below a directory with their contents, and the paths of unfinished ones.
fn found(root: &Path) -> (Contents, Vec<String>) {
    let (mut contents, mut unfinished) = (Contents::new(), Vec::new());
    for directory in ["", "below/", "new/"] {
        for entry in fs::read_dir(root.join(directory)).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{directory}{name}");
            if name.starts_with(NEW) {
                unfinished.push(path);
            } else if entry.file_type().unwrap().is_file() && name != FILLING {
                contents.insert(path, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    (contents, unfinished)
}

fn check_modes(root: &Path, run: u64) {
    for (path, mode) in FILES {
        let found = fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, mode, "run {run}: {path}");
    }
    assert!(root.join("link").is_symlink(), "run {run}: the link was replaced");
}

fn writer(test: &str, directory: &Path, seed: u64) -> Command {
    let mut writer = Command::new(std::env::current_exe().unwrap());
    writer.args(["--exact", test, "--ignored", "--nocapture"]);
    writer.env(DIRECTORY, directory).env(SEED, seed.to_string());
    writer.stdin(Stdio::null()).stdout(Stdio::piped());
    writer
}

/// Kills a writer and returns the number of unfinished files that it left.
async fn kill_one(seed: u64) -> usize {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    prepare(root);
    let changes = plan(seed);
    let mut random = Random(!seed);
    let mut writer = writer("crash_runs::change_until_killed", root, seed).spawn().unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    // After some change, and a moment into the next one.
    let due = format!("made {}", random.below(CHANGES));
    let mut made = 0;
    let made_in = |line: &str| line.strip_prefix("made ")?.parse::<usize>().ok();
    for line in lines.by_ref() {
        made = made_in(&line).unwrap_or(made);
        if line == due {
            break;
        }
    }
    let moment = Instant::now() + Duration::from_micros(random.below(4000) as u64);
    while Instant::now() < moment {
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    made = lines.filter_map(|line| made_in(&line)).last().unwrap_or(made);

    let mut expected = before();
    for change in &changes[..made] {
        expected.insert(change.path.clone(), change.content.clone());
    }
    let (contents, unfinished) = found(root);
    if contents != expected {
        let next = changes.get(made).expect("all changes were acknowledged");
        expected.insert(next.path.clone(), next.content.clone());
        let damaged: Vec<&String> =
            expected.keys().filter(|path| contents.get(*path) != expected.get(*path)).collect();
        assert!(contents == expected, "seed {seed}, after {made}: {damaged:?}");
    }
    check_modes(root, seed);
    assert!(unfinished.len() <= 1, "seed {seed}: one writer left {unfinished:?}");
    for path in ["plain", "below/real", "new/0"] {
        let change = Change { path: path.to_owned(), edited: None, content: "after".to_owned() };
        let answer = make(root, &change).await;
        assert!(answer.starts_with("Successfully wrote"), "seed {seed}: {answer}");
    }
    assert_eq!(
        found(root).1,
        [] as [&str; 0],
        "seed {seed}: the next writes remove unfinished files"
    );
    unfinished.len()
}

#[tokio::test]
#[ignore = "a process that the crash tests start"]
async fn change_until_killed() {
    let root = std::env::var_os(DIRECTORY).expect("started by a test");
    let seed: u64 = number(SEED).unwrap();
    let tell = |number| {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "made {number}").and_then(|()| out.flush());
    };
    tell(0);
    for (number, change) in plan(seed).iter().enumerate() {
        let answer = make(Path::new(&root), change).await;
        assert!(answer.starts_with("Successfully"), "{answer}");
        tell(number + 1);
    }
}

const FILLING: &str = "filling";

/// Runs a writer on a small disk. Returns the number of refused writes, or `None` if this machine
/// does not permit such a disk.
fn fill_one(seed: u64) -> Option<usize> {
    let directory = TempDir::new().unwrap();
    let script = "mount -t tmpfs -o size=6m tmpfs \"$0\" && exec \"$@\"";
    let writer = writer("crash_runs::change_without_room", directory.path(), seed);
    let mut unshared = Command::new("unshare");
    unshared.args(["-rm", "sh", "-c", script]).arg(directory.path()).arg(writer.get_program());
    unshared.args(writer.get_args()).env(DIRECTORY, directory.path()).env(SEED, seed.to_string());
    let done = unshared.output().ok()?;
    let said = String::from_utf8_lossy(&done.stdout);
    if !said.contains("running 1 test") {
        return None;
    }
    assert!(done.status.success(), "seed {seed}: {said}{}", String::from_utf8_lossy(&done.stderr));
    said.lines().find_map(|line| line.strip_prefix("refused ")?.parse().ok())
}

#[tokio::test]
#[ignore = "a process that the crash tests start"]
async fn change_without_room() {
    let root = std::env::var_os(DIRECTORY).expect("started by a test");
    let root = Path::new(&root);
    let seed: u64 = number(SEED).unwrap();
    prepare(root);
    // This file is overwritten in place.
    fs::hard_link(root.join("program"), root.join("other name")).unwrap();
    let (mut random, mut refused) = (Random(!seed), 0);
    let mut expected = before();
    expected.insert("other name".to_owned(), expected["program"].clone());
    for mut change in plan(seed) {
        // As much of the random amount as there is space for.
        let filling = vec![0; random.below(6_000_000)];
        let _ = fs::write(root.join(FILLING), filling);
        if change.edited.is_some() {
            // The text to edit may never have been written.
            change.edited = None;
        }
        let answer = make(root, &change).await;
        if answer.starts_with("Successfully") {
            if change.path == "program" {
                expected.insert("other name".to_owned(), change.content.clone());
            }
            expected.insert(change.path, change.content);
        } else {
            assert!(answer.starts_with("error: ENOSPC"), "{answer}");
            refused += 1;
        }
        let (contents, unfinished) = found(root);
        assert!(contents == expected, "seed {seed}: neither the old nor the new content");
        assert_eq!(unfinished, [] as [&str; 0], "seed {seed}");
        check_modes(root, seed);
    }
    println!("\nrefused {refused}");
}

/// A number from the environment.
fn number(variable: &str) -> Option<u64> {
    std::env::var_os(variable)?.to_str()?.parse().ok()
}

async fn run_many(runs: u64, seed: u64) -> (usize, usize, u64) {
    let (mut unfinished, mut refused, mut full) = (0, 0, 0);
    for run in 0..runs {
        unfinished += kill_one(seed.wrapping_add(run)).await;
        if run % 5 == 0 {
            match fill_one(seed.wrapping_add(run)) {
                Some(count) => {
                    refused += count;
                    full += 1;
                }
                None => not_tested("writers on a full disk: user namespaces are not permitted"),
            }
        }
    }
    (unfinished, refused, full)
}

#[tokio::test]
async fn files_stay_complete_in_a_few_runs() {
    run_many(6, 1).await;
}

#[tokio::test]
#[ignore = "takes minutes: cargo xtask crash tools"]
async fn many_runs() {
    let (runs, seed) = (number(RUNS).unwrap_or(500), number(SEED).unwrap_or(0));
    let (unfinished, refused, full) = run_many(runs, seed).await;
    println!(
        "crash: {runs} writers killed, {unfinished} in the midst of a new file; \
         {refused} of {} writes refused on {full} full disks; all files whole, nothing left",
        full * CHANGES as u64
    );
}
