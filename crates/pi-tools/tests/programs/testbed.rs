//! A program that embeds the tools, so that tests can kill it and observe it from outside.
//!
//! - `run COMMAND` runs a command and prints the result.
//! - `background COMMAND` starts a background process and waits for the end of its input.
//! - `many COMMAND N` runs a command N times and counts the resources that stay in use.
//! - `memory COMMAND` runs a command and prints the peak memory.
//! - `remote SPEC COMMAND` runs a command on another executor and prints its progress.
//! - `confined RUNG DIRECTORY` before these runs commands of this machine in a sandbox.
//! - `flip A B` exchanges two names until it is killed.
//! - `swap NAME TARGET` makes a name a file and a link in turns until it is killed.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{AgentTool, Invocation, ToolOutput, Updates};
use pi_guard::confine::{self, Confinement, ConfinementLevel, Machine, Mode};
use pi_protocol::CancelToken;
use pi_tools::supervisor::{self, Supervisor};
use pi_tools::{BashSettings, ConnectOptions, Host, Workspace, bash, connect};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

fn main() {
    confine::run_helper_if_requested();
    supervisor::run_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // A single blocking thread, so that threads can be counted.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(1).build().unwrap();
    let result = runtime.block_on(perform(&arguments));
    println!("{result}");
}

async fn perform(arguments: &[String]) -> Value {
    match arguments {
        [word, a, b] if word == "flip" => loop {
            renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
        },
        [word, name, target] if word == "swap" => loop {
            std::os::unix::fs::symlink(target, "spare").unwrap();
            std::fs::rename("spare", name).unwrap();
            std::fs::write("spare", "one inside\n").unwrap();
            std::fs::rename("spare", name).unwrap();
        },
        _ => {}
    }
    let (here, directory, arguments) = match arguments {
        [word, rung, directory, rest @ ..] if word == "confined" => {
            (confined(rung, directory), directory.into(), rest)
        }
        all => (host(), PathBuf::from("/"), all),
    };
    let mut settings = BashSettings::default();
    settings.environment.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    let workspace = Arc::new(Workspace::new(Arc::new(here), directory, None).with_bash(settings));
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["remote", spec, command] => remote(spec, command).await,
        ["run", command] => run(&workspace, command).await,
        ["background", command] => {
            let workspace = Workspace::clone(&workspace).with_background(Arc::default());
            let arguments = json!({ "command": command, "background": true });
            let started = call(&Arc::new(workspace), &arguments, |_| {}).await;
            assert_eq!(started["details"]["state"], "running");
            println!("started");
            std::io::stdout().flush().unwrap();
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            Value::Null
        }
        ["many", command, times] => {
            run(&workspace, command).await;
            let before = holdings();
            for _ in 0..times.parse().unwrap() {
                run(&workspace, command).await;
            }
            json!({ "before": before, "after": holdings() })
        }
        ["memory", command] => {
            let result = run(&workspace, command).await;
            json!({ "result": result, "kilobytes": memory() })
        }
        _ => json!("unknown arguments"),
    }
}

fn host() -> Host {
    Host::default().with_supervisor(Supervisor::this_program())
}

/// A host that is also the sandbox helper.
fn confined(rung: &str, directory: &str) -> Host {
    let mode = Mode::WorkspaceWrite {
        workspace: directory.into(),
        extra_roots: Vec::new(),
        private_tmp: None,
    };
    let machine = match rung {
        "landlock" => Machine::detect().without_bubblewrap(),
        _ => Machine::detect(),
    };
    let confinement = Confinement::new(mode, confine::Network::Off);
    let confined =
        confinement.prepare(&machine, ConfinementLevel::Landlock, "/proc/self/exe").unwrap();
    host().with_sandbox(Arc::new(confined))
}

async fn remote(spec: &str, command: &str) -> Value {
    let mut options = ConnectOptions::new(host(), "/");
    options.environment = std::env::vars_os().collect();
    let connected = connect(&spec.parse().unwrap(), options).await.unwrap();
    let mut settings = BashSettings::default();
    settings.base_environment = connected.base_environment;
    let workspace = Workspace::new(connected.executor, connected.cwd, None).with_bash(settings);
    call(&Arc::new(workspace), &json!({ "command": command }), |update| {
        for block in &update.content {
            print!("{}", block.as_text().unwrap_or_default());
        }
        std::io::stdout().flush().unwrap();
    })
    .await
}

async fn run(workspace: &Arc<Workspace>, command: &str) -> Value {
    call(workspace, &json!({ "command": command }), |_| {}).await
}

async fn call(
    workspace: &Arc<Workspace>,
    arguments: &Value,
    seen: impl Fn(ToolOutput) + Send + Sync + 'static,
) -> Value {
    let arguments = arguments.as_object().cloned().unwrap();
    let invocation = Invocation::new("1", arguments, CancelToken::new(), Updates::new(seen));
    match bash(Arc::clone(workspace)).execute(invocation).await {
        Ok(output) => serde_json::to_value(output).unwrap(),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// The resources of this process: descriptors, threads, children.
fn holdings() -> Value {
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    let own = format!(") {} ", std::process::id());
    let is_child = |entry: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(entry.unwrap().path().join("stat"));
        // The state is one letter between the name and the parent.
        stat.is_ok_and(|stat| stat.replacen(") Z ", ") ", 1).contains(&own))
    };
    let children =
        std::fs::read_dir("/proc").unwrap().filter_map(|e| is_child(e).then_some(())).count();
    json!([count("/proc/self/fd"), count("/proc/self/task"), children])
}

/// The peak memory of this process in kilobytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
