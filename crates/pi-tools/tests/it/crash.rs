//! Killed at any moment, a writer leaves a file that is whole: the old content or the new.

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

#[test]
fn a_killed_writer_leaves_a_whole_file() {
    let mut versions = Vec::new();
    let mut cut_short = 0;
    for run in 0..RUNS {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("f"), version(0)).unwrap();
        let acknowledged = run_and_kill(directory.path(), 1 + run % 5);
        let content = fs::read_to_string(directory.path().join("f")).unwrap();
        let number = content.split('\n').next().unwrap().parse().unwrap();
        assert!(content == version(number), "run {run}: version {number} is damaged");
        assert!(number >= acknowledged, "run {run}: {acknowledged} was acknowledged, not {number}");
        for entry in fs::read_dir(directory.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            cut_short += usize::from(name.starts_with(".pi-write-"));
            assert!(name == "f" || name.starts_with(".pi-write-"), "run {run}: {name}");
        }
        versions.push(number);
    }
    // Versions have no end: every writer was killed in its work, and some in the midst of a file.
    println!("crash: versions {versions:?}, {cut_short} new files without a name");
}

/// Runs a writer and kills it after so many acknowledged versions; tells the last of these.
fn run_and_kill(directory: &Path, versions: u64) -> u64 {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::write_until_killed", "--ignored", "--nocapture"])
        .env(VARIABLE, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    let acknowledged = |line: String| line.strip_prefix("ack ")?.parse::<u64>().ok();
    let mut last = lines.by_ref().filter_map(acknowledged).nth(versions as usize - 1).unwrap();
    writer.kill().unwrap();
    let status = writer.wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "it was not killed: {status}");
    // What it said before it died counts too.
    last = lines.filter_map(acknowledged).last().unwrap_or(last);
    last
}

#[tokio::test]
#[ignore = "a process that the crash test starts"]
async fn write_until_killed() {
    let directory = std::env::var_os(VARIABLE).expect("started by the crash test");
    let write = write(workspace(Path::new(&directory)));
    for number in 1.. {
        let result = call(&write, &json!({ "path": "f", "content": version(number) })).await;
        assert_eq!(text(&result), "Successfully wrote to f");
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "ack {number}").and_then(|()| out.flush());
    }
}

/// A text that tells its number and, by what it is filled with, whether it is whole. Large, so
/// that most of a writer's time is spent in writing.
fn version(number: u64) -> String {
    let filling = ["lorem ", "ipsum ", "dolor ", "sit amet "][number as usize % 4];
    let mut text = format!("{number}\n");
    text.push_str(&filling.repeat(500_000 + number as usize * 7919 % 40_000));
    text
}
