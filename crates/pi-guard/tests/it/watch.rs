//! Rules hold for every program that a command starts, however it starts it: real processes, on
//! every level of confinement and without one.
//!
//! Nothing here analyzes a script, so only the judge of programs is tested. Each script runs three
//! times: unwatched, where the forbidden program must run, since an attempt that cannot succeed
//! shows nothing; watched, where it must not; and watched with a permitted program, which must run.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use pi_guard::confine::{
    Confined, Confinement, ConfinementLevel, ExecFilter, ExecWatch, Machine, Mode, Network,
    ProgramFiles,
};
use pi_guard::policy::{Defaults, Layer, Policy, PolicyContext, RuleFile};

use crate::env::{TESTBED, TestEnv, build_directory, levels, not_tested, text};

const RULES: &str = r#"
[[command]]
prefix = ["git", "push"]
decision = "forbid"
justification = "Nothing leaves this machine."
[[command]]
prefix = ["git", "fetch"]
decision = "ask"
"#;

/// Scripts that run `git` with the subcommand `@@`.
const SCRIPTS: &[(&str, &str)] = &[
    ("plainly", "git @@"),
    ("by its path", "$(command -v git) @@ origin"),
    ("in arithmetic", "(( 'a[0+$(git @@)]' )); true"),
    ("in a comparison", "[[ 'a[0+$(git @@)]' -eq 0 ]]; true"),
    ("in an integer variable", "RANDOM='a[0+$(git @@)]'"),
    ("in text that was read", "read <<< 'a[0+$(git @@)]'; echo $((REPLY))"),
    ("in a prompt", "x='$(git @@)'; echo \"${x@P}\""),
    ("by eval", "eval \"$(echo tig | rev) @@\"; true"),
    ("by a computed name", "$(echo Z2l0Cg== | base64 -d) @@"),
    ("by a computed script", "sh -c \"$(echo tig | rev) @@\""),
    ("under another name", "(exec -a x git @@)"),
    ("with the subcommand in the name", "(exec -a git-@@ git)"),
    ("through a link", "ln -sfn $(command -v git) src/x && src/x @@"),
    ("through a link to a link", "ln -sfn $(command -v git) src/x && ln -sfn x src/y && src/y @@"),
    ("by perl", "perl -e 'system(\"git\", \"@@\")'"),
    ("by perl that becomes it", "perl -e 'exec(\"git\", \"@@\")'"),
    ("by python", "python3 -c 'import subprocess; subprocess.run([\"git\", \"@@\"])'"),
    ("by python that becomes it", "python3 -c 'import os; os.execvp(\"git\", [\"x\", \"@@\"])'"),
    ("by awk", "awk 'BEGIN { system(\"git @@\") }'"),
    ("by env", "env -S 'git @@'"),
    ("by xargs", "echo @@ | xargs git"),
    ("by find", "find . -maxdepth 0 -exec git @@ ';'"),
    ("by make", "printf 'all:\\n\\t@git @@\\n' > src/Makefile; make -s -f src/Makefile"),
    ("by a descriptor", "$START execveat git @@"),
    ("by vfork", "$START vfork git @@"),
    ("by posix_spawn", "$START spawn git @@"),
    ("by a private process", "$START private git @@"),
    (
        "by the first line of a script",
        "printf '#!%s @@\\n' $(command -v git) > src/s; chmod +x src/s; src/s",
    ),
    ("by a script of the same name", "mkdir -p src/b; cp $SCRIPT src/b/git; src/b/git @@"),
    ("by the shell of such a script", "mkdir -p src/b; cp $SCRIPT src/b/git; sh src/b/git @@"),
    ("by the loader", "$LOADER $(command -v git) @@"),
    ("by the loader with options", "$LOADER --argv0 x $(command -v git) @@"),
    ("with many arguments", "git @@ $(seq 3000)"),
    ("with a long argument", "git @@ $(head -c 100000 /dev/zero | tr '\\0' x)"),
    ("in the background", "git @@ & wait"),
    ("in a session of its own", "setsid -w git @@"),
    (
        "by a daemon",
        "rm -f src/done; (setsid bash -c 'git @@; : > src/done' &); until test -e src/done; do sleep 0.01; done",
    ),
    ("after a change of the environment", "env -i RAN=$RAN PATH=$PATH git @@"),
];

/// The program that plays the restricted ones.
pub(crate) const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/start.c");

/// The compiled `start.c`.
fn start_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = build_directory().join(crate::env::own_name("start"));
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-w", "-pthread", "-o"]).arg(&program).arg(SOURCE);
        assert!(compiler.status().expect("a C compiler, which Rust needs anyway").success());
        program
    })
}

/// An environment with the program `git`, and a judge.
pub(crate) struct Watched {
    pub(crate) env: TestEnv,
    pub(crate) watch: ExecWatch,
}

impl Watched {
    fn new() -> Self {
        Self::with(|directory, filter| {
            let policy = policy();
            let files = files(directory.parent().unwrap());
            let programs = policy.restricted_programs(&|name| files.named(name));
            ExecWatch::start(directory, programs, files, filter, None).unwrap()
        })
    }

    fn with(start: impl FnOnce(&Path, ExecFilter) -> ExecWatch) -> Self {
        Self::with_policy(policy(), |_| {}, start)
    }

    /// An environment with this policy, which `prepare` changes before the judge starts.
    pub(crate) fn with_policy(
        policy: Policy,
        prepare: impl FnOnce(&TestEnv),
        start: impl FnOnce(&Path, ExecFilter) -> ExecWatch,
    ) -> Self {
        let env = TestEnv::new();
        for directory in ["bin", "own"] {
            fs::create_dir(env.path(directory)).unwrap();
        }
        fs::set_permissions(env.path("own"), fs::Permissions::from_mode(0o700)).unwrap();
        for name in ["bin/git", "start"] {
            let copied = Command::new("cp").arg(start_program()).arg(env.path(name)).status();
            assert!(copied.unwrap().success());
        }
        fs::write(env.path("script"), "#!/bin/sh\necho \"$1\" >> $RAN\n").unwrap();
        fs::set_permissions(env.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
        prepare(&env);
        let workspace = env.path("ws");
        let filter: ExecFilter = Arc::new(move |exec, approved| {
            let part = policy.check_exec(exec, &PolicyContext::new(&workspace))?;
            (part.decision == pi_guard::Decision::Forbid || !approved).then_some(part)
        });
        let watch = start(&env.path("own"), filter);
        Self { env, watch }
    }

    /// This machine's confinements with the judge, and none with it.
    pub(crate) fn confinements(&self) -> Vec<Confined> {
        let mut wanted: Vec<(Confinement, Machine)> =
            levels().into_iter().map(|(_, machine)| (self.env.confinement(), machine)).collect();
        wanted.push((Confinement::new(Mode::Off, Network::On), Machine::default()));
        let prepare = |(confinement, machine): (Confinement, Machine)| {
            confinement.prepare(&machine, ConfinementLevel::None, TESTBED).unwrap()
        };
        let watch = self.watch.watch().own_start();
        wanted.into_iter().map(|each| prepare(each).with_watch(watch.clone())).collect()
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let path = std::env::var_os("PATH").unwrap();
        let own = self.env.path("bin").display().to_string();
        let writable = self.env.path("ws/venv/bin").display().to_string();
        let path = format!("{own}:{writable}:{}", path.display());
        let place = |name: &str| self.env.path(name).display().to_string();
        vec![
            ("PATH", path),
            ("RAN", place("ws/src/ran")),
            ("START", place("start")),
            ("SCRIPT", place("script")),
            ("LOADER", loader().to_owned()),
            ("BASE", self.env.base.display().to_string()),
        ]
    }

    /// Runs a script, and returns its output and the subcommands that ran.
    pub(crate) fn run(&self, confined: Option<&Confined>, script: &str) -> (String, String) {
        let ran = self.env.path("ws/src/ran");
        fs::write(&ran, "").unwrap();
        let output = self.env.run_with(confined, "ws", script, &self.variables());
        (text(&output), fs::read_to_string(&ran).unwrap())
    }
}

fn policy() -> Policy {
    let mut policy = Policy::new(Defaults::unattended());
    policy.add(RuleFile::parse("rules.toml", RULES, Layer::User).unwrap());
    policy
}

/// Finds programs like the shell of a test.
pub(crate) fn files(base: &Path) -> ProgramFiles {
    let path = std::env::var_os("PATH").unwrap();
    let own = [base.join("bin"), base.join("usr/bin"), base.join("ws/venv/bin")];
    let places = own.into_iter().chain(std::env::split_paths(&path));
    ProgramFiles::new(places.collect()).with_writable(vec![base.join("ws")])
}

pub(crate) fn loader() -> &'static str {
    let known = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    known.into_iter().find(|path| Path::new(path).exists()).unwrap_or("no-loader")
}

#[test]
fn a_forbidden_program_does_not_start_however_it_is_started() {
    let watched = Watched::new();
    let confinements = watched.confinements();
    for (name, script) in SCRIPTS {
        let forbidden = script.replace("@@", "push");
        let (output, ran) = watched.run(None, &forbidden);
        if !ran.contains("push") {
            not_tested(&format!("git {name}: {output}"));
            continue;
        }
        for confined in &confinements {
            let level = confined.level();
            let (output, ran) = watched.run(Some(confined), &forbidden);
            assert!(!ran.contains("push"), "{name}, {level}: {output}");
            let refused = watched.watch.take_refused();
            assert!(!refused.is_empty(), "{name}, {level}: {output}");
            for refused in refused {
                assert_eq!(refused.reason, "Nothing leaves this machine.", "{name}, {level}");
                assert!(refused.what.contains("push"), "{name}, {level}: {refused:?}");
                assert_eq!(refused.rule.as_deref(), Some("rules.toml:2"));
            }
            let (output, ran) = watched.run(Some(confined), &script.replace("@@", "status"));
            assert!(ran.contains("status"), "{name}, {level}: {output}");
            assert_eq!(watched.watch.take_refused(), [], "{name}, {level}");
        }
    }
}

#[test]
fn arguments_that_change_in_between_gain_nothing() {
    let watched = Watched::new();
    // A word that was copied while it changed is another.
    let has = |ran: &str, word: &str| ran.lines().any(|line| line == word);
    let (_, ran) = watched.run(None, "$START race git push");
    assert!(has(&ran, "push") && has(&ran, "status"), "no race: {ran}");
    for confined in watched.confinements() {
        let (output, ran) = watched.run(Some(&confined), "$START race git push");
        assert!(!has(&ran, "push"), "{}: {output}", confined.level());
        assert!(has(&ran, "status"), "{}: {output}", confined.level());
        assert!(!watched.watch.take_refused().is_empty());
    }
}

#[test]
fn a_refused_program_is_an_ordinary_error() {
    let watched = Watched::new();
    for confined in watched.confinements() {
        let (output, _) =
            watched.run(Some(&confined), "git push; echo code $?; git status; echo on");
        assert!(output.contains("Operation not permitted"), "{output}");
        assert!(output.contains("code 126") && output.contains("on\n"), "{output}");
    }
}

#[test]
fn rules_that_ask_hold_unless_the_command_was_approved() {
    let watched = Watched::new();
    for confined in watched.confinements() {
        let (output, ran) = watched.run(Some(&confined), "git fetch");
        assert_eq!(ran, "", "{output}");
        assert_eq!(watched.watch.take_refused()[0].what, "git fetch");
        let approved = watched.watch.watch().own_start().approved(true);
        let confined = confined.with_watch(approved);
        let (output, ran) = watched.run(Some(&confined), "git fetch; git push");
        assert_eq!(ran, "fetch\n", "{output}");
        assert_eq!(watched.watch.take_refused()[0].what, "git push");
    }
}

#[test]
fn the_first_program_is_judged_unless_the_caller_chose_it() {
    let watched = Watched::new();
    for confined in watched.confinements() {
        let confined = confined.with_watch(watched.watch.watch());
        let git = watched.env.path("bin/git").into_os_string();
        for (subcommand, code) in [("push", 126), ("status", 0)] {
            let cwd = watched.env.path("ws");
            let environment = watched.env.environment(&watched.variables());
            let command = confined.command(&git, &[subcommand.into()], &cwd, &environment);
            let output = Command::new(command.program)
                .args(command.arguments)
                .env_clear()
                .envs(command.environment)
                .current_dir(&cwd)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        }
        let refused = watched.watch.take_refused();
        assert_eq!(refused.len(), 1, "{refused:?}");
    }
}

#[test]
fn one_file_with_several_names_is_judged_by_the_name() {
    let watched = Watched::new();
    // Another name of the same file is the same program, unless the file is one of those that are
    // many: as `rustup` is `cargo` and `rustc`.
    fs::hard_link(watched.env.path("bin/git"), watched.env.path("bin/hub")).unwrap();
    let many = Watched::with_policy(
        policy(),
        |env| fs::hard_link(env.path("bin/git"), env.path("bin/busybox")).unwrap(),
        |directory, filter| {
            let files = files(directory.parent().unwrap());
            let programs = policy().restricted_programs(&|name| files.named(name));
            ExecWatch::start(directory, programs, files, filter, None).unwrap()
        },
    );
    fs::hard_link(many.env.path("bin/git"), many.env.path("bin/hub")).unwrap();
    let script = "hub push; (exec -a ls git push)";
    for (watched, expected, refused) in [(&watched, "", 2), (&many, "push\n", 1)] {
        for confined in watched.confinements() {
            let (output, ran) = watched.run(Some(&confined), script);
            assert_eq!(ran, expected, "{output}");
            assert_eq!(watched.watch.take_refused().len(), refused);
        }
    }
}

#[test]
fn nothing_starts_without_the_judge() {
    let watched = Watched::new();
    for confined in watched.confinements() {
        // The socket of a judge that has ended.
        let gone = TestEnv::new();
        let stale =
            ExecWatch::start(&gone.base, vec![], files(&gone.base), Arc::new(|_, _| None), None);
        let stale = stale.unwrap().watch().own_start();
        let (output, ran) = watched.run(Some(&confined.clone().with_watch(stale)), "git status");
        assert_eq!(ran, "", "{output}");
    }
}

#[test]
fn nothing_starts_after_the_end_of_the_judge() {
    // A filter that ends its thread is as good as a process that ends: the listener is closed.
    let ended = Arc::new(Mutex::new(false));
    let flag = Arc::clone(&ended);
    let watched = Watched::with(move |directory, _| {
        let filter: ExecFilter = Arc::new(move |exec, _| {
            if exec.arguments.iter().any(|argument| argument == "end") {
                *flag.lock().unwrap() = true;
                // Not a panic, whose message would be printed.
                std::panic::resume_unwind(Box::new(()));
            }
            None
        });
        ExecWatch::start(directory, vec![], files(directory), filter, None).unwrap()
    });
    for confined in watched.confinements() {
        let script = "git status; git end; echo code $?; git push; echo code $?";
        let (output, ran) = watched.run(Some(&confined), script);
        assert_eq!(ran, "status\n", "{output}");
        assert!(output.contains("Function not implemented"), "{output}");
        assert_eq!(output.matches("code 126").count(), 2, "{output}");
        assert!(std::mem::take(&mut *ended.lock().unwrap()));
    }
}

#[test]
fn a_killed_command_leaves_nothing_waiting() {
    let watched = Watched::new();
    for confined in watched.confinements() {
        let variables = watched.variables();
        let script = "git status; echo ready; exec sleep 600";
        let mut child = watched.env.spawn(&confined, script, &variables);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child.kill().unwrap();
        child.wait().unwrap();
        // The judge still works for others.
        let (output, ran) = watched.run(Some(&confined), "git status");
        assert_eq!(ran, "status\n", "{output}");
    }
}

#[test]
fn standard_streams_and_descriptors_are_those_of_the_command() {
    let watched = Watched::new();
    for confined in watched.confinements() {
        let variables = watched.variables();
        let script = "cat; ls -l /proc/self/fd | grep -c -e socket -e anon_inode; true";
        let mut command =
            watched.env.start(Some(&confined), "ws", script, &variables, Command::new);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"in\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "in\n0\n", "{}", confined.level());
    }
}
