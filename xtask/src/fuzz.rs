//! `cargo xtask fuzz [TARGET...] [--seconds N]`: runs the fuzz targets of `fuzz/`.
//!
//! Works on the stable toolchain: the coverage that libFuzzer uses is an LLVM pass, which stable
//! `rustc` can run. A C++ compiler is required, because libFuzzer is built from source. The corpus
//! starts from the recorded streams in the tests of pi-ai and is stored in `fuzz/corpus`, so each
//! run continues the last one; delete it to start again.
//!
//! A crash is saved in `fuzz/artifacts`. Fix it with a unit test next to the code that was wrong:
//! the corpus is not committed.

mod seeds;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::repository;

/// The targets, one per file in `fuzz/targets`.
const TARGETS: &[&str] = &[
    "sse",
    "decoder_anthropic",
    "decoder_completions",
    "decoder_responses",
    "decoder_google",
    "decoder_mistral",
    "decoder_pi_messages",
    "decoder_bedrock",
    "markdown",
    "partial_json",
    "json_repair",
    "message_roundtrip",
    "session_load",
    "session_migrate",
    "policy_check",
    "terminal_input",
];

/// Default time of all targets together.
const DEFAULT_SECONDS: u64 = 90;

/// The flags that `cargo fuzz` passes, without those of the nightly compiler. The last one makes
/// comparisons visible, so that libFuzzer finds the names of events.
const RUSTFLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// Longer inputs find the same bugs more slowly. Longer recordings are cut.
const MAX_INPUT: usize = 16 * 1024;

/// Errors of the task, crashes included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FuzzError {
    #[error("usage: cargo xtask fuzz [TARGET...] [--seconds N]\ntargets: {}", TARGETS.join(" "))]
    Usage,
    #[error("no C++ compiler (`c++` or $CXX), which libFuzzer is built with")]
    NoCompiler,
    #[error("cannot run {what}: {source}")]
    Run { what: &'static str, source: io::Error },
    #[error("`rustc -vV` does not name its host")]
    NoHost,
    #[error("the fuzz targets do not build")]
    Build,
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{} of the targets crashed: {}", .0.len(), .0.join(" "))]
    Crashed(Vec<String>),
}

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    targets: Vec<String>,
    seconds: u64,
}

/// Builds the targets and runs them one after the other.
pub(crate) fn run(arguments: &[&str]) -> Result<(), FuzzError> {
    let plan = Plan::parse(arguments)?;
    let programs = build(&plan)?;
    let each = (plan.seconds / plan.targets.len() as u64).max(1);
    say(&format!("{} target(s), {each} s each", plan.targets.len()));
    let mut crashed = Vec::new();
    for target in &plan.targets {
        if !run_target(target, &programs, each)? {
            crashed.push(target.clone());
        }
    }
    if crashed.is_empty() { Ok(()) } else { Err(FuzzError::Crashed(crashed)) }
}

impl Plan {
    fn parse(arguments: &[&str]) -> Result<Self, FuzzError> {
        let mut targets = Vec::new();
        let mut seconds = DEFAULT_SECONDS;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if *argument == "--seconds" {
                let given = rest.next().and_then(|number| number.parse().ok());
                seconds = given.ok_or(FuzzError::Usage)?;
            } else if TARGETS.contains(argument) {
                targets.push((*argument).to_owned());
            } else {
                return Err(FuzzError::Usage);
            }
        }
        if targets.is_empty() {
            targets = TARGETS.iter().map(|target| (*target).to_owned()).collect();
        }
        Ok(Self { targets, seconds })
    }
}

/// Builds the targets and returns the directory of the programs, relative to the repository.
fn build(plan: &Plan) -> Result<PathBuf, FuzzError> {
    let compiler = repository::tool("CXX", "c++").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) {
        return Err(FuzzError::NoCompiler);
    }
    let host = host()?;
    let mut cargo = repository::cargo();
    cargo
        .args(["build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--target-dir", "fuzz/target"])
        // With a target named, the flags do not apply to build scripts and macros.
        .args(["--target", &host])
        .env("RUSTFLAGS", RUSTFLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    for target in &plan.targets {
        cargo.args(["--bin", target]);
    }
    let status = cargo.status().map_err(|source| FuzzError::Run { what: "cargo", source })?;
    if !status.success() {
        return Err(FuzzError::Build);
    }
    Ok(["fuzz", "target", &host, "release"].iter().collect())
}

fn host() -> Result<String, FuzzError> {
    let output = repository::tool("RUSTC", "rustc").arg("-vV").output();
    let output = output.map_err(|source| FuzzError::Run { what: "rustc", source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or(FuzzError::NoHost)
}

/// Runs a target and prints the result. Returns false if it crashed.
fn run_target(target: &str, programs: &Path, seconds: u64) -> Result<bool, FuzzError> {
    let corpus = PathBuf::from("fuzz/corpus").join(target);
    let artifacts = PathBuf::from("fuzz/artifacts").join(target);
    for directory in [&corpus, &artifacts] {
        let path = repository::root().join(directory);
        fs::create_dir_all(&path).map_err(|source| FuzzError::File { path, source })?;
    }
    let dictionary = corpus.with_extension("dict");
    seeds::plant(target, &repository::root().join(&corpus), &repository::root().join(&dictionary))?;

    let log_path = repository::root().join(artifacts.with_extension("log"));
    let failed = |source| FuzzError::File { path: log_path.clone(), source };
    let log = fs::File::create(&log_path).map_err(failed)?;
    let program = programs.join(target);
    let status = Command::new(repository::root().join(&program))
        .current_dir(repository::root())
        .arg(&corpus)
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-dict={}", dictionary.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={MAX_INPUT}"))
        .args(["-rss_limit_mb=1024", "-timeout=10", "-print_final_stats=1"])
        .stdout(Stdio::null())
        .stderr(log)
        .status()
        .map_err(|source| FuzzError::Run { what: "a fuzz target", source })?;

    // A crash may leave anything in the log.
    let log = fs::read(&log_path).map_err(failed)?;
    let log = String::from_utf8_lossy(&log);
    say(&format!("{target:<20} {}", summary(&log, status.success())));
    if !status.success() {
        say(&crash_report(&log, &program.display().to_string()));
    }
    Ok(status.success())
}

/// Summarizes a run in a line, from libFuzzer's log.
fn summary(log: &str, success: bool) -> String {
    let stat = |name: &str| {
        let line = log.lines().rev().find_map(|line| line.strip_prefix(name));
        line.map_or("?", |rest| rest.trim_start_matches(':').trim())
    };
    let progress = log.lines().rev().find(|line| line.contains(" cov: ")).unwrap_or_default();
    let after = |label: &str| {
        let mut words = progress.split_whitespace().skip_while(|word| *word != label);
        words.nth(1).unwrap_or("?")
    };
    format!(
        "{}: {} runs, {} per second, {} edges, {} inputs, {} MB",
        if success { "ok" } else { "CRASH" },
        stat("stat::number_of_executed_units"),
        stat("stat::average_exec_per_sec"),
        after("cov:"),
        after("corp:").split('/').next().unwrap_or("?"),
        stat("stat::peak_rss_mb"),
    )
}

/// Describes a crash: the message, the input, and the command that reproduces it.
fn crash_report(log: &str, program: &str) -> String {
    let mut report = String::new();
    let panic = log.lines().skip_while(|line| !line.contains("panicked at"));
    let what: Vec<&str> = panic
        .take_while(|line| !line.starts_with("==") && *line != "stack backtrace:")
        .take(12)
        .collect();
    let what = if what.is_empty() {
        log.lines().filter(|line| line.contains("ERROR: libFuzzer")).collect()
    } else {
        what
    };
    for line in what {
        report.push_str("    ");
        report.push_str(line.get(..400).unwrap_or(line));
        report.push('\n');
    }
    let artifact = log.lines().find_map(|line| line.split("Test unit written to ").nth(1));
    match artifact {
        Some(artifact) => {
            report.push_str(&format!("    input:     {artifact}\n"));
            report.push_str(&format!("    reproduce: {program} {artifact}"));
        }
        None => report.push_str("    no input was saved; the log is in fuzz/artifacts"),
    }
    report
}

#[allow(clippy::print_stdout)] // The result of the task.
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let all = Plan::parse(&[]).unwrap();
        assert_eq!((all.targets.len(), all.seconds), (TARGETS.len(), DEFAULT_SECONDS));
        let some = Plan::parse(&["sse", "--seconds", "7", "json_repair"]).unwrap();
        assert_eq!(some, Plan { targets: vec!["sse".into(), "json_repair".into()], seconds: 7 });
        for bad in [&["nonsense"][..], &["--seconds"], &["--seconds", "x"]] {
            assert!(matches!(Plan::parse(bad), Err(FuzzError::Usage)), "{bad:?}");
        }
    }

    #[test]
    fn every_target_has_its_file_and_its_entry() {
        let manifest = fs::read_to_string(repository::path("fuzz/Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(repository::path(&format!("fuzz/targets/{target}.rs")).exists(), "{target}");
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        }
        let files = repository::path("fuzz/targets").read_dir().unwrap().count();
        assert_eq!(files, TARGETS.len(), "a file in fuzz/targets is not in TARGETS");
    }

    #[test]
    fn a_run_in_one_line() {
        let log = "#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb\n\
            #99\tDONE   cov: 123 ft: 456 corp: 7/89b lim: 4 exec/s: 99 rss: 31Mb\n\
            stat::number_of_executed_units: 99\nstat::average_exec_per_sec:     33\n\
            stat::peak_rss_mb:              31\n";
        let expected = "ok: 99 runs, 33 per second, 123 edges, 7 inputs, 31 MB";
        assert_eq!(summary(log, true), expected);
        assert!(summary("", false).starts_with("CRASH: ? runs"));
    }

    #[test]
    fn a_crash_names_its_input_and_how_to_repeat_it() {
        let log = "noise\nthread '<unnamed>' panicked at src/lib.rs:1:2:\noh no\n==1== ERROR: x\n\
            artifact_prefix='a/'; Test unit written to a/crash-1\n";
        let report = crash_report(log, "bin/sse");
        assert!(report.contains("oh no") && report.ends_with("reproduce: bin/sse a/crash-1"));
        assert!(!report.contains("noise"));
        assert!(crash_report("", "bin/sse").contains("no input was saved"));
    }
}
