//! Comparison with a running TypeScript pi: `cargo xtask interop sessions --dir DIR`.
//!
//! Both programs run the same random scripts and read the same files. Deliberate differences are
//! in docs/compat.md; everything else must be the same.

use std::fs;
use std::path::{Path, PathBuf};

use pi_protocol::AgentMessage;
use pi_session::{NewSession, OpenOptions, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::observe::{canonical, difference, normalize, observe};
use crate::peer::Peer;
use crate::script::{Rng, perform, random_script};

/// Number of scripts, unless the environment sets another one.
const SCRIPTS: u64 = 200;

#[test]
#[ignore = "needs the TypeScript pi; run by `cargo xtask interop sessions`"]
fn both_programs_do_and_see_the_same() {
    let mut peer = Peer::from_env().expect("a directory in PI_PEER_DIR");
    let scripts = std::env::var_os("PI_SCRIPTS").and_then(|n| n.to_str()?.parse().ok());
    let mut differences = Vec::new();
    for seed in 0..scripts.unwrap_or(SCRIPTS) {
        let mut rng = Rng(seed);
        let length = 5 + rng.below(60);
        let script = random_script(&mut rng, length);
        let more = random_script(&mut rng, 8);
        if let Err(difference) = compare(&mut peer, &script, &more) {
            differences.push(format!("script {seed}: {difference}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn compare(peer: &mut Peer, script: &[Value], more: &[Value]) -> Result<(), String> {
    let directory = TempDir::new().unwrap();
    let theirs = peer.ask(&json!({ "build": directory.path().join("theirs"), "script": script }));
    let new = NewSession::new("/proj").directory(directory.path().join("ours"));
    let mut session = Session::create(new).unwrap();
    let ours = perform(&mut session, script);
    if json!(ours.failed) != theirs["failed"] {
        return Err(format!("refused: ours {:?}, theirs {}", ours.failed, theirs["failed"]));
    }
    let our_file = session.path().unwrap().to_owned();
    drop(session);
    let their_file = PathBuf::from(theirs["file"].as_str().unwrap_or_default());
    if our_file.exists() != their_file.exists() {
        return Err("only one of the two is on disk".to_owned());
    }
    if !our_file.exists() {
        return Ok(());
    }
    same("written", &read(&our_file), &read(&their_file))?;
    same_view(peer, &our_file)?;
    same_view(peer, &their_file)?;
    // The peer appends to our file, and then we append to it again.
    let before = fs::read(&our_file).unwrap();
    peer.ask(&json!({ "extend": our_file, "script": more }));
    let extended = fs::read(&our_file).unwrap();
    if !extended.starts_with(&before) {
        return Err("they rewrote our file".to_owned());
    }
    let mut session = Session::open(&our_file, &OpenOptions::append()).unwrap();
    perform(&mut session, more);
    drop(session);
    if !fs::read(&our_file).unwrap().starts_with(&extended) {
        return Err("we rewrote their file".to_owned());
    }
    same_view(peer, &our_file)
}

/// Compares what both programs read from a file.
pub(crate) fn same_view(peer: &mut Peer, file: &Path) -> Result<(), String> {
    let theirs = normalize(peer.ask(&json!({ "observe": file })));
    same("seen", &normalize(observe(file)), &theirs)
}

fn same(what: &str, ours: &Value, theirs: &Value) -> Result<(), String> {
    match difference(ours, theirs) {
        None => Ok(()),
        Some(difference) => Err(format!("{what} {difference}")),
    }
}

/// Returns the lines of a file, with random ids and times replaced.
fn read(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<String> =
        lines.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    for line in &mut lines {
        if line.get("message").is_some() {
            let message = AgentMessage::from_json(&line["message"].to_string()).unwrap();
            line["message"] = serde_json::to_value(message).unwrap();
        }
        line["timestamp"] = json!("T");
        if line.get("systemMessage").is_some() {
            line["systemMessage"]["timestamp"] = json!(0);
        }
        for name in ["id", "parentId", "targetId", "fromId", "firstKeptEntryId"] {
            let number =
                line[name].as_str().and_then(|id| ids.iter().position(|known| known == id));
            if let Some(number) = number {
                line[name] = json!(number);
            }
        }
        canonical(line);
    }
    Value::Array(lines)
}
