//! The analysis compared with the real shell: every command that bash runs must be listed, or the
//! analysis must be uncertain.
//!
//! Not part of ordinary runs; `cargo xtask evade` runs it for a given time. Scripts run in an empty
//! directory, with a PATH on which programs only record that they were started.

mod grammar;
mod twice;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use grammar::{REAL, Random, STUBS};
use pi_guard::shell::{self, Analysis, Role, Word};

struct TestEnv {
    directory: tempfile::TempDir,
}

impl TestEnv {
    fn new() -> Self {
        let env = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(env.bin()).unwrap();
        for name in STUBS {
            // Scripts can change the environment, so the path is in the stub.
            let log = env.log();
            let stub = format!(
                "#!/bin/sh\nl={name}\nfor w; do l=\"$l\u{1}$w\"; done\nprintf '%s\\002' \"$l\" >> {}\n",
                log.display()
            );
            let path = env.bin().join(name);
            fs::write(&path, stub).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in REAL {
            let real = ["/usr/bin", "/bin"].map(|directory| Path::new(directory).join(name));
            if let Some(real) = real.iter().find(|path| path.exists()) {
                symlink(real, env.bin().join(name)).unwrap();
            }
        }
        env
    }

    fn bin(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Runs a script and returns the words of the commands that ran.
    fn run(&self, script: &str) -> Vec<Vec<String>> {
        let cwd = self.directory.path().join("cwd");
        let _ = fs::remove_dir_all(&cwd);
        let _ = fs::remove_file(self.log());
        fs::create_dir(&cwd).unwrap();
        fs::write(cwd.join("f"), "cat a.txt\n").unwrap();
        fs::write(cwd.join("input"), "cat a.txt\nls\n").unwrap();
        let status = Command::new("/usr/bin/timeout")
            .args(["-k", "1", "0.4", "/bin/bash", "-c", script])
            .current_dir(&cwd)
            .env_clear()
            .env("PATH", self.bin())
            .env("HOME", &cwd)
            .env("FUNCNEST", "20")
            .stdin(fs::File::open(cwd.join("input")).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok());
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.split('\u{2}').filter(|line| !line.is_empty());
        lines.map(|line| line.split('\u{1}').map(str::to_owned).collect()).collect()
    }
}

/// Returns true if the words of a command may have become these.
fn matches(words: &[Word], ran: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return ran.is_empty() };
    match word {
        // The home directory, or the working directory.
        Word::Literal { text, .. } if text.starts_with('~') => {
            !ran.is_empty() && matches(rest, &ran[1..])
        }
        Word::Literal { text, .. } => ran.first() == Some(text) && matches(rest, &ran[1..]),
        Word::Unknown { prefix, many: false, .. } => {
            ran.first().is_some_and(|r| r.starts_with(prefix.as_str())) && matches(rest, &ran[1..])
        }
        Word::Unknown { .. } => (0..=ran.len()).any(|skip| matches(rest, &ran[skip..])),
    }
}

/// Returns a command that ran although the analysis does not list it.
fn missed(analysis: &Analysis, ran: &[Vec<String>]) -> Option<Vec<String>> {
    let listed = |ran: &[String]| {
        analysis.commands.iter().any(|command| {
            command.base() == ran.first().map(String::as_str)
                && matches(command.words.get(1..).unwrap_or_default(), &ran[1..])
        })
    };
    ran.iter().find(|words| !listed(words)).cloned()
}

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var_os(name).and_then(|value| value.into_string().ok());
    value.and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "takes as long as it is given; see `cargo xtask evade`"]
fn commands_that_run_are_listed() {
    let env = TestEnv::new();
    let limit = Duration::from_secs(number("PI_EVADE_SECONDS", 20));
    let mut random = Random(number("PI_EVADE_SEED", 1));
    let started = Instant::now();
    let (mut total, mut certain, mut effective) = (0_u32, 0_u32, 0_u32);
    let mut found = BTreeSet::new();
    while started.elapsed() < limit {
        let script = grammar::script(&mut random);
        total += 1;
        let analysis = shell::analyze(&script);
        let opaque = analysis.commands.iter().any(|c| matches!(c.role, Role::Opaque(_)));
        if opaque || !analysis.is_certain() || script.contains('\0') {
            continue;
        }
        certain += 1;
        let ran = env.run(&script);
        effective += u32::from(!ran.is_empty());
        let Some(words) = missed(&analysis, &ran) else { continue };
        // A background process of an earlier script may record itself late, so only a result that
        // is repeated counts.
        if missed(&analysis, &env.run(&script)).is_some() {
            let listed: Vec<String> = analysis.commands.iter().map(shell::Command::text).collect();
            found.insert(format!("{script:?}\n  ran {words:?}, listed {listed:?}"));
        }
    }
    println!("{total} scripts, {certain} certain and compared, {effective} of them ran something");
    let shown: Vec<&String> = found.iter().take(40).collect();
    assert!(found.is_empty(), "{} found\n{shown:#?}", found.len());
}

/// Scripts that bash evaluates twice are never certain if they run something that is not listed.
#[test]
#[ignore = "takes as long as it is given; see `cargo xtask evade`"]
fn double_evaluations_are_uncertain() {
    let env = TestEnv::new();
    let limit = Duration::from_secs(number("PI_EVADE_SECONDS", 20));
    let mut random = Random(number("PI_EVADE_SEED", 1));
    let started = Instant::now();
    let (mut total, mut effective, mut certain) = (0_u32, 0_u32, 0_u32);
    let mut found = BTreeSet::new();
    while started.elapsed() < limit {
        let script = twice::script(&mut random);
        total += 1;
        let ran = env.run(&script);
        let pushes = |ran: &[Vec<String>]| ran.iter().any(|words| words.join(" ") == "git push");
        effective += u32::from(pushes(&ran));
        let analysis = shell::analyze(&script);
        let opaque = analysis.commands.iter().any(|c| matches!(c.role, Role::Opaque(_)));
        if opaque || !analysis.is_certain() {
            continue;
        }
        certain += 1;
        if missed(&analysis, &ran).is_some() && missed(&analysis, &env.run(&script)).is_some() {
            found.insert(format!("{script:?}"));
        }
    }
    println!("{total} double evaluations, {effective} ran `git push`, {certain} are certain");
    let shown: Vec<&String> = found.iter().take(40).collect();
    assert!(found.is_empty(), "{} found\n{shown:#?}", found.len());
}

/// The comparison itself works.
#[test]
fn the_comparison_finds_missing_commands() {
    let env = TestEnv::new();
    let ran = env.run("cat a.txt; echo $(git push)");
    assert_eq!(ran, [vec!["cat", "a.txt"], vec!["git", "push"]]);
    assert_eq!(missed(&shell::analyze("cat a.txt; echo $(git push)"), &ran), None);
    assert!(missed(&shell::analyze("cat a.txt; git pull"), &ran).is_some());
    assert!(missed(&shell::analyze("echo git push"), &ran).is_some());
}
