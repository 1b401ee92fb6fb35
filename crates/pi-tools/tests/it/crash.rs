//! Writers that are killed or run out of space leave a complete file: the old content or the new.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use pi_tools::write;
use serde_json::json;
use tempfile::TempDir;

use crate::call::{call, text, workspace};

const VARIABLE: &str = "PI_CRASH_DIRECTORY";
const RUNS: u64 = 20;
/// Prefix of new files before they are renamed.
const NEW: &str = ".pi-write-";

#[test]
fn a_killed_writer_leaves_a_whole_file() {
    let mut cut_short = 0;
    for run in 0..RUNS {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("f"), version(0)).unwrap();
        // From the first byte of a new file to the last.
        let acknowledged = run_and_kill(directory.path(), run * version(0).len() as u64 / RUNS);
        let content = fs::read_to_string(directory.path().join("f")).unwrap();
        let number = content.split('\n').next().unwrap().parse().unwrap();
        assert!(content == version(number), "run {run}: version {number} is damaged");
        assert!(number >= acknowledged, "run {run}: {acknowledged} was acknowledged, not {number}");
        for entry in fs::read_dir(directory.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name == "f" || name.starts_with(NEW), "run {run}: {name}");
            cut_short += usize::from(name.starts_with(NEW));
        }
    }
    println!("crash: {RUNS} writers killed, {cut_short} in the midst of a new file");
    assert!(cut_short > 0, "no writer was killed during a write");
}

/// Runs a writer and kills it when a new file has this many bytes. Returns the last version that
/// the writer acknowledged.
fn run_and_kill(directory: &Path, bytes: u64) -> u64 {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::write_until_killed", "--ignored", "--nocapture"])
        .env(VARIABLE, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_due = |entry: fs::DirEntry| {
        let is_new = entry.file_name().to_str().unwrap().starts_with(NEW);
        is_new && entry.metadata().is_ok_and(|metadata| metadata.len() >= bytes)
    };
    while !fs::read_dir(directory).unwrap().any(|entry| entry.is_ok_and(is_due)) {
        assert!(writer.try_wait().unwrap().is_none(), "the writer ended");
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    let status = writer.wait().unwrap();
    assert!(status.code().is_none(), "the writer was not killed: {status}");
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    let acknowledged = |line: String| line.strip_prefix("ack ")?.parse().ok();
    lines.filter_map(acknowledged).last().unwrap_or(0)
}

#[tokio::test]
#[ignore = "a process that the crash test starts"]
async fn write_until_killed() {
    let directory = std::env::var_os(VARIABLE).expect("started by the crash test");
    let write = write(workspace(Path::new(&directory)));
    // More than the writer gets to write.
    for number in 1..1000 {
        let result = call(&write, &json!({ "path": "f", "content": version(number) })).await;
        assert_eq!(text(&result), "Successfully wrote to f");
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "ack {number}").and_then(|()| out.flush());
    }
}

#[cfg(unix)]
#[test]
fn failed_write_keeps_the_old_content() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["f", "hard"] {
        fs::write(path(name), "old\n".repeat(1000)).unwrap();
    }
    fs::hard_link(path("hard"), path("other name")).unwrap();
    // Files cannot grow beyond 64 blocks. With the signal ignored, `write` returns an error.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "crash::write_too_much", "--ignored"])
        .env(VARIABLE, directory.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    for name in ["f", "hard", "other name"] {
        assert!(fs::read_to_string(path(name)).unwrap() == "old\n".repeat(1000), "{name}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "no temporary file is left");
}

#[tokio::test]
#[ignore = "a process that the test of failing writes starts"]
async fn write_too_much() {
    let directory = std::env::var_os(VARIABLE).expect("started by a test");
    let write = write(workspace(Path::new(&directory)));
    for name in ["f", "hard"] {
        let result = call(&write, &json!({ "path": name, "content": version(1) })).await;
        let answer = text(&result);
        assert!(answer.starts_with("error: EFBIG: file too large"), "{answer}");
    }
}

/// A text with its number and a filling that depends on it. Large, so that a writer spends most of
/// its time writing.
fn version(number: u64) -> String {
    let filling = ["lorem ", "ipsum ", "dolor ", "sit amet "][number as usize % 4];
    let mut text = format!("{number}\n");
    text.push_str(&filling.repeat(500_000 + number as usize * 7919 % 40_000));
    text
}
