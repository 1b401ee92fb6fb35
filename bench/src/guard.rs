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
    Confined, Confinement, ConfinementLevel, ExecWatch, Machine, Mode, Network, ProgramFiles,
};
use pi_guard::policy::{Defaults, Exec, Layer, Policy, PolicyContext, RuleFile};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use crate::Outcome;
use crate::clock::{children, own, typical};
use crate::home::{binary, complete};
use crate::table::{Table, budget, micros, millis, time};

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

pub(crate) fn tables(quick: bool) -> Outcome {
    let mut table = Table::new("The guard", &["what", "CPU", "budget"]);
    let rounds = if quick { 20 } else { 200 };
    let mut row = |what: &str, took: Duration, limit: f64| {
        let limit = budget(micros(took) > limit, format!("{limit} µs"));
        table.row([what.to_owned(), time(took), limit]);
    };
    row("a decision", decision(rounds)?, 100.0);
    row("a decision about a program that starts", exec_decision(rounds)?, 10.0);
    if let Err(error) = confinement(quick, &mut table) {
        table.note(format!("confinement: not measured: {error}"));
    }
    Ok(vec![table])
}

fn rules() -> io::Result<RuleFile> {
    RuleFile::parse("bench", RULES, Layer::User).map_err(io::Error::other)
}

fn decision(rounds: usize) -> io::Result<Duration> {
    let mut policy = Policy::new(Defaults::careful());
    policy.add(rules()?);
    let resolve = |name: &str| Path::new("/usr/bin").join(name).canonicalize().ok();
    let real = |path: &Path| path.canonicalize().ok();
    let cwd = PathBuf::from("/");
    let context = PolicyContext::new(&cwd).with_program_resolver(&resolve).with_real_paths(&real);
    let took = typical(rounds, own, || {
        for script in SCRIPTS {
            std::hint::black_box(policy.check(script, &context));
        }
        Ok::<_, io::Error>(())
    })?;
    Ok(took.div_f64(SCRIPTS.len() as f64))
}

fn confinement(quick: bool, table: &mut Table) -> io::Result<()> {
    let helper = PathBuf::from(binary()?);
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
        let more = millis(took.saturating_sub(plain));
        let what = format!("a sandboxed `true`, {}", confined.level());
        table.row([what, format!("+{more:.1} ms"), budget(more > 5.0, "5 ms")]);
        let more = programs(&confined, workspace.path(), quick)?;
        let what = "a program that starts in it, judged (elapsed)".to_owned();
        table.row([what, format!("+{more:.0} µs"), budget(more > 60.0, "60 µs")]);
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
    policy.add(rules()?);
    let files = ProgramFiles::new(vec!["/usr/bin".into()]);
    let programs = policy.restricted_programs(&|name| files.named(name));
    let filter = move |exec: &Exec<'_>, _: bool| {
        policy.check_exec(exec, &PolicyContext::new(Path::new("/")))
    };
    let judge = ExecWatch::start(directory.path(), programs, files, Arc::new(filter), None)?;
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
fn exec_decision(rounds: usize) -> io::Result<Duration> {
    let mut policy = Policy::new(Defaults::unattended());
    policy.add(rules()?);
    let cwd = || PathBuf::from("/project");
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
    let took = typical(rounds, own, || {
        for _ in 0..100 {
            for call in &calls {
                std::hint::black_box(policy.check_exec(call, &context));
            }
        }
        Ok::<_, io::Error>(())
    })?;
    Ok(took.div_f64((100 * calls.len()) as f64))
}

/// Returns the time of a command with all processes that it starts.
fn cpu(runs: usize, make: impl Fn() -> Command) -> io::Result<Duration> {
    typical(runs, children, || {
        complete(make().stdin(Stdio::null()).stdout(Stdio::null()))?;
        // Processes that it left behind are now children of this one.
        while wait(WaitOptions::empty()).is_ok() {}
        Ok(())
    })
}
