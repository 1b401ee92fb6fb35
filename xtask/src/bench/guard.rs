//! The cost of the guard: a decision about a command, and the sandbox of one.
//!
//! The helper of sandboxed commands is the release build of `pi`. With bubblewrap, the processes
//! inside end shortly after their parent, so this process adopts and waits for them: otherwise the
//! system would not count their CPU time.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_guard::confine::{
    Confined, Confinement, ConfinementLevel, ExecWatch, Machine, Mode, Network,
};
use pi_guard::policy::{Defaults, Exec, Layer, Policy, PolicyContext, RuleFile};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use super::modes::build;
use super::process::{Whose, cpu_of};

const RULES: &str = r#"
[[command]]
prefix = ["git", "push"]
decision = "forbid"
[[command]]
prefix = ["cargo", ["build", "test"]]
decision = "allow"
[[path]]
paths = ["**/.env", "~/.ssh"]
access = "any"
decision = "forbid"
"#;

const SCRIPTS: &[&str] = &[
    "ls",
    "cargo test --workspace 2>&1 | tail -40",
    "cd crates && for f in */src/*.rs; do grep -n TODO \"$f\" || true; done",
    "git add -A && git commit -m 'x' && git push origin HEAD",
    "find . -name '*.py' -print0 | xargs -0 sed -i 's/a/b/'",
    "bash -c \"env FOO=$(date) make -j4\"",
    "python3 - <<'E'\nprint(1)\nE",
    "if test -f .env; then . ./.env; fi; X=cat; $X a.txt",
];

/// Measures everything and prints the table.
#[allow(clippy::print_stdout)]
pub(super) fn print(quick: bool) {
    println!("\nThe guard: CPU time\n\n| what | CPU | budget |\n|---|---|---|");
    let rounds = if quick { 20 } else { 200 };
    match decision(rounds) {
        Some(took) => println!("| a decision | {took:.0} µs | 100 µs |"),
        None => println!("| a decision | not reported by the system | 100 µs |"),
    }
    if let Some(took) = exec_decision(rounds) {
        println!("| a decision about a program that starts | {took:.1} µs | 10 µs |");
    }
    if let Err(error) = confinement(quick) {
        println!("\nconfinement: not measured: {error}");
    }
}

fn decision(rounds: u32) -> Option<f64> {
    let mut policy = Policy::new(Defaults::careful());
    policy.add(RuleFile::parse("bench", RULES, Layer::User).ok()?);
    let resolve = |name: &str| Path::new("/usr/bin").join(name).canonicalize().ok();
    let real = |path: &Path| path.canonicalize().ok();
    let cwd = PathBuf::from("/");
    let context = PolicyContext::new(&cwd).with_program_resolver(&resolve).with_real_paths(&real);
    let took = cpu_of(rounds, Whose::Own, || {
        for script in SCRIPTS {
            std::hint::black_box(policy.check(script, &context));
        }
        Ok::<_, ()>(())
    });
    Some(took.ok()??.as_secs_f64() * 1e6 / SCRIPTS.len() as f64)
}

#[allow(clippy::print_stdout)]
fn confinement(quick: bool) -> io::Result<()> {
    let helper = build()?;
    set_child_subreaper(Some(getpid()))?;
    let runs = if quick { 20 } else { 200 };
    let workspace = tempfile::tempdir()?;
    let tmp = tempfile::tempdir()?;
    std::fs::create_dir_all(workspace.path().join(".git/hooks"))?;
    std::fs::write(workspace.path().join(".git/config"), "")?;
    let program = OsString::from("/usr/bin/true");
    let plain = cpu(runs, || Command::new(&program))?;
    let wanted = Confinement::new(
        Mode::WorkspaceWrite {
            workspace: workspace.path().to_owned(),
            extra_roots: Vec::new(),
            private_tmp: Some(tmp.path().to_owned()),
        },
        Network::Off,
    );
    let whole = Machine::detect();
    let machines = [whole.clone(), whole.without_bubblewrap()];
    for machine in machines.iter().filter(|machine| machine.level() != ConfinementLevel::None) {
        let confined =
            wanted.prepare(machine, ConfinementLevel::None, &helper).map_err(io::Error::other)?;
        let took = cpu(runs, || {
            let sandboxed = confined.direct_command(&program, &[], workspace.path(), &[]);
            let mut command = Command::new(sandboxed.program);
            command.args(sandboxed.arguments).env_clear().envs(sandboxed.environment);
            command.current_dir(workspace.path());
            command
        })?;
        println!("| a sandboxed `true`, {} | +{:.1} ms | 5 ms |", confined.level(), took - plain);
        let more = programs(&confined, workspace.path(), quick)?;
        println!("| a program that starts in it, judged (elapsed) | +{more:.0} µs | 60 µs |");
        confined.remove_covers();
    }
    Ok(())
}

/// Programs that a sandboxed shell starts, one after the other.
const PROGRAMS: u32 = 1000;

/// Returns the microseconds that judging adds to the start of a program: the best of several runs
/// with and without it, since other processes only add.
fn programs(confined: &Confined, workspace: &Path, quick: bool) -> io::Result<f64> {
    let directory = tempfile::tempdir()?;
    let mut policy = Policy::new(Defaults::unattended());
    policy.add(RuleFile::parse("bench", RULES, Layer::User).map_err(io::Error::other)?);
    let resolve = |name: &str| Path::new("/usr/bin").join(name).canonicalize().ok();
    let programs = policy.restricted_programs(&resolve);
    let filter = move |exec: &Exec<'_>, _: bool| {
        policy.check_exec(exec, &PolicyContext::new(Path::new("/")))
    };
    let judge = ExecWatch::start(directory.path(), programs, Arc::new(resolve), Arc::new(filter))?;
    let watched = confined.clone().with_watch(judge.watch().own_start());
    let script = format!("for ((i = 0; i < {PROGRAMS}; i++)); do /bin/true; done");
    let arguments = [OsString::from("-c"), script.into()];
    let run = |confined: &Confined| {
        let shell = OsString::from("/bin/bash");
        let sandboxed = confined.direct_command(&shell, &arguments, workspace, &[]);
        let mut command = Command::new(sandboxed.program);
        command.args(sandboxed.arguments).env_clear().envs(sandboxed.environment);
        let start = Instant::now();
        let status = command.current_dir(workspace).stdin(Stdio::null()).status()?;
        let took = start.elapsed();
        while wait(WaitOptions::empty()).is_ok() {}
        if status.success() { Ok(took) } else { Err(io::Error::other(status.to_string())) }
    };
    let (mut with, mut without) = (Duration::MAX, Duration::MAX);
    for _ in 0..if quick { 3 } else { 10 } {
        without = without.min(run(confined)?);
        with = with.min(run(&watched)?);
    }
    Ok((with.as_secs_f64() - without.as_secs_f64()) * 1e6 / f64::from(PROGRAMS))
}

/// Returns the microseconds of a decision about a program that starts.
fn exec_decision(rounds: u32) -> Option<f64> {
    let mut policy = Policy::new(Defaults::unattended());
    policy.add(RuleFile::parse("bench", RULES, Layer::User).ok()?);
    let cwd = || PathBuf::from("/work");
    let calls: Vec<Exec<'_>> =
        ["git status --short", "cc -O2 -c src/main.c -o main.o", "ls -l src"]
            .iter()
            .map(|line| {
                let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                let program = Path::new("/usr/bin").join(&words[0]);
                Exec::new(program, words, &cwd)
            })
            .collect();
    let context = PolicyContext::new(Path::new("/"));
    let took = cpu_of(rounds, Whose::Own, || {
        for _ in 0..100 {
            for call in &calls {
                std::hint::black_box(policy.check_exec(call, &context));
            }
        }
        Ok::<_, ()>(())
    });
    Some(took.ok()??.as_secs_f64() * 1e6 / (100 * calls.len()) as f64)
}

/// Returns the milliseconds of a command with all processes that it starts.
fn cpu(runs: u32, make: impl Fn() -> Command) -> io::Result<f64> {
    let took = cpu_of(runs, Whose::Children, || {
        let status = make().stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        // Processes that it left behind are now children of this one.
        while wait(WaitOptions::empty()).is_ok() {}
        if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
    })?;
    took.map(|took| took.as_secs_f64() * 1e3).ok_or_else(|| io::Error::other("no times"))
}
