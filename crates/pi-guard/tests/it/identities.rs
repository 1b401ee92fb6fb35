//! Programs are recognized by their files, under any name, link or copy, behind loaders and
//! interpreters: real processes on every level of confinement and without one, as root and as an
//! ordinary user.
//!
//! Each script runs unwatched first, where the forbidden program must run: an attempt that cannot
//! succeed shows nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use pi_guard::confine::ExecWatch;
use pi_guard::policy::{Defaults, Layer, Policy, RuleFile};

use crate::env::{TestEnv, again_as_user, measured, not_tested};
use crate::watch::{SOURCE, Watched, files};

const RULES: &str = r#"
[[command]]
prefix = [["git", "tool", "shown"], "push"]
decision = "forbid"
justification = "Nothing leaves this machine."
[[command]]
prefix = ["whole"]
decision = "forbid"
justification = "Nothing leaves this machine."
"#;

fn policy() -> Policy {
    let mut policy = Policy::new(Defaults::explore());
    policy.add(RuleFile::parse("rules.toml", RULES, Layer::User).unwrap());
    policy
}

/// A machine with several files of `git`, and with `tool`, a link to a script.
fn watched() -> Watched {
    Watched::with_policy(policy(), prepare, |directory, filter| {
        let files = files(directory.parent().unwrap());
        let programs = policy().restricted_programs(&|name| files.named(name));
        ExecWatch::start(directory, programs, files, filter, None).unwrap()
    })
}

fn prepare(env: &TestEnv) {
    for directory in ["usr/bin", "usr/lib/git-core", "lib/tool/bin", "ws/venv/bin"] {
        fs::create_dir_all(env.path(directory)).unwrap();
    }
    let copy = |to: &str| {
        let copied = Command::new("cp").arg(env.path("bin/git")).arg(env.path(to)).status();
        assert!(copied.unwrap().success());
    };
    for place in ["usr/bin/git", "usr/lib/git-core/git"] {
        copy(place);
    }
    // Another program, not a copy.
    let mut compiler = Command::new("cc");
    compiler.args(["-O0", "-w", "-pthread", "-o"]).arg(env.path("usr/bin/whole")).arg(SOURCE);
    assert!(compiler.status().unwrap().success());
    fs::hard_link(env.path("usr/lib/git-core/git"), env.path("usr/lib/git-core/git-part")).unwrap();
    fs::hard_link(env.path("usr/bin/whole"), env.path("usr/bin/whole5.36")).unwrap();
    let script = |name: &str, text: &str| {
        fs::write(env.path(name), text).unwrap();
        fs::set_permissions(env.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    script(
        "lib/tool/bin/tool-cli.sh",
        "#!/bin/sh\n# The script of a package.\necho \"$1\" >> $RAN\n",
    );
    script(
        "lib/tool/bin/tool-cli.js",
        "require('fs').appendFileSync(process.env.RAN, process.argv[2] + '\\n')\n",
    );
    symlink(env.path("lib/tool/bin/tool-cli.sh"), env.path("bin/tool")).unwrap();
    symlink(env.path("lib/tool/bin/tool-cli.js"), env.path("usr/bin/tool")).unwrap();
    // A program that has another name in its own directory, as shims of version managers have.
    script("lib/shim", "#!/bin/sh\necho \"$1\" >> $RAN\n");
    symlink(env.path("lib/shim"), env.path("bin/shown")).unwrap();
    symlink(env.path("lib/shim"), env.path("bin/other")).unwrap();
}

/// Attacks by name, with the subcommand `@@`.
const ATTACKS: &[(&str, &str)] = &[
    ("another file of the package", "ln -s $BASE/usr/lib/git-core/git src/x; src/x @@"),
    ("a hard link of that file", "ln -s $BASE/usr/lib/git-core/git-part src/x; src/x @@"),
    ("another file of the path", "ln -s $BASE/usr/bin/git src/x; src/x @@"),
    ("a copy", "cp $BASE/bin/git src/x; src/x @@"),
    ("a copy of another file", "cp $BASE/usr/lib/git-core/git src/x; src/x @@"),
    ("a longer copy", "cp $BASE/bin/git src/x; printf x >> src/x; src/x @@"),
    ("a copy in memory", "$A execute-memory $BASE/bin/git @@"),
    ("a link to the loader", "ln -s $LOADER src/q; src/q $BASE/usr/bin/git @@"),
    ("a copy of the loader", "cp $LOADER src/q; src/q $BASE/usr/bin/git @@"),
    (
        "many options of the loader",
        "$LOADER $(for i in 1 2 3 4 5 6 7 8 9 10; do echo --inhibit-cache --inhibit-cache; done) \
         $BASE/bin/git @@",
    ),
    ("a link behind the loader", "ln -s $BASE/bin/git src/x; $LOADER src/x @@"),
    ("a copy behind the loader", "cp $BASE/bin/git src/x; $LOADER ./src/x @@"),
    ("a descriptor behind the loader", "exec 9<$BASE/bin/git; $LOADER /proc/self/fd/9 @@"),
    (
        "a link to a descriptor behind the loader",
        "exec 9<$BASE/bin/git; ln -s /proc/self/fd/9 src/x; $LOADER src/x @@",
    ),
    (
        "a link through a private directory behind the loader",
        "d=$(mktemp -d); ln -s $BASE/bin/git $d/x; ln -s $d/x src/x; $LOADER src/x @@",
    ),
    ("a link on the path", "ln -s $BASE/usr/bin/git venv/bin/gx; gx @@"),
    (
        "the name of a link on the path",
        "ln -s $BASE/usr/bin/git venv/bin/gx; ln -s $BASE/usr/bin/git src/any; (exec -a gx src/any @@)",
    ),
    ("a script behind its interpreter", "ln -s $BASE/lib/tool/bin/tool-cli.sh src/w; sh src/w @@"),
    (
        "a script behind options",
        "ln -s $BASE/lib/tool/bin/tool-cli.sh src/w; bash --norc -o posix -e src/w @@",
    ),
    ("a link to a script", "ln -s $BASE/lib/tool/bin/tool-cli.sh src/w; src/w @@"),
    ("a copy of a script", "cp $BASE/lib/tool/bin/tool-cli.sh src/w; sh src/w @@"),
    (
        "a script through a private directory",
        "d=$(mktemp -d); ln -s $BASE/lib/tool/bin/tool-cli.sh $d/w; ln -s $d/w src/w; sh src/w @@",
    ),
    ("a script of node", "ln -s $BASE/lib/tool/bin/tool-cli.js src/w.js; node src/w.js @@"),
    (
        "a script that only its name tells apart",
        "ln -s $BASE/lib/shim src/w; (exec -a shown src/w @@)",
    ),
    ("an interpreter behind the loader", "$LOADER $(readlink -f /bin/sh) $BASE/bin/tool @@"),
    ("itself", "cp $BASE/start src/s; ln -s $BASE/bin/git src/x; cd src; ../src/./x @@"),
];

#[test]
fn known_attacks_have_no_effect() {
    let watched = watched();
    for (name, script) in ATTACKS {
        let clean = "rm -rf src/x src/q src/w src/w.js src/s src/any venv/bin/*; ";
        let forbidden = format!("{clean}{}", script.replace("@@", "push"));
        let permitted = format!("{clean}{}", script.replace("@@", "status"));
        let (output, ran) = watched.run(None, &forbidden);
        if !ran.contains("push") {
            not_tested(&format!("{name}: {output}"));
            continue;
        }
        for confined in watched.confinements() {
            let level = confined.level();
            let (output, ran) = watched.run(Some(&confined), &forbidden);
            assert!(!ran.contains("push"), "{name}, {level}: {output}");
            // Where the attack itself is impossible, nothing is refused.
            let _ = watched.watch.take_refused();
            let (output, _) = watched.run(Some(&confined), &permitted);
            assert_eq!(watched.watch.take_refused(), [], "{name}, {level}: {output}");
        }
    }
    again_as_user("identities::known_attacks_have_no_effect");
}

#[test]
fn programs_that_are_not_restricted_run() {
    let watched = watched();
    for (name, script) in [
        ("another subcommand", "git status"),
        // The same file under a name that is a program of its own, as a shim of a version manager.
        ("another name of a dispatched file", "other push"),
        ("arguments that name the program", "ls -l $BASE/usr/bin/whole && echo push >> $RAN"),
        ("a script whose argument is the program", "sh $SCRIPT push $BASE/usr/bin/whole"),
        (
            "a copy of another program",
            "cp $(command -v ls) src/l && src/l src && echo push >> $RAN",
        ),
    ] {
        for confined in watched.confinements() {
            let (output, ran) = watched.run(Some(&confined), script);
            assert!(!ran.is_empty(), "{name}, {}: {output}", confined.level());
            assert_eq!(watched.watch.take_refused(), [], "{name}, {}", confined.level());
        }
    }
}

#[test]
fn a_program_that_is_forbidden_with_any_arguments_runs_under_no_name() {
    let watched = watched();
    for script in [
        "whole push",
        "whole",
        "whole5.36 push",
        "ln -sfn $BASE/usr/bin/whole5.36 src/x; src/x push",
        "(exec -a unrelated $BASE/usr/bin/whole push)",
        "$LOADER $BASE/usr/bin/whole5.36 push",
        "timeout 5 env nice $BASE/usr/bin/whole5.36 push",
    ] {
        let (output, ran) = watched.run(None, &format!("PATH=$PATH:$BASE/usr/bin; {script}"));
        assert!(!ran.is_empty(), "{script}: {output}");
        for confined in watched.confinements() {
            let script = format!("PATH=$PATH:$BASE/usr/bin; {script}");
            let (output, ran) = watched.run(Some(&confined), &script);
            assert_eq!(ran, "", "{script}, {}: {output}", confined.level());
        }
    }
}

/// Random numbers that are the same in each run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[usize::try_from(self.next() % all.len() as u64).unwrap()]
    }
}

/// Files of forbidden programs.
const PROGRAMS: &[&str] = &[
    "$BASE/bin/git",
    "$BASE/usr/bin/git",
    "$BASE/usr/lib/git-core/git",
    "$BASE/usr/lib/git-core/git-part",
];
const SCRIPTS: &[&str] = &["$BASE/bin/tool", "$BASE/lib/tool/bin/tool-cli.sh"];

/// Steps that give the file `$p` another path; `$n` is a new name.
const STEPS: &[&str] = &[
    "ln -s $p $n; p=$PWD/$n",
    "ln -s $p $n; ln -s $n $n.l; p=$PWD/$n.l",
    "ln $p $n 2>/dev/null || cp $p $n; p=$PWD/$n",
    "cp $p $n; p=$PWD/$n",
    "cp $p $n; chmod 711 $n; p=$PWD/$n",
    "mkdir $n; ln -s $p $n/y; mv $n $n.d; p=$PWD/$n.d/y",
    "mkdir $n; cp $p $n/git-status; mv $n $n.d; ln -s $n.d $n; p=$PWD/$n/git-status",
    "mkdir $n; ln -s $p $n/y; p=$PWD/$n/../$n/./y",
    "p=/proc/self/root$p",
    "p=/proc/$$/root$p",
    "p=/proc/self/cwd/$(realpath --relative-to=. -s $p 2>/dev/null || echo ../../../..$p)",
    "d=$(mktemp -d); ln -s $p $d/y; ln -s $d/y $n; p=$PWD/$n",
    "d=$(mktemp -d); cp $p $d/y; p=$d/y",
    "ln -sfn $p $WS/venv/bin/$n; p=$(command -v $n)",
];

/// Ways to start the file `$p` with the argument `@@`.
const STARTS: &[&str] = &[
    "$p @@",
    "(exec -a ls $p @@)",
    "(exec -a $n $p @@)",
    "(exec -a unrelated $p @@)",
    "env -- $p @@",
    "timeout 5 nice $p @@",
    "echo @@ | xargs $p",
    "sh -c \"$p @@\"",
    "find . -maxdepth 0 -exec $p @@ ';'",
    "perl -e 'exec {$ARGV[0]} \"x\", \"@@\"' $p",
    "python3 -c 'import os, sys; os.execv(sys.argv[1], [\"x\", \"@@\"])' $p",
    "$START execveat $p @@",
    "$START vfork $p @@",
    "exec 9<$p; /proc/self/fd/9 @@",
    "(PATH=${p%/*}:$PATH; ${p##*/} @@)",
];

/// Further ways for programs.
const LOADED: &[&str] = &[
    "$LOADER $p @@",
    "$LOADER --inhibit-cache --argv0 x $p @@",
    "ln -s $LOADER $n.q; ./$n.q $p @@",
    "cp $LOADER $n.q; ./$n.q $p @@",
    "$LOADER $(for i in $(seq 30); do echo --inhibit-cache; done) $p @@",
    "exec 9<$p; $LOADER /proc/self/fd/9 @@",
    "exec 9<$p; ln -s /proc/self/fd/9 $n.f; $LOADER ./$n.f @@",
    "$LOADER $LOADER $p @@",
    "printf '#!%s @@\\n' $p > $n.s; chmod +x $n.s; ./$n.s",
];

/// Further ways for scripts.
const INTERPRETED: &[&str] = &[
    "sh $p @@",
    "bash --norc -e $p @@",
    "env sh -e -- $p @@",
    "$LOADER $(readlink -f /bin/sh) $p @@",
    "cp $(readlink -f /bin/sh) $n.i; ./$n.i $p @@",
    "cp $(readlink -f /bin/sh) $n.i; (exec -a x ./$n.i $p @@)",
];

/// Seeds of one run; each is one program, reached in one random way.
const SEEDS: u64 = 60;

#[test]
fn random_ways_to_a_forbidden_program_have_no_effect() {
    let watched = watched();
    let confinements = watched.confinements();
    let mut shown = 0;
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let (file, starts) = match random.next() % 3 {
            0 => (random.pick(SCRIPTS), [STARTS, INTERPRETED]),
            _ => (random.pick(PROGRAMS), [STARTS, LOADED]),
        };
        let mut script = format!("p={file}; ");
        for step in 0..=random.next() % 3 {
            script.push_str(&format!("n=n{step}; {}; ", random.pick(STEPS)));
        }
        let kind = usize::try_from(random.next() % 2).unwrap();
        let start = random.pick(starts[kind]);
        script.push_str(&format!("n=last; {start}"));
        let whole = |subcommand: &str| {
            let script = script.replace("@@", subcommand);
            format!("rm -rf src/c venv/bin/*; mkdir src/c; cd src/c; {script}")
        };
        let (_, ran) = watched.run(None, &whole("push"));
        if !ran.contains("push") {
            continue;
        }
        shown += 1;
        for confined in &confinements {
            let level = confined.level();
            let (output, ran) = watched.run(Some(confined), &whole("push"));
            assert!(!ran.contains("push"), "seed {seed}, {level}: {script}\n{output}");
            let _ = watched.watch.take_refused();
            let (output, _) = watched.run(Some(confined), &whole("status"));
            let refused = watched.watch.take_refused();
            assert_eq!(refused, [], "seed {seed}, {level}: {script}\n{output}");
        }
    }
    measured(&format!("{shown} of {SEEDS} ways lead to a forbidden program without the judge"));
    assert!(shown * 2 > SEEDS, "only {shown} ways show anything");
    again_as_user("identities::random_ways_to_a_forbidden_program_have_no_effect");
}
