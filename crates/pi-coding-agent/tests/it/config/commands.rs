//! Values that are found elsewhere: in variables and in what commands print.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use pi_coding_agent::config::{Commands, Runs};

use super::place::Place;

#[tokio::test]
async fn values_are_found_or_it_is_said_why_not() {
    let place = Place::new();
    let commands = Commands::new(place.environment);
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
        for runs in [Runs::Once, Runs::EachTime] {
            let found = commands.resolve(text, &own, runs).await;
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
        let maybe = expected.is_ok() || text.starts_with('!');
        assert_eq!(commands.may_resolve(text, &own), maybe, "{text}");
    }
}

#[tokio::test]
async fn a_command_runs_once_or_each_time_whether_it_works_or_not() {
    let place = Place::new();
    let cwd = place.environment.cwd.clone();
    let commands = Commands::new(place.environment);
    for (end, runs, expected) in [
        ("echo key", Runs::Once, 1),
        ("exit 1", Runs::Once, 1),
        ("echo key", Runs::EachTime, 3),
        ("exit 1", Runs::EachTime, 3),
    ] {
        let line = format!("!echo run >> log; {end}");
        let none = BTreeMap::new();
        // At the same time and one after the other.
        let (one, other) = tokio::join!(
            commands.resolve(&line, &none, runs),
            commands.resolve(&line, &none, runs),
        );
        assert_eq!(one, other, "{line}");
        assert_eq!(commands.resolve(&line, &none, runs).await.is_ok(), end == "echo key");
        let log = fs::read_to_string(cwd.join("log")).unwrap();
        assert_eq!(log.lines().count(), expected, "{end}, {runs:?}");
        fs::remove_file(cwd.join("log")).unwrap();
    }
}

#[tokio::test]
async fn a_command_that_does_not_end_is_ended_with_all_it_started() {
    let place = Place::new();
    let cwd = place.environment.cwd.clone();
    let commands = Commands::new(place.environment).with_patience(Duration::from_millis(50));
    let line = "!cat /dev/zero > /dev/null & echo $! > pid; wait";
    let problem = commands.resolve(line, &BTreeMap::new(), Runs::EachTime).await.unwrap_err();
    assert_eq!(problem, "the command took longer than 0.05 seconds");
    // If the shell got as far as starting something, that ended too.
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
