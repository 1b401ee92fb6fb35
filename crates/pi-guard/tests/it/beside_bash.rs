//! The analysis beside the real shell: whatever bash runs, the analysis lists or doubts.
//!
//! Left out of ordinary runs; `cargo xtask evade` runs it for as long as one likes. Scripts run in
//! an empty folder, with a PATH on which programs only write down that they were started.

mod grammar;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use grammar::{REAL, Random, STUBS};
use pi_guard::shell::{self, Analysis, Role, Word};

struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let bed = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(bed.bin()).unwrap();
        for name in STUBS {
            // Not through the environment: scripts change that.
            let log = bed.log();
            let stub = format!(
                "#!/bin/sh\nl={name}\nfor w; do l=\"$l\u{1}$w\"; done\nprintf '%s\\002' \"$l\" >> {}\n",
                log.display()
            );
            let path = bed.bin().join(name);
            fs::write(&path, stub).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in REAL {
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            if let Some(real) = real.iter().find(|path| path.exists()) {
                symlink(real, bed.bin().join(name)).unwrap();
            }
        }
        bed
    }

    fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Runs a script; what ran, as words.
    fn run(&self, script: &str) -> Vec<Vec<String>> {
        let cwd = self.folder.path().join("cwd");
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

/// Whether the words of a command, of which some are not known, may have become these.
fn fits(words: &[Word], ran: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return ran.is_empty() };
    match word {
        // A home, or the folder that the script is in.
        Word::Literal { text, .. } if text.starts_with('~') => {
            !ran.is_empty() && fits(rest, &ran[1..])
        }
        Word::Literal { text, .. } => ran.first() == Some(text) && fits(rest, &ran[1..]),
        Word::Unknown { prefix, many: false, .. } => {
            ran.first().is_some_and(|r| r.starts_with(prefix.as_str())) && fits(rest, &ran[1..])
        }
        Word::Unknown { .. } => (0..=ran.len()).any(|skip| fits(rest, &ran[skip..])),
    }
}

/// What ran although the analysis is certain and does not list it.
fn missed(analysis: &Analysis, ran: &[Vec<String>]) -> Option<Vec<String>> {
    let listed = |ran: &[String]| {
        analysis.commands.iter().any(|command| {
            command.base() == ran.first().map(String::as_str)
                && fits(command.words.get(1..).unwrap_or_default(), &ran[1..])
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
fn whatever_runs_is_listed_or_doubted() {
    let bed = Bed::new();
    let limit = Duration::from_secs(number("PI_EVADE_SECONDS", 20));
    let mut random = Random(number("PI_EVADE_SEED", 1));
    let started = Instant::now();
    let (mut made, mut certain, mut effective) = (0_u32, 0_u32, 0_u32);
    let mut found = BTreeSet::new();
    while started.elapsed() < limit {
        let script = grammar::script(&mut random);
        made += 1;
        let analysis = shell::analyze(&script);
        let opaque = analysis.commands.iter().any(|c| matches!(c.role, Role::Opaque(_)));
        if opaque || !analysis.is_certain() || script.contains('\0') {
            continue;
        }
        certain += 1;
        let ran = bed.run(&script);
        effective += u32::from(!ran.is_empty());
        // What an earlier script left in the background may write late: only what happens again
        // counts.
        let again = || missed(&analysis, &bed.run(&script)).is_some();
        if let Some(words) = missed(&analysis, &ran).filter(|_| again()) {
            let listed: Vec<String> = analysis.commands.iter().map(shell::Command::text).collect();
            found.insert(format!("{script:?}\n  ran {words:?}, listed {listed:?}"));
        }
    }
    println!("{made} scripts, {certain} certain and compared, {effective} of them ran something");
    let shown: Vec<&String> = found.iter().take(40).collect();
    assert!(found.is_empty(), "{} found\n{shown:#?}", found.len());
}

/// A fixed sample, so that the comparison itself is known to work.
#[test]
fn the_comparison_notices() {
    if !Path::new("/bin/bash").exists() || !Path::new("/usr/bin/timeout").exists() {
        return;
    }
    let bed = Bed::new();
    let ran = bed.run("cat a.txt; echo $(git push)");
    assert_eq!(ran, [vec!["cat", "a.txt"], vec!["git", "push"]]);
    assert_eq!(missed(&shell::analyze("cat a.txt; echo $(git push)"), &ran), None);
    assert!(missed(&shell::analyze("cat a.txt; git pull"), &ran).is_some());
    assert!(missed(&shell::analyze("echo git push"), &ran).is_some());
}
