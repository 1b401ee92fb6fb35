//! The TypeScript pi as a process that answers requests; see `tests/peer.mjs`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use pi_protocol::json::from_str_repairing;
use serde_json::Value;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peer.mjs");

/// The variable with the directory of the TypeScript pi's package, which `cargo xtask` sets.
pub(crate) const VARIABLE: &str = "PI_PEER_DIR";

pub(crate) struct Peer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts the peer, if one is named in the environment.
    pub(crate) fn from_env() -> Option<Self> {
        let directory = std::env::var_os(VARIABLE)?;
        let node = std::env::var_os("NODE").unwrap_or_else(|| "node".into());
        let mut process = Command::new(node)
            .arg(DRIVER)
            .arg(Path::new(&directory))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts; NODE names another one");
        let requests = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Self { process, requests, answers })
    }

    /// Sends a request, and waits for the answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{request}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        from_str_repairing(&answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process ends when its input ends.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}
