//! Files that the settings and hooks of the user name, in a directory that commands can write: `git`
//! outside of the sandbox must not find others in their place, however links lead to them. Real git, on
//! every level, as root and as an ordinary user.
//!
//! Each attack runs without a sandbox first, where it must have an effect.

use std::fs;
use std::process::Command;

use crate::env::{TestEnv, again_as_user, confined, levels, text};

/// Functions of the scripts: files that show that they ran, and a harmless hook.
const SHELL: &str = r#"
evil() { rm -f "$1"; printf '#!/bin/sh\ntouch %s/ran\n' "$OUT" > "$1"; chmod +x "$1"; }
config() { printf '[core]\n\tfsmonitor = "touch %s/ran; false"\n' "$OUT" > "$1"; }
mine() { mkdir -p "${1%/*}"; printf '#!/bin/sh\nexit 0\n' > "$1"; chmod +x "$1"; }
include() { printf '[include]\n\tpath = %s\n' "$1" >> .git/config; }
global() { printf "$1" >> "$HOMEDIR/.gitconfig"; }
"#;

const HOOK: &str = "git checkout -q --detach; git checkout -q -B other";
const STATUS: &str = "git status";

/// What the user has, the scripts of the agent, one command each, and what the user does then.
const ATTACKS: &[(&str, &[&str], &str)] = &[
    // Hooks that are links to files of the project.
    ("mine real/h; ln -s ../../real/h .git/hooks/post-checkout", &["evil real/h"], HOOK),
    (
        "mine top/real/h; ln -s ../../top/real/h .git/hooks/post-checkout",
        &["mv top t; mkdir -p top/real; evil top/real/h"],
        HOOK,
    ),
    (
        "mine real/h; ln -s real way; ln -s ../../way/h .git/hooks/post-checkout",
        &["mkdir e; evil e/h; ln -sfn e way"],
        HOOK,
    ),
    ("ln -s ../../real/h .git/hooks/post-checkout", &["mkdir real; evil real/h"], HOOK),
    ("ln -s ../../real/h .git/hooks/post-checkout", &["mkdir q; ln -s q real", "evil q/h"], HOOK),
    // A directory of hooks.
    (
        "mine real/post-checkout; ln -s real gh; git config core.hooksPath gh",
        &["rm gh; mkdir gh; evil gh/post-checkout"],
        HOOK,
    ),
    (
        "mine real/post-checkout; ln -s real gh; git config core.hooksPath gh",
        &["mkdir e; evil e/post-checkout; ln -sfn e gh"],
        HOOK,
    ),
    (
        "mine real/post-checkout; mkdir sub; ln -s ../real sub/gh; git config core.hooksPath sub/gh",
        &["mv sub s; mkdir -p sub/gh; evil sub/gh/post-checkout"],
        HOOK,
    ),
    (
        "git config core.hooksPath tools/gh",
        &["mkdir -p o/gh; ln -s o tools; evil o/gh/post-checkout"],
        HOOK,
    ),
    // Settings in other files.
    (
        "include ../cfg/inc; mkdir rc; touch rc/inc; ln -s rc cfg",
        &["rm cfg; mkdir cfg; config cfg/inc"],
        STATUS,
    ),
    ("include ../inc; mkdir rc; touch rc/inc; ln -s rc/inc inc", &["rm inc; config inc"], STATUS),
    ("include ../inc; ln -s $OUT/file inc; : > $OUT/file", &["rm inc; config inc"], STATUS),
    ("include ../x/y/inc", &["mkdir -p q/y; ln -s q x; config q/y/inc"], STATUS),
    ("include ../x/y/inc", &["mkdir -p q/y; ln -s q x", "config q/y/inc"], STATUS),
    ("include ../d/inc; mkdir r; ln -s r d", &["mkdir e; config e/inc; ln -sfn e d"], STATUS),
    // Settings of the user for every repository.
    ("global '[include]\\n\\tpath = ../ws/inc\\n'; touch inc", &["config inc"], STATUS),
    ("global '[include]\\n\\tpath = ../ws/inc\\n'", &["config inc"], STATUS),
    (
        "global '[core]\\n\\thooksPath = gh\\n'; mine gh/post-checkout",
        &["evil gh/post-checkout"],
        HOOK,
    ),
    ("global '[core]\\n\\thooksPath = gh\\n'", &["mkdir gh; evil gh/post-checkout"], HOOK),
    // A program of the project that git runs by itself.
    ("mine t/watch; git config core.fsmonitor t/watch", &["evil t/watch"], STATUS),
    // Repositories whose later changes nothing would examine.
    (
        "mkdir p",
        &[
            "git init -q $TMPDIR/r; echo \"gitdir: $TMP_OUTSIDE/r/.git\" > p/.git",
            "config $TMPDIR/r/.git/config",
        ],
        "cd p; git status",
    ),
    (
        "mkdir p",
        &[
            "git init -q $TMPDIR/r; ln -s $TMP_OUTSIDE/r/.git p/.git",
            "config $TMPDIR/r/.git/config",
        ],
        "cd p; git status",
    ),
];

/// A repository with a commit, and what the user has.
fn prepare(script: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::write(env.path("ws/.git/config"), "[core]\n\trepositoryformatversion = 0\n").unwrap();
    let commit = "git -c user.name=me -c user.email=m@h commit -q --allow-empty -m x";
    let output = env.run(None, "ws", &format!("{SHELL}\n{commit}\n{script}"));
    assert!(output.status.success(), "{script}: {}", text(&output));
    env
}

fn user_runs(env: &TestEnv, script: &str) {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(env.path("ws")).env("HOME", env.path("home"));
    let _ = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
}

#[test]
fn files_that_settings_and_hooks_name_stay_those_of_the_user() {
    for (mine, scripts, then) in ATTACKS {
        let about = format!("{mine} | {}", scripts.join(" | "));
        let env = prepare(mine);
        let tmp = env.path("tmp").display().to_string();
        let variables = [("TMP_OUTSIDE", tmp.clone()), ("TMPDIR", tmp)];
        for script in *scripts {
            env.run_with(None, "ws", &format!("{SHELL}\n{script}"), &variables);
        }
        user_runs(&env, then);
        assert!(env.path("outside/ran").exists(), "{about}: no effect without the sandbox");

        for (level, machine) in levels() {
            let env = prepare(mine);
            let variables = [("TMP_OUTSIDE", env.path("tmp").display().to_string())];
            let confined = confined(&env.confinement(), &machine);
            let mut left = Vec::new();
            for script in *scripts {
                confined.record_repositories();
                let script = format!("{SHELL}\n{script}");
                env.run_with(Some(&confined), "ws", &script, &variables);
                left.extend(confined.disable_leftovers(false));
                user_runs(&env, then);
                assert!(!env.path("outside/ran").exists(), "{level}, {about}: {left:?}");
            }
            assert!(left.iter().all(|left| !left.is_dangerous()), "{level}, {about}: {left:?}");
        }
    }
    again_as_user("named_by_git::files_that_settings_and_hooks_name_stay_those_of_the_user");
}

/// Ordinary work beside such files changes nothing that has to be restored.
#[test]
fn links_of_the_user_do_not_hinder_work() {
    for (level, machine) in levels() {
        let mine = "mine real/h; ln -s real way; ln -s ../../way/h .git/hooks/post-checkout; \
                    include ../cfg/inc; mkdir rc; touch rc/inc; ln -s rc cfg";
        let env = prepare(mine);
        let confined = confined(&env.confinement(), &machine);
        confined.record_repositories();
        let work = "touch rc/other && mkdir new && ln -s new link && rm link && git status && \
                    git checkout -q -b b && cat way/h cfg/inc && mv new newer";
        let output = env.run(Some(&confined), "ws", work);
        assert!(output.status.success(), "{level}: {}", text(&output));
        assert_eq!(confined.disable_leftovers(true), [], "{level}");
    }
}
