//! Destruction that the profile refuses is refused when a program starts, too, unless a checkpoint
//! covers it: real processes on every level of confinement and without one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use pi_guard::confine::ExecWatch;
use pi_guard::policy::{Defaults, Exec, Layer, Policy, PolicyContext, RuleFile};

use crate::env::TestEnv;
use crate::watch::{Watched, files};

/// The fate of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Runs,
    /// Nothing is destroyed, and the destruction is reported.
    Refused,
}

use Fate::{Refused, Runs};

/// Scripts, what must not have run, and their fate without and with a checkpoint.
const SCRIPTS: &[(&str, &str, Fate, Fate)] = &[
    (
        "python3 -c 'import subprocess; subprocess.run([\"git\", \"filter-branch\", \"x\"])'",
        "filter-branch",
        Refused,
        Refused,
    ),
    (
        "printf 'all:\\n\\t@git filter-branch x\\n' > src/m; make -s -f src/m",
        "filter-branch",
        Refused,
        Refused,
    ),
    ("git -C . -c a.b=c --no-pager filter-branch x", "filter-branch", Refused, Refused),
    ("ln -sfn $BASE/bin/git src/x; src/x filter-branch x", "filter-branch", Refused, Refused),
    ("cp $BASE/bin/git src/x; src/x filter-branch x", "filter-branch", Refused, Refused),
    ("git push --force origin main", "push", Refused, Refused),
    ("git push origin main", "push", Runs, Runs),
    // A part of the work of a program that runs.
    ("git stash push", "reset", Runs, Runs),
    // An alias is not a part of it.
    ("git alias filter-branch x", "filter-branch", Refused, Refused),
    // Files of the workspace
    ("(exec rm -rf src/sub) && echo gone >> $RAN", "gone", Refused, Runs),
    ("(exec rm -f src/mine) && echo gone >> $RAN", "gone", Refused, Runs),
    // What a build made itself
    ("echo > src/new; (exec rm -f src/new src/none) && echo gone >> $RAN", "gone", Runs, Runs),
    ("mkdir src/made; (exec rm -rf src/made) && echo gone >> $RAN", "gone", Runs, Runs),
    ("d=$(mktemp -d); (exec rm -rf $d) && echo gone >> $RAN", "gone", Runs, Runs),
    // A repository that commands made, and one that only looks so
    (
        "mkdir -p src/r/.git; echo x > src/r/.git/HEAD; cd src/r; git filter-branch x",
        "filter-branch",
        Runs,
        Runs,
    ),
    (
        "mkdir -p src/r/.git; echo x > src/r/.git/HEAD; git -C src/r filter-branch x",
        "filter-branch",
        Runs,
        Runs,
    ),
    (
        "mkdir -p src/r/.git; echo x > src/r/.git/HEAD; cd src/r; git -C ../.. filter-branch x",
        "filter-branch",
        Refused,
        Refused,
    ),
    (
        "mkdir -p src/r/.git; echo x > src/r/.git/HEAD; cd src/r; git --git-dir=../../.git filter-branch x",
        "filter-branch",
        Refused,
        Refused,
    ),
    (
        "mkdir -p src/r/.git; echo x > src/r/.git/HEAD; cd src/r; GIT_DIR=$WS/.git git filter-branch x",
        "filter-branch",
        Refused,
        Refused,
    ),
    (
        "mkdir -p src/r/.git; echo x > src/r/.git/HEAD; echo $WS/.git > src/r/.git/commondir; \
         cd src/r; git filter-branch x",
        "filter-branch",
        Refused,
        Refused,
    ),
    (
        "mkdir -p src/r; echo gitdir: $WS/.git > src/r/.git; cd src/r; git filter-branch x",
        "filter-branch",
        Refused,
        Refused,
    ),
];

fn watched(policy: &Policy) -> Watched {
    let prepare = |env: &TestEnv| fs::create_dir_all(env.path("ws/src/sub")).unwrap();
    Watched::with_policy(policy.clone(), prepare, |directory, filter| {
        let files = files(directory.parent().unwrap());
        let programs = policy.restricted_programs(&|name| files.named(name));
        ExecWatch::start(directory, programs, files, filter, None).unwrap()
    })
}

/// A further judge of commands in an environment.
fn judge(env: &TestEnv, policy: &Policy, number: usize) -> ExecWatch {
    let directory = env.path(&format!("judge{number}"));
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    let files = files(&env.base);
    let programs = policy.restricted_programs(&|name| files.named(name));
    let (policy, workspace) = (policy.clone(), env.path("ws"));
    let filter = Arc::new(move |exec: &Exec<'_>, _: bool| {
        policy.check_exec(exec, &PolicyContext::new(&workspace))
    });
    ExecWatch::start(&directory, programs, files, filter, None).unwrap()
}

#[test]
fn refused_destruction_does_not_start() {
    let unattended = Policy::new(Defaults::unattended());
    let covered = Policy::new(Defaults::unattended().with_checkpoint(true));
    for (policy, has_checkpoint) in [(unattended, false), (covered, true)] {
        let watched = watched(&policy);
        let mut judges = 0;
        for (script, trace, without, with) in SCRIPTS {
            let fate = if has_checkpoint { with } else { without };
            let restore = "mkdir -p src/sub; [ -e src/mine ] || echo > src/mine; \
                rm -r src/r src/x src/made 2>/dev/null; ";
            let (output, ran) = watched.run(None, &format!("{restore}{script}"));
            assert!(ran.contains(trace), "{script}: {output}");
            for confined in watched.confinements() {
                let prepared = watched.run(None, restore);
                assert_eq!(prepared.1, "", "{}", prepared.0);
                // What is there before a judge starts was not made by a command.
                judges += 1;
                let judge = judge(&watched.env, &policy, judges);
                let confined = confined.with_watch(judge.watch().own_start());
                let (output, ran) = watched.run(Some(&confined), script);
                let level = confined.level();
                let refused = judge.take_refused();
                let found = if ran.contains(trace) { Runs } else { Refused };
                assert_eq!(found, *fate, "{script}, {level}, {has_checkpoint}: {output}");
                assert_eq!(refused.is_empty(), *fate == Runs, "{script}, {level}: {refused:?}");
            }
        }
    }
}

#[test]
fn a_rule_that_allows_destruction_holds() {
    let mut policy = Policy::new(Defaults::unattended());
    let rule = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"allow\"\n";
    policy.add(RuleFile::parse("rules.toml", rule, Layer::User).unwrap());
    let watched = watched(&policy);
    for confined in watched.confinements() {
        let (output, ran) = watched.run(Some(&confined), "git push --force; git filter-branch x");
        assert_eq!(ran, "push\n", "{output}");
        assert_eq!(watched.watch.take_refused().len(), 1);
    }
}

#[test]
fn other_profiles_refuse_nothing_here() {
    for defaults in [Defaults::explore(), Defaults::careful()] {
        let policy = Policy::new(defaults);
        assert!(!policy.restricts_programs());
        let watched = watched(&policy);
        for confined in watched.confinements() {
            let (output, ran) = watched.run(Some(&confined), "git filter-branch x");
            assert_eq!(ran, "filter-branch\n", "{output}");
        }
    }
}
