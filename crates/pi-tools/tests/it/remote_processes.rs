//! Commands on another machine and in a container: their results, and that no process is left.

use std::path::Path;
use std::time::Duration;

use pi_protocol::CancelToken;
use pi_tools::{BaseEnvironment, BashSettings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::bash::{self, call, run, settings, text};
use crate::env::{Container, Sshd, TestEnv};
use crate::processes::{LEFT_BEHIND, marked, marked_settings, marker, testbed, wait_until};

#[tokio::test]
async fn results_over_ssh_match_the_recorded_ones() {
    bash::replay(&TestEnv::ssh().await, 2).await;
}

#[tokio::test]
async fn results_in_a_container_match_the_recorded_ones() {
    bash::replay(&TestEnv::container().await, 2).await;
}

#[tokio::test]
async fn no_process_is_left_over_ssh() {
    no_process_is_left(&TestEnv::ssh().await).await;
}

#[tokio::test]
async fn no_process_is_left_in_a_container() {
    no_process_is_left(&TestEnv::container().await).await;
}

/// A command returns, times out, is aborted or dropped.
async fn no_process_is_left(env: &TestEnv) {
    for command in LEFT_BEHIND {
        let marker = marker();
        let workspace = env.workspace(Path::new("/"), marked_settings(&marker));
        assert_eq!(run(&workspace, &format!("{command}\necho ready; exit 0")).await, "ready\n");
        // The local program that connects has the marker, too, and takes a moment to end.
        wait_until(command, || marked(&marker).is_empty());

        let mut limited = marked_settings(&marker);
        limited.default_timeout = Some(Duration::from_millis(500));
        let workspace = env.workspace(Path::new("/"), limited);
        let found = run(&workspace, &format!("{command}\nsleep 1000")).await;
        assert_eq!(found, "Command timed out after 0.5 seconds");
        wait_until(command, || marked(&marker).is_empty());

        for is_dropped in [false, true] {
            let workspace = env.workspace(Path::new("/"), marked_settings(&marker));
            let (cancel, ready) = (CancelToken::new(), CancelToken::new());
            let notifier = ready.clone();
            let arguments = json!({ "command": format!("{command}\necho ready; sleep 1000") });
            let mut called = Box::pin(call(&workspace, arguments, cancel.clone(), move |update| {
                if text(update) == "ready\n" {
                    notifier.cancel();
                }
            }));
            tokio::select! {
                done = &mut called => panic!("the command should sleep: {done:?}"),
                () = ready.cancelled() => assert!(!marked(&marker).is_empty()),
            }
            if is_dropped {
                drop(called);
            } else {
                cancel.cancel();
                let aborted = called.await.unwrap_err().to_string();
                assert_eq!(aborted, "ready\n\n\nCommand aborted");
            }
            wait_until(command, || marked(&marker).is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_is_left_when_the_program_is_killed() {
    let sshd = Sshd::start().await;
    let directory = TempDir::new().unwrap();
    let container = Container::start(directory.path()).await;
    for remote in [sshd.remote(), container.remote()] {
        for command in LEFT_BEHIND {
            let marker = marker();
            let command = format!("export M={marker}\n{command}\necho up; sleep 1000");
            let mut program = testbed(&["remote", &remote.spec, &command], &remote.environment);
            let mut started = [0; 3];
            std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut started).unwrap();
            assert_eq!(&started, b"up\n", "{}", remote.spec);
            assert!(!marked(&marker).is_empty());
            kill_process(Pid::from_child(&program), Signal::KILL).unwrap();
            program.wait().unwrap();
            wait_until(&command, || marked(&marker).is_empty());
        }
    }
}

#[tokio::test]
async fn exit_codes_and_environments_arrive() {
    for env in [TestEnv::host(), TestEnv::ssh().await, TestEnv::container().await] {
        let cases = [
            ("exit 255", "(no output)\n\nCommand exited with code 255"),
            ("kill -9 $$", "(no output)\n\nCommand exited with code 137"),
            ("echo a >&2; echo b; echo c >&2; exit 1", "a\nb\nc\n\n\nCommand exited with code 1"),
            ("printf '\\001pi-'", "\u{1}pi-"),
            ("trap 'echo interrupted' INT; kill -INT $$", "interrupted\n"),
            (
                "/usr/bin/env | grep -c -e ^HOME= -e ^SSH_CONNECTION=",
                "0\n\n\nCommand exited with code 1",
            ),
        ];
        for (command, expected) in cases {
            let workspace = env.workspace(Path::new("/"), settings());
            assert_eq!(run(&workspace, command).await, expected, "{:?}", env.executor);
        }
        let mut inherits = BashSettings::default();
        inherits.base_environment = BaseEnvironment::Executor;
        inherits.environment.insert("A".into(), "it's \"b\"\n".into());
        let workspace = env.workspace(Path::new("/"), inherits);
        assert_eq!(run(&workspace, "echo \"$A\"; [ -n \"$PATH\" ]").await, "it's \"b\"\n\n");
    }
}

#[tokio::test]
async fn lost_connection_is_an_error() {
    let env = TestEnv::ssh().await;
    let workspace = env.workspace(Path::new("/"), settings());
    // Kills the process of the server that has this session: the nearest ancestor called sshd.
    let command = "echo a; p=$$; while ! grep -q ^sshd /proc/$p/comm; do
        p=$(grep ^PPid: /proc/$p/status | cut -f2); done; kill -9 $p; sleep 1000";
    let arguments = json!({ "command": command });
    let found = call(&workspace, arguments, CancelToken::new(), |_| {}).await.unwrap();
    let shown = text(&found);
    assert!(found.is_error, "{shown}");
    let expected = "a\n\n\nCommand terminated without an exit code: the connection was lost";
    assert!(shown.starts_with(expected), "{shown}");
    // The shared connection is gone; each command opens its own from now on.
    assert_eq!(run(&workspace, "echo b").await, "b\n");
}
