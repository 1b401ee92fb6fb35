//! Limits on a sandboxed command as a whole: a fork bomb, a memory hog and endless output end, in
//! every kind of sandbox, and the result names the limit.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_guard::confine::{Confinement, Limits};
use pi_tools::{BashSettings, Workspace};
use tempfile::TempDir;

use crate::bash::run;
use crate::env::{not_tested, sandboxed_host, sandboxes};

/// Runs a command in each kind of sandbox.
async fn results(
    limit: impl Fn(&mut Limits) + Copy,
    settings: impl Fn(&mut BashSettings, &Path),
    command: &str,
) -> Vec<String> {
    let mut results = Vec::new();
    for machine in sandboxes() {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        let host = sandboxed_host(directory.path(), &machine, |confinement: &mut Confinement| {
            limit(&mut confinement.limits);
        });
        let work = directory.path().canonicalize().unwrap().join("work");
        let mut bash = BashSettings::default();
        settings(&mut bash, directory.path());
        let path = std::env::var_os("PATH").unwrap_or_default();
        bash.environment.insert("PATH".into(), path);
        let workspace = Arc::new(Workspace::new(Arc::new(host), work, None).with_bash(bash));
        results.push(run(&workspace, command).await);
    }
    results
}

/// Waits until the command has its control group: that of a user other than root takes a while.
const WAIT: &str =
    "for i in $(seq 50); do grep -q /pi- /proc/self/cgroup && break; sleep 0.01; done; ";

/// Returns true if this user may create control groups, so that limits of a whole command hold.
async fn has_control_groups() -> bool {
    let script = format!("{WAIT} cat /proc/self/cgroup");
    let results = results(|limits| limits.processes = Some(40), |_, _| {}, &script);
    let results = results.await;
    // With bubblewrap, a command does not see a group that it has had from the start.
    let has = results.iter().any(|result| result.contains("/pi-"));
    // The groups are removed with their commands.
    for line in
        results.iter().flat_map(|result| result.lines()).filter(|line| line.contains("/pi-"))
    {
        let (controllers, path) = line.split_once(':').unwrap().1.split_once(':').unwrap();
        let group = Path::new("/sys/fs/cgroup").join(controllers).join(&path[1..]);
        assert!(!group.exists(), "{}", group.display());
    }
    if !has {
        not_tested("control groups: this user cannot create any");
    }
    has
}

#[tokio::test]
async fn a_fork_bomb_ends_at_the_limit_of_processes() {
    if !has_control_groups().await {
        return;
    }
    let bomb = &format!(
        "{WAIT} bomb() {{ bomb | bomb & }}; bomb 2>/dev/null; for i in $(seq 100); do sleep 60 & done 2>&1"
    );
    // The shell retries for a while, so the command is not awaited.
    let settings =
        |bash: &mut BashSettings, _: &Path| bash.max_timeout = Some(Duration::from_secs(4));
    for result in results(|limits| limits.processes = Some(40), settings, bomb).await {
        assert!(result.contains("[The command reached its limit of 40 processes.]"), "{result}");
    }
}

#[tokio::test]
async fn a_memory_hog_ends_at_the_limit_of_memory() {
    if !has_control_groups().await {
        return;
    }
    // Several processes together: each holds its memory until all of them have asked for it.
    let hog = "mkfifo full go; exec 8<>full 9<>go; \
        for i in 1 2 3 4; do \
          { head -c 60M /dev/zero; echo >&8; read -r _ <&9; } | tail -n 1 > /dev/null & \
        done; \
        for i in 1 2 3 4; do read -r _ <&8; done; echo $'\\n\\n\\n' >&9; wait; rm full go";
    let hog = &format!("{WAIT} {hog}");
    for result in results(|limits| limits.memory = Some(128 << 20), |_, _| {}, hog).await {
        let note = "[The command reached its limit of 128 MB of memory, and a process was killed.]";
        assert!(result.contains(note), "{result}");
    }
}

#[tokio::test]
async fn endless_output_is_saved_up_to_its_limit() {
    let settings = |bash: &mut BashSettings, directory: &Path| {
        bash.output_directory = Some(directory.to_owned());
        bash.output_limit = 1 << 20;
        bash.max_timeout = Some(Duration::from_millis(500));
    };
    for result in results(|_| {}, settings, "yes").await {
        assert!(result.contains("First 1.0MB of the output: "), "{result}");
        assert!(
            result.ends_with("Command timed out after 0.5 seconds\n\n[No command may run longer.]"),
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_repository_that_runs_programs_is_reported() {
    let command = "git init -q new && git -C new config core.fsmonitor ./evil && echo done";
    for result in results(|_| {}, |_, _| {}, command).await {
        assert!(result.starts_with("done\n"), "{result}");
        assert!(
            result.contains("/new/.git/config was renamed to config.disabled-by-pi: git outside"),
            "{result}"
        );
        assert!(result.contains("core.fsmonitor=./evil"), "{result}");
    }
}
