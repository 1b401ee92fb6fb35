//! All processes of a command end with it, with an abort, and with the program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pi_protocol::CancelToken;
use pi_tools::{BackgroundProcesses, BackgroundState, BashSettings, Host, Workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bash::{call, run, settings, text, workspace};
use crate::env::TESTBED;

/// Commands that leave processes behind.
pub(crate) const LEFT_BEHIND: &[&str] = &[
    "sleep 1000 &",
    "nohup sleep 1000 >/dev/null 2>&1 &",
    "setsid sleep 1000 &",
    "setsid -f sleep 1000 >/dev/null 2>&1",
    "(setsid sh -c 'sleep 1000 & sleep 1000 &' &)",
    "sh -c 'trap \"\" TERM HUP INT; sleep 1000; sleep 1000' &",
    "for i in 1 2 3 4 5 6 7 8 9 10; do setsid nohup sleep 1000 >/dev/null 2>&1 & done",
    // Each process lives only a moment and starts the next one.
    "f() { sleep 0.01; f & }; f >/dev/null 2>&1 &",
];

/// A word that no other process has.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("pi-test-{}-{}-", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that have the marker in their arguments or environment.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    let ids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<u32>().ok());
    let has = |id: &u32| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
            bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
        })
    };
    ids.filter(has).collect()
}

/// Waits until a condition is true.
pub(crate) fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !happened() {
        assert!(Instant::now() < patience, "still waiting: {what}");
        std::thread::yield_now();
    }
}

pub(crate) fn marked_settings(marker: &str) -> BashSettings {
    let mut settings = settings();
    settings.environment.insert("PI_TEST".into(), marker.into());
    settings
}

#[tokio::test]
async fn no_process_is_left_when_a_command_returns() {
    for command in LEFT_BEHIND {
        let marker = marker();
        let workspace = workspace(Path::new("/"), marked_settings(&marker));
        let result = run(&workspace, &format!("{command}\necho ready")).await;
        assert!(result.starts_with("ready\n"), "{command}: {result}");
        // The last one may be between two processes.
        if command.contains("1000") {
            let told = "that the command left running";
            assert!(result.contains(told) && result.contains("sleep 1000"), "{command}: {result}");
        }
        assert!(marked(&marker).is_empty(), "{command}");
    }
}

#[tokio::test]
async fn endless_background_output_does_not_delay_the_command() {
    let marker = marker();
    let workspace = workspace(Path::new("/"), marked_settings(&marker));
    let found = run(&workspace, "setsid yes & exit 3").await;
    assert!(found.contains("Command exited with code 3"), "{found}");
    assert!(marked(&marker).is_empty());
}

#[tokio::test]
async fn no_process_is_left_when_a_command_times_out() {
    for command in LEFT_BEHIND {
        let marker = marker();
        let mut settings = marked_settings(&marker);
        settings.default_timeout = Some(Duration::from_millis(300));
        let workspace = workspace(Path::new("/"), settings);
        let found = run(&workspace, &format!("{command}\nsleep 1000")).await;
        assert_eq!(found, "Command timed out after 0.3 seconds");
        assert!(marked(&marker).is_empty(), "{command}");
    }
}

#[tokio::test]
async fn no_process_is_left_when_a_command_is_aborted() {
    for command in LEFT_BEHIND {
        let marker = marker();
        let workspace = workspace(Path::new("/"), marked_settings(&marker));
        let cancel = CancelToken::new();
        let canceller = cancel.clone();
        let arguments = json!({ "command": format!("{command}\necho ready; sleep 1000") });
        let aborted = call(&workspace, arguments, cancel, move |update| {
            if text(update) == "ready\n" {
                canceller.cancel();
            }
        });
        assert_eq!(aborted.await.unwrap_err().to_string(), "ready\n\n\nCommand aborted");
        assert!(marked(&marker).is_empty(), "{command}");
    }
}

#[tokio::test]
async fn no_process_is_left_when_a_call_is_dropped() {
    for command in LEFT_BEHIND {
        let marker = marker();
        let workspace = workspace(Path::new("/"), marked_settings(&marker));
        let ready = Arc::new(tokio::sync::Notify::new());
        let notifier = Arc::clone(&ready);
        let arguments = json!({ "command": format!("{command}\necho ready; sleep 1000") });
        let mut called = Box::pin(call(&workspace, arguments, CancelToken::new(), move |update| {
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

#[test]
fn no_process_is_left_when_the_program_dies() {
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP, Signal::INT] {
        for command in LEFT_BEHIND {
            let marker = marker();
            let directory = TempDir::new().unwrap();
            let ready = directory.path().join(format!("{marker}ready"));
            let command =
                format!("export M={marker}\n{command}\n: > {}; sleep 1000", ready.display());
            let mut program = testbed(&["run", &command], &BTreeMap::new());
            wait_until("the command runs", || ready.exists());
            kill_process(Pid::from_child(&program), signal).unwrap();
            program.wait().unwrap();
            wait_until(&command, || marked(&marker).is_empty());
        }
    }
}

#[tokio::test]
async fn killed_supervisor_ends_its_session() {
    let marker = marker();
    let workspace = workspace(Path::new("/"), marked_settings(&marker));
    let directory = TempDir::new().unwrap();
    let go = directory.path().join("go");
    let command = format!(
        "echo a; sleep 1000 & until [ -e {} ]; do :; done; kill -9 $PPID; sleep 1000",
        go.display()
    );
    // The supervisor is killed when the command is known to run.
    let arguments = json!({ "command": command });
    let killed = call(&workspace, arguments, CancelToken::new(), move |update| {
        if text(update) == "a\n" {
            fs::write(&go, "").unwrap();
        }
    });
    let found = killed.await;
    let found = found.map_or_else(|error| error.to_string(), |output| text(&output));
    assert_eq!(found, "a\n\n\nCommand terminated without an exit code");
    wait_until("the session ends", || marked(&marker).is_empty());
}

#[tokio::test]
async fn killing_by_arguments_does_not_hit_the_supervisor() {
    let marker = marker();
    let command = format!(
        "trap '' TERM; for p in /proc/[0-9]*; do
           if grep -qa {marker} $p/cmdline 2>/dev/null; then kill ${{p#/proc/}}; echo hit; fi
         done; echo still here"
    );
    let found = run(&workspace(Path::new("/"), settings()), &command).await;
    // At least the shell itself.
    assert!(found.starts_with("hit\n") && found.ends_with("still here\n"), "{found}");
}

#[tokio::test]
async fn without_supervisor_only_the_process_group_ends() {
    let marker = marker();
    let host = Arc::new(Host::default());
    let workspace = Workspace::new(host, "/".into(), None).with_bash(marked_settings(&marker));
    let workspace = Arc::new(workspace);
    assert_eq!(
        run(&workspace, "sleep 1000 & echo ready; exit 3").await,
        "ready\n\n\nCommand exited with code 3"
    );
    wait_until("the group ends", || marked(&marker).is_empty());
    // The supervisor exists for this case, and it proves that these tests can see a survivor. The
    // survivor reports when it has left the group: before that it is killed with the group.
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("survivor");
    let survivor = format!("echo $$ > {}; exec sleep 1000", file.display());
    let wait = format!("until [ -s {} ]; do :; done", file.display());
    run(&workspace, &format!("setsid -f sh -c '{survivor}' >/dev/null 2>&1; {wait}")).await;
    let survivor: u32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    // During exec a process has neither arguments nor environment.
    wait_until("the survivor is seen", || marked(&marker) == [survivor]);
    kill_process(Pid::from_raw(survivor.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn background_processes_are_listed_read_and_stopped() {
    let marker = marker();
    let workspace = workspace(Path::new("/"), marked_settings(&marker));
    let background = BackgroundProcesses::default();
    let command = "echo up; setsid sleep 1000 & wait; sleep 1000";
    let server = background.start(&workspace, command).await.unwrap();
    let short = background.start(&workspace, "echo done; exit 3").await.unwrap();
    assert_ne!(server, short);
    let patience = tokio::time::timeout(Duration::from_secs(60), async {
        let said = |id| background.output(id).unwrap().content;
        while said(server) != "up\n"
            || said(short) != "done\n"
            || background.list()[1].state == BackgroundState::Running
        {
            tokio::task::yield_now().await;
        }
    });
    patience.await.unwrap();
    let list = background.list();
    let shown: Vec<_> = list.iter().map(|info| (info.id, info.state)).collect();
    let (running, failed) = (BackgroundState::Running, BackgroundState::Exited(Some(3)));
    assert_eq!(shown, [(server, running), (short, failed)]);
    assert_eq!(list[0].command, command);
    assert!(!marked(&marker).is_empty());

    assert!(background.stop(server).await);
    assert!(marked(&marker).is_empty());
    assert_eq!(background.list()[0].state, BackgroundState::Stopped);
    assert_eq!(background.output(server).unwrap().content, "up\n", "the output can still be read");

    for _ in 0..2 {
        background.start(&workspace, command).await.unwrap();
    }
    assert!(!marked(&marker).is_empty());
    background.stop_all().await;
    assert!(marked(&marker).is_empty());
    let other = BackgroundProcesses::default();
    assert!(!other.stop(server).await, "another session does not know the process");
    assert_eq!(other.output(server), None);

    background.start(&workspace, command).await.unwrap();
    assert!(!marked(&marker).is_empty());
    drop(background);
    wait_until("dropping kills all processes", || marked(&marker).is_empty());
}

#[test]
fn background_processes_end_with_the_program() {
    let marker = marker();
    let command = format!("setsid sleep 1000 & export M={marker}; sleep 1000");
    let mut program = testbed(&["background", &command], &BTreeMap::new());
    let mut started = [0; 8];
    std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut started).unwrap();
    assert_eq!(&started, b"started\n");
    kill_process(Pid::from_child(&program), Signal::KILL).unwrap();
    program.wait().unwrap();
    wait_until("they end", || marked(&marker).is_empty());
}

#[test]
fn many_commands_leave_no_descriptors_threads_or_children() {
    let counted = answer(testbed(
        &["many", "echo a; setsid sleep 1000 >/dev/null 2>&1 &", "200"],
        &BTreeMap::new(),
    ));
    assert_eq!(counted["before"], counted["after"]);
}

#[test]
fn long_output_needs_little_memory() {
    let kilobytes = |megabytes: u32| {
        let command = format!("head -c {megabytes}M /dev/zero | tr '\\0' '\\n'");
        let answer = answer(testbed(&["memory", &command], &BTreeMap::new()));
        let lines = answer["result"]["details"]["truncation"]["totalLines"].as_u64();
        assert_eq!(lines, Some(u64::from(megabytes) * 1024 * 1024));
        answer["kilobytes"].as_u64().unwrap()
    };
    let (little, much) = (kilobytes(4), kilobytes(100));
    assert!(much < little + 4096, "{much} KB instead of {little} KB");
}

/// Starts the testbed with these arguments and additional variables.
pub(crate) fn testbed(arguments: &[&str], variables: &BTreeMap<OsString, OsString>) -> Child {
    // The tests may run with ignored signals (`nohup` does that), which children inherit.
    let mut command = Command::new("env");
    command
        .args(["--default-signal", TESTBED])
        .args(arguments)
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn answer(program: Child) -> Value {
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
