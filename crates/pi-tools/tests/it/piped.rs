//! Processes with separate standard streams, on each executor.

use std::path::Path;
use std::time::Duration;

use pi_tools::{Command, Executor, Host, PipedProcess};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::env::{TestEnv, sandboxes};
use crate::processes::{LEFT_BEHIND, marked, marker, wait_until};

const PATH: (&str, &str) = ("PATH", "/usr/local/bin:/usr/bin:/bin");

fn shell(script: &str, cwd: &Path) -> Command {
    Command::new("/bin/bash", cwd).arguments(["-c", script]).environment([PATH])
}

async fn start(executor: &dyn Executor, script: &str, cwd: &Path) -> PipedProcess {
    executor.spawn_piped(&shell(script, cwd)).await.unwrap()
}

async fn on_each_executor(check: impl AsyncFn(&dyn Executor, &Path)) {
    let mut envs = vec![TestEnv::host(), TestEnv::ssh().await, TestEnv::container().await];
    envs.extend(sandboxes().iter().map(TestEnv::sandboxed));
    for env in envs {
        let directory = env.directory();
        check(&*env.executor, &env.remote_path(directory.path())).await;
    }
    // Without a supervisor.
    check(&Host::default(), Path::new("/")).await;
}

/// Waits for something that should not take long.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("still waiting: {what}"))
}

#[tokio::test]
async fn input_returns_as_output() {
    on_each_executor(async |executor, cwd| {
        let mut process = start(executor, "cat", cwd).await;
        let mut line = [0; 6];
        for _ in 0..3 {
            process.stdin.write_all(b"hello\n").await.unwrap();
            process.stdin.flush().await.unwrap();
            soon("an echo", process.stdout.read_exact(&mut line)).await.unwrap();
            assert_eq!(&line, b"hello\n");
        }
        drop(process.stdin);
        let mut rest = Vec::new();
        soon("the end", process.stdout.read_to_end(&mut rest)).await.unwrap();
        assert_eq!(rest, b"", "{executor:?}");
        assert_eq!(soon("the exit", process.exit).await.unwrap(), Some(0));
    })
    .await;
}

#[tokio::test]
async fn many_bytes_pass_in_both_directions() {
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    on_each_executor(async |executor, cwd| {
        let mut process = start(executor, "exec cat", cwd).await;
        let mut received = Vec::new();
        let send = async {
            process.stdin.write_all(&bytes).await.unwrap();
            drop(process.stdin);
        };
        let both = async { tokio::join!(send, process.stdout.read_to_end(&mut received)) };
        soon("all bytes", both).await.1.unwrap();
        assert!(received == bytes, "{executor:?}");
    })
    .await;
}

#[tokio::test]
async fn errors_are_separate_and_the_exit_code_arrives() {
    on_each_executor(async |executor, cwd| {
        let script = "echo out; echo error >&2; printf '\\001pi-' >&2; pwd; exit 7";
        let mut process = start(executor, script, cwd).await;
        let (mut out, mut errors) = (String::new(), String::new());
        soon("the output", process.stdout.read_to_string(&mut out)).await.unwrap();
        soon("the errors", process.stderr.read_to_string(&mut errors)).await.unwrap();
        assert_eq!(out, format!("out\n{}\n", cwd.display()), "{executor:?}");
        assert_eq!(errors, "error\n\u{1}pi-", "{executor:?}");
        assert_eq!(soon("the exit", process.exit).await.unwrap(), Some(7), "{executor:?}");
    })
    .await;
}

#[tokio::test]
async fn dropping_the_tree_kills_all_processes() {
    let mut envs = vec![TestEnv::host(), TestEnv::ssh().await, TestEnv::container().await];
    envs.extend(sandboxes().iter().map(TestEnv::sandboxed));
    for env in envs {
        for command in LEFT_BEHIND {
            let marker = marker();
            let command = format!("export M={marker}\n{command}\necho ready; sleep 1000");
            for waits in [true, false] {
                let mut process = start(&*env.executor, &command, Path::new("/")).await;
                let mut line = [0; 6];
                soon("the command", process.stdout.read_exact(&mut line)).await.unwrap();
                assert!(!marked(&marker).is_empty());
                if waits {
                    soon("the end", process.tree.kill()).await;
                } else {
                    drop(process.tree);
                }
                wait_until(&command, || marked(&marker).is_empty());
            }
        }
    }
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_error() {
    on_each_executor(async |executor, cwd| {
        let missing = Command::new("/nowhere/program", cwd);
        match executor.spawn_piped(&missing).await {
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{executor:?}"),
            // A sandbox helper starts first.
            Ok(process) => {
                let code = soon("the exit", process.exit).await.unwrap();
                assert!(matches!(code, Some(126 | 127)), "{executor:?}: {code:?}");
            }
        }
    })
    .await;
}

/// A server can end its work before it is killed, also one that a launcher started. In a sandbox
/// with a PID namespace everything ends with the first process, so there is no launcher here.
#[tokio::test]
async fn termination_lets_processes_clean_up() {
    // A process that starts after the signal is left behind, so it must not keep the output open.
    let server = "trap 'echo cleaned; exit 3' TERM; echo ready; sleep 1000 > /dev/null & wait";
    let launched = format!("bash -c \"{server}\"; exit $?");
    let check = async |executor: &dyn Executor, script: &str| {
        let mut process = start(executor, script, Path::new("/")).await;
        let mut line = [0; 6];
        soon("the command", process.stdout.read_exact(&mut line)).await.unwrap();
        process.tree.terminate();
        let mut rest = String::new();
        soon("the output", process.stdout.read_to_string(&mut rest)).await.unwrap();
        assert_eq!(rest, "cleaned\n", "{executor:?}: {script}");
        soon("the end", process.tree.kill()).await;
    };
    for script in [server, &launched] {
        check(&*TestEnv::host().executor, script).await;
        check(&Host::default(), script).await;
    }
    for machine in sandboxes() {
        check(&*TestEnv::sandboxed(&machine).executor, server).await;
    }
}
