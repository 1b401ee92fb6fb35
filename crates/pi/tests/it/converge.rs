//! `pi run`: the binary with scripted models, one module per part of the contract.

mod adversary;
mod agents;
mod bugs;
mod crash;
mod denied;
mod flaky;
mod gate;
mod generated;
mod guardrails;
mod honest;
mod hooks;
mod interleavings;
mod lies;
mod limits;
mod live;
mod losses;
mod output;
mod project;
mod publish;
mod random;
mod replay;
mod resume;
mod run_output;
mod stuck;
mod task;
mod toolchain;
mod verification;
mod watching;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Makes a scripted server the model of all runs.
pub(crate) fn configure(env: &TestEnv, server: &Server) {
    let provider = json!({"baseUrl": server.url(), "apiKey": "secret-key-of-the-model",
        "api": "openai-completions", "models": [{"id": "m1"}]});
    let settings = json!({"defaultProvider": "mock", "defaultModel": "m1",
        "retry": {"enabled": false}});
    fs::create_dir_all(env.agent()).unwrap();
    let models = json!({"providers": {"mock": provider}});
    fs::write(env.agent().join("models.json"), models.to_string()).unwrap();
    fs::write(env.agent().join("settings.json"), settings.to_string()).unwrap();
}

/// Returns an answer that calls `bash`, with an id and a command for each call.
pub(crate) fn commands(calls: &[(&str, &str)]) -> Reply {
    let call = |(id, command): &(&str, &str)| {
        let (id, name, args) = ((*id).to_owned(), "bash".to_owned(), json!({"command": command}));
        Part::Call(Call { id, name, args, pieces: None })
    };
    Reply::Parts(calls.iter().map(call).collect())
}

/// Returns the directories of all runs, oldest first.
pub(crate) fn runs(env: &TestEnv) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.agent().join("runs")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("contract.json").exists())
        .collect();
    paths.sort();
    paths
}

/// Reads a JSON file of the only run.
pub(crate) fn run_file(env: &TestEnv, name: &str) -> Value {
    let runs = runs(env);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    let text = fs::read(run.join(name)).unwrap();
    serde_json::from_slice(&text).unwrap()
}
