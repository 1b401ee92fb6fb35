//! All processes of a sandboxed command end with it, in every kind of sandbox.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_guard::confine::{ConfinementLevel, Machine};
use pi_protocol::CancelToken;
use pi_tools::{BackgroundProcesses, BackgroundState, BashSettings, Host, Workspace, run_command};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::bash::{call, run, text};
use crate::env::{TESTBED, sandboxed_host, sandboxes};
use crate::processes::{LEFT_BEHIND, marked, marked_settings, marker, testbed, wait_until};

/// A sandbox with a writable directory.
struct SandboxEnv {
    directory: TempDir,
    machine: Machine,
}

impl SandboxEnv {
    fn all() -> Vec<Self> {
        let env = |machine| {
            let directory = TempDir::new().unwrap();
            std::fs::create_dir(directory.path().join("work")).unwrap();
            Self { directory, machine }
        };
        sandboxes().into_iter().map(env).collect()
    }

    fn work(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("work")
    }

    fn host(&self) -> Host {
        sandboxed_host(self.directory.path(), &self.machine, |_| {})
    }

    fn workspace(&self, host: Host, settings: BashSettings) -> Arc<Workspace> {
        Arc::new(Workspace::new(Arc::new(host), self.work(), None).with_bash(settings))
    }

    fn marked(&self, marker: &str) -> Arc<Workspace> {
        self.workspace(self.host(), marked_settings(marker))
    }

    fn level(&self) -> ConfinementLevel {
        self.machine.level()
    }
}

#[tokio::test]
async fn no_process_is_left_when_a_command_returns() {
    for env in SandboxEnv::all() {
        for command in LEFT_BEHIND {
            let marker = marker();
            let workspace = env.marked(&marker);
            let result = run(&workspace, &format!("{command}\necho ready")).await;
            match env.level() {
                // The processes end with the namespace, before they can be counted.
                ConfinementLevel::Bubblewrap => assert_eq!(result, "ready\n"),
                _ => assert!(result.starts_with("ready\n"), "{command}: {result}"),
            }
            assert!(marked(&marker).is_empty(), "{}, {command}", env.level());
        }
    }
}

#[tokio::test]
async fn no_process_is_left_when_a_command_times_out() {
    for env in SandboxEnv::all() {
        for command in LEFT_BEHIND {
            let marker = marker();
            let default_timeout = Some(Duration::from_millis(500));
            let mut settings = marked_settings(&marker);
            settings.default_timeout = default_timeout;
            let workspace = env.workspace(env.host(), settings);
            let found = run(&workspace, &format!("{command}\nsleep 1000")).await;
            assert_eq!(found, "Command timed out after 0.5 seconds");
            assert!(marked(&marker).is_empty(), "{}, {command}", env.level());
        }
    }
}

#[tokio::test]
async fn no_process_is_left_when_a_call_is_aborted_or_dropped() {
    for env in SandboxEnv::all() {
        for command in LEFT_BEHIND {
            let (marker, cancel) = (marker(), CancelToken::new());
            let workspace = env.marked(&marker);
            let arguments = json!({ "command": format!("{command}\necho ready; sleep 1000") });
            let canceller = cancel.clone();
            let aborted = call(&workspace, arguments.clone(), cancel, move |update| {
                if text(update) == "ready\n" {
                    canceller.cancel();
                }
            });
            assert_eq!(aborted.await.unwrap_err().to_string(), "ready\n\n\nCommand aborted");
            assert!(marked(&marker).is_empty(), "{}, {command}", env.level());

            let ready = Arc::new(tokio::sync::Notify::new());
            let notifier = Arc::clone(&ready);
            let mut called =
                Box::pin(call(&workspace, arguments, CancelToken::new(), move |update| {
                    if text(update) == "ready\n" {
                        notifier.notify_one();
                    }
                }));
            tokio::select! {
                _ = &mut called => panic!("the command should sleep"),
                () = ready.notified() => assert!(!marked(&marker).is_empty()),
            }
            drop(called);
            wait_until(command, || marked(&marker).is_empty());
        }
    }
}

#[test]
fn no_process_is_left_when_the_program_dies() {
    for env in SandboxEnv::all() {
        let level = if env.level() == ConfinementLevel::Landlock { "landlock" } else { "highest" };
        for (number, command) in LEFT_BEHIND.iter().enumerate() {
            let marker = marker();
            let ready = env.work().join(format!("{number}"));
            let command = format!("export M={marker}\n{command}\n: > work/{number}; sleep 1000");
            let directory = env.directory.path().canonicalize().unwrap();
            let mut program = testbed(
                &["confined", level, directory.to_str().unwrap(), "run", &command],
                &BTreeMap::new(),
            );
            wait_until("the command runs", || ready.exists());
            kill_process(Pid::from_child(&program), Signal::KILL).unwrap();
            program.wait().unwrap();
            wait_until(&command, || marked(&marker).is_empty());
        }
    }
}

#[tokio::test]
async fn background_processes_and_user_commands_are_sandboxed() {
    for env in SandboxEnv::all() {
        let marker = marker();
        let workspace = env.marked(&marker);
        let outside = TempDir::new_in("/var/tmp").unwrap();
        let outside = outside.path().canonicalize().unwrap();
        let attempt = format!("echo x > '{}/made'", outside.display());
        let background = BackgroundProcesses::default();
        let command = format!("{attempt}; touch mine; setsid sleep 1000 & wait; sleep 1000");
        let id = background.start(&workspace, &command).await.unwrap();
        let mine = env.work().join("mine");
        wait_until("the process runs", || mine.exists());
        assert_eq!(background.info(id).unwrap().state, BackgroundState::Running);
        assert!(!marked(&marker).is_empty());
        assert!(background.stop(id).await);
        assert!(marked(&marker).is_empty(), "{}", env.level());

        let (chunks, _told) = tokio::sync::mpsc::channel(100);
        let result = run_command(&workspace, &attempt, &CancelToken::new(), chunks).await.unwrap();
        assert_eq!(result.exit_code, Some(1), "{}: {}", env.level(), result.output);
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "{}", env.level());
    }
}

#[tokio::test]
async fn commands_without_supervisor_are_sandboxed() {
    for env in SandboxEnv::all() {
        let marker = marker();
        let host = env.host().with_supervisor(None);
        let workspace = env.workspace(host, marked_settings(&marker));
        let found = run(&workspace, "sleep 1000 & echo x > ../beside; echo x > in; exit 3").await;
        assert!(found.ends_with("Command exited with code 3"), "{found}");
        assert!(env.work().join("in").exists(), "{}: {found}", env.level());
        assert!(env.directory.path().join("beside").exists(), "{}: {found}", env.level());
        wait_until("the group ends", || marked(&marker).is_empty());
    }
}

#[tokio::test]
async fn many_sandboxed_commands_leave_no_descriptors_threads_or_children() {
    for env in SandboxEnv::all() {
        let level = if env.level() == ConfinementLevel::Landlock { "landlock" } else { "highest" };
        let directory = env.directory.path().canonicalize().unwrap();
        let command = "echo a; setsid sleep 1000 >/dev/null 2>&1 &";
        let directory = directory.to_str().unwrap();
        let program =
            testbed(&["confined", level, directory, "many", command, "30"], &BTreeMap::new());
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success(), "{TESTBED}");
        let counted: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(counted["before"], counted["after"], "{}", env.level());
    }
}
