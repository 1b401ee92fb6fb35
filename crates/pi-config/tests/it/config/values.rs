//! Values that refer to variables or to the output of resolver.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use pi_config::{CommandRuns, ValueResolver};

use super::env::ConfigEnv;

#[tokio::test]
async fn values_are_resolved_or_explained() {
    let env = ConfigEnv::new();
    let resolver = ValueResolver::new(env.environment);
    let own = BTreeMap::from([("OWN".to_owned(), "own".to_owned())]);
    for (text, expected) in [
        ("plain", Ok("plain")),
        ("$PEER_SET", Ok("from the environment")),
        ("a-${OWN}", Ok("a-own")),
        ("${NOT_SET}", Err("the variable NOT_SET is not set")),
        ("", Err("it is empty")),
        ("!echo ' two words '", Ok("two words")),
        ("!echo $PEER_SET; echo no >&2", Ok("from the environment")),
        ("!echo $OWN", Err("the command printed nothing")),
        ("!echo out; exit 7", Err("the command ended with exit status: 7")),
        ("!echo a >&2; echo b >&2; exit 7", Err("the command ended with exit status: 7: b")),
    ] {
        for runs in [CommandRuns::Once, CommandRuns::EachTime] {
            let found = resolver.resolve(text, &own, runs).await;
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
        let maybe = expected.is_ok() || text.starts_with('!');
        assert_eq!(resolver.problem(text, &own).is_none(), maybe, "{text}");
    }
}

#[tokio::test]
async fn a_command_runs_once_or_each_time_even_if_it_fails() {
    let env = ConfigEnv::new();
    let cwd = env.environment.cwd.clone();
    let resolver = ValueResolver::new(env.environment);
    for (end, runs, expected) in [
        ("echo key", CommandRuns::Once, 1),
        ("exit 1", CommandRuns::Once, 1),
        ("echo key", CommandRuns::EachTime, 3),
        ("exit 1", CommandRuns::EachTime, 3),
    ] {
        let line = format!("!echo run >> \"$PI_PROJECT_DIR/log\"; {end}");
        let none = BTreeMap::new();
        // Concurrently and in sequence.
        let (one, other) = tokio::join!(
            resolver.resolve(&line, &none, runs),
            resolver.resolve(&line, &none, runs),
        );
        assert_eq!(one, other, "{line}");
        assert_eq!(resolver.resolve(&line, &none, runs).await.is_ok(), end == "echo key");
        let log = fs::read_to_string(cwd.join("log")).unwrap();
        assert_eq!(log.lines().count(), expected, "{end}, {runs:?}");
        fs::remove_file(cwd.join("log")).unwrap();
    }
}

#[tokio::test]
async fn a_timeout_ends_the_command_and_its_children() {
    let env = ConfigEnv::new();
    let cwd = env.environment.cwd.clone();
    let resolver = ValueResolver::new(env.environment).with_timeout(Duration::from_millis(50));
    let line = "!cat /dev/zero > /dev/null & echo $! > \"$PI_PROJECT_DIR/pid\"; wait";
    let problem =
        resolver.resolve(line, &BTreeMap::new(), CommandRuns::EachTime).await.unwrap_err();
    assert_eq!(problem, "the command took longer than 0.05 seconds");
    // A child process, if the shell started one, ended too.
    #[cfg(target_os = "linux")]
    if let Ok(pid) = fs::read_to_string(cwd.join("pid"))
        && !pid.trim().is_empty()
    {
        let status = format!("/proc/{}/stat", pid.trim());
        while fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z")) {
            std::thread::yield_now();
        }
    }
}

/// Programs load files of their working directory, and others are found by `PATH`.
#[cfg(unix)]
#[tokio::test]
async fn a_command_runs_nothing_of_the_project_that_it_does_not_name() {
    use std::os::unix::fs::PermissionsExt as _;

    let mut env = ConfigEnv::new();
    let (cwd, agent) = (env.environment.cwd.clone(), env.environment.agent_directory.clone());
    fs::create_dir_all(&agent).unwrap();
    fs::create_dir_all(cwd.join("venv/bin")).unwrap();
    fs::write(cwd.join("Makefile"), "key:\n\t@echo planted\n").unwrap();
    for name in ["venv/bin/printkey", "script"] {
        fs::write(cwd.join(name), "#!/bin/sh\necho planted\n").unwrap();
        fs::set_permissions(cwd.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}/venv/bin:/usr/bin:/bin", cwd.display());
    Arc::make_mut(&mut env.environment.variables).insert("PATH".to_owned(), path);
    let resolver = ValueResolver::new(env.environment);
    for line in ["!make -s key", "!printkey", "!./script", "!. ./script"] {
        let found = resolver.resolve(line, &BTreeMap::new(), CommandRuns::EachTime).await;
        assert!(found.is_err(), "{line}: {found:?}");
    }
    let found = resolver.resolve("!pwd", &BTreeMap::new(), CommandRuns::EachTime).await.unwrap();
    assert_eq!(fs::canonicalize(found).unwrap(), fs::canonicalize(agent).unwrap());
    let named = "!\"$PI_PROJECT_DIR/script\"";
    let found = resolver.resolve(named, &BTreeMap::new(), CommandRuns::EachTime).await;
    assert_eq!(found.as_deref(), Ok("planted"));
}
