//! Repositories that a command leaves: `git` outside of the sandbox must not run anything because
//! of them, and ordinary use of git must not be hindered. Real git, on every level.

use std::fs;
use std::process::Command;
use std::time::Duration;

use pi_guard::confine::{Confined, ConfinementLevel};

use crate::env::{TestEnv, confined, levels, text};

/// The levels on which an attempt is possible.
#[derive(Clone, Copy, PartialEq)]
enum Possible {
    Everywhere,
    /// Bubblewrap covers the file, so that nothing is left to examine.
    WithLandlock,
}
use Possible::{Everywhere, WithLandlock};

/// A setting that lets every git command that looks at the work tree run `$RUN`.
const MONITOR: &str = "git config -f $F core.fsmonitor \"touch $OUT/ran; false\"";

/// A confined script, and a git command that the user runs in a directory afterwards.
const ATTEMPTS: &[(&str, Possible, &str, &str)] = &[
    (
        "another common directory",
        WithLandlock,
        "git init -q src/cd; F=src/cd/.git/config; MONITOR; echo ../src/cd/.git > .git/commondir",
        "git status",
    ),
    (
        "another common directory by renaming",
        WithLandlock,
        "git init -q src/cd; F=src/cd/.git/config; MONITOR; mv src/cd/.git src/c2; echo ../src/c2 > src/x; mv src/x .git/commondir",
        "git status",
    ),
    (
        "nested repository",
        Everywhere,
        "git init -q src/n; F=src/n/.git/config; MONITOR",
        "git -C src/n status",
    ),
    (
        "nested repository, deep",
        Everywhere,
        "mkdir -p src/a/b/c/d/e/f; git init -q src/a/b/c/d/e/f; F=src/a/b/c/d/e/f/.git/config; MONITOR",
        "git -C src/a/b/c/d/e/f status",
    ),
    (
        "setting after a comment that seems to go on",
        Everywhere,
        "git init -q src/n; printf '# \\\\\\n[core]\\n\\tfsmonitor = \"touch %s/ran; false\"\\n' $OUT >> src/n/.git/config",
        "git -C src/n status",
    ),
    (
        "second header in a line",
        Everywhere,
        "git init -q src/n; printf '[alias][core]fsmonitor = \"touch %s/ran; false\"\\n' $OUT >> src/n/.git/config",
        "git -C src/n status",
    ),
    (
        "included settings",
        Everywhere,
        "git init -q src/n; F=src/inc; MONITOR; git -C src/n config include.path ../../inc",
        "git -C src/n status",
    ),
    (
        "settings by a link",
        Everywhere,
        "git init -q src/n; F=src/inc; MONITOR; ln -sf ../../inc src/n/.git/config",
        "git -C src/n status",
    ),
    (
        "known nested repository",
        Everywhere,
        "F=src/old/.git/config; MONITOR",
        "git -C src/old status",
    ),
    (
        "known nested repository, in place",
        Everywhere,
        "printf '[core]\\n\\tfsmonitor = \"touch %s/ran; false\"\\n' $OUT >> src/old/.git/config",
        "git -C src/old status",
    ),
    (
        "hook of a nested repository",
        Everywhere,
        "git init -q src/n; mkdir -p src/n/.git/hooks; printf '#!/bin/sh\\ntouch %s/ran\\n' $OUT > src/n/.git/hooks/pre-commit; chmod +x src/n/.git/hooks/pre-commit",
        "git -C src/n -c user.name=me -c user.email=m@h commit -q --allow-empty -m x",
    ),
    (
        "hook of a known repository, in place",
        Everywhere,
        "printf '#!/bin/sh\\ntouch %s/ran\\n' $OUT > src/old/.git/hooks/pre-commit",
        "git -C src/old -c user.name=me -c user.email=m@h commit -q --allow-empty -m x",
    ),
    (
        "hooks by a link",
        Everywhere,
        "git init -q src/n; rm -rf src/n/.git/hooks; mkdir src/h; printf '#!/bin/sh\\ntouch %s/ran\\n' $OUT > src/h/pre-commit; chmod +x src/h/pre-commit; ln -s ../../h src/n/.git/hooks",
        "git -C src/n -c user.name=me -c user.email=m@h commit -q --allow-empty -m x",
    ),
    (
        "bare repository",
        Everywhere,
        "git init -q --bare src/bare; F=src/bare/config; git config -f $F core.worktree /; git config -f $F core.bare false; MONITOR",
        "git -C src/bare status -uno",
    ),
    (
        "bare repository from parts that were there",
        Everywhere,
        "mv src/parts/head src/parts/HEAD",
        "git -C src/parts status -uno",
    ),
    (
        "repository from a directory that was there",
        Everywhere,
        "mkdir src/new; mv src/stored src/new/.git",
        "git -C src/new status",
    ),
    (
        "directory with a common directory",
        Everywhere,
        "git init -q src/cd; F=src/cd/.git/config; MONITOR; mv src/cd/.git src/c2; mkdir src/w; cp src/c2/HEAD src/w/; echo ../c2 > src/w/commondir; mkdir src/t; echo 'gitdir: ../w' > src/t/.git",
        "git -C src/t status",
    ),
    (
        "file that leads to a stored repository",
        Everywhere,
        "mkdir src/t; echo 'gitdir: ../stored' > src/t/.git",
        "git -C src/t status",
    ),
    (
        "link to a stored repository",
        Everywhere,
        "mkdir src/t; ln -s ../stored src/t/.git",
        "git -C src/t status",
    ),
    (
        "other repository of a known submodule",
        Everywhere,
        "echo 'gitdir: ../stored' > src/pointer/.git",
        "git -C src/pointer status",
    ),
    (
        "work tree with another common directory",
        Everywhere,
        "C='-c user.name=me -c user.email=m@h'; git $C commit -q --allow-empty -m x; git worktree add -q src/tree; git init -q src/cd; F=src/cd/.git/config; MONITOR; echo $WS/src/cd/.git > .git/worktrees/tree1/commondir || echo $WS/src/cd/.git > $(git -C src/tree rev-parse --git-dir)/commondir",
        "git -C src/tree status",
    ),
    (
        "included file that did not exist",
        Everywhere,
        "F=src/later/settings; mkdir -p src/later; MONITOR",
        "git status",
    ),
    (
        "directory of hooks that did not exist",
        Everywhere,
        "mkdir -p src/later/hooks; printf '#!/bin/sh\\ntouch %s/ran\\n' $OUT > src/later/hooks/pre-commit; chmod +x src/later/hooks/pre-commit",
        "git -c user.name=me -c user.email=m@h commit -q --allow-empty -m x",
    ),
    (
        "new submodule",
        Everywhere,
        "git init -q src/sub; mkdir -p .git/modules; mv src/sub/.git .git/modules/new; echo 'gitdir: ../../.git/modules/new' > src/sub/.git; F=.git/modules/new/config; MONITOR",
        "git -C src/sub status",
    ),
    (
        "common directory, with the new name taken",
        WithLandlock,
        "git init -q src/cd; F=src/cd/.git/config; MONITOR; for n in '' -2 -3 -4 -5 -6 -7 -8 -9; do mkdir -p .git/commondir.disabled-by-pi$n/x src/cd/.git/config.disabled-by-pi$n/x; done; echo ../src/cd/.git > .git/commondir",
        "git status",
    ),
    (
        "common directory in a directory that cannot be listed",
        WithLandlock,
        "git init -q src/cd; F=src/cd/.git/config; MONITOR; echo ../src/cd/.git > .git/commondir; chmod 311 src/cd/.git .git",
        "git status",
    ),
    (
        "common directory of a nested repository, with the new name taken",
        Everywhere,
        "git init -q src/cd; F=src/cd/.git/config; MONITOR; mkdir -p src/old/.git/commondir.disabled-by-pi/x src/cd/.git/config.disabled-by-pi/x; echo ../../cd/.git > src/old/.git/commondir",
        "git -C src/old status",
    ),
    (
        "settings with the new name taken",
        Everywhere,
        "git init -q src/n; F=src/n/.git/config; MONITOR; mkdir -p src/n/.git/config.disabled-by-pi/x; touch src/n/.git/config.disabled-by-pi-2",
        "git -C src/n status",
    ),
    (
        "repository in a directory that cannot be listed",
        Everywhere,
        "mkdir src/d; git init -q src/d/n; F=src/d/n/.git/config; MONITOR; chmod 111 src/d",
        "git -C src/d/n status",
    ),
    (
        "repository that cannot be listed",
        Everywhere,
        "git init -q src/n; F=src/n/.git/config; MONITOR; chmod 111 src/n/.git src/n",
        "git -C src/n status",
    ),
    (
        "directories that cannot be listed, at any depth",
        Everywhere,
        "mkdir -p src/a/b/c; git init -q src/a/b/c/n; F=src/a/b/c/n/.git/config; MONITOR; chmod 111 src/a/b/c/n/.git src/a/b/c/n src/a/b/c src/a/b src/a",
        "git -C src/a/b/c/n status",
    ),
    (
        "repository that cannot be written",
        Everywhere,
        "git init -q src/n; F=src/n/.git/config; MONITOR; chmod 444 src/n/.git/config; chmod 555 src/n/.git src/n",
        "git -C src/n status",
    ),
    (
        "hooks that cannot be listed",
        Everywhere,
        "git init -q src/n; mkdir -p src/n/.git/hooks; printf '#!/bin/sh\\ntouch %s/ran\\n' $OUT > src/n/.git/hooks/pre-commit; chmod 755 src/n/.git/hooks/pre-commit; chmod 111 src/n/.git/hooks",
        "git -C src/n -c user.name=me -c user.email=m@h commit -q --allow-empty -m x",
    ),
    (
        "workspace that cannot be listed",
        Everywhere,
        "git init -q src/n; F=src/n/.git/config; MONITOR; chmod 311 . src",
        "git -C src/n status",
    ),
    (
        "link to a repository that cannot be listed",
        Everywhere,
        "mkdir src/t src/d; cp -r src/stored src/d/r; chmod 111 src/d/r src/d; ln -s ../d/r src/t/.git",
        "git -C src/t status",
    ),
    (
        "step of a rebase",
        Everywhere,
        "C='git -c user.name=me -c user.email=m@h'; for n in 1 2; do $C commit -q --no-verify --allow-empty -m $n; done; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' $C rebase -q -i HEAD~1 2>&1; echo \"exec touch $OUT/ran\" >> .git/rebase-merge/git-rebase-todo",
        "git -c user.name=me -c user.email=m@h rebase --continue",
    ),
    (
        "step of a rebase that cannot be listed",
        Everywhere,
        "C='git -c user.name=me -c user.email=m@h'; for n in 1 2; do $C commit -q --no-verify --allow-empty -m $n; done; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' $C rebase -q -i HEAD~1 2>&1; echo \"exec touch $OUT/ran\" >> .git/rebase-merge/git-rebase-todo; chmod 311 .git/rebase-merge",
        "chmod 755 .git/rebase-merge; git -c user.name=me -c user.email=m@h rebase --continue",
    ),
    (
        "step of a rebase in a nested repository",
        Everywhere,
        "C='git -C src/old -c user.name=me -c user.email=m@h'; for n in 1 2; do $C commit -q --no-verify --allow-empty -m $n; done; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' $C rebase -q -i HEAD~1 2>&1; echo \"exec touch $OUT/ran\" >> src/old/.git/rebase-merge/git-rebase-todo",
        "git -C src/old -c user.name=me -c user.email=m@h rebase --continue",
    ),
    (
        "settings of another work tree",
        Everywhere,
        "git init -q src/n; git -C src/n config extensions.worktreeConfig true; F=src/n/.git/config.worktree; MONITOR; mkdir -p src/n/.git/config.worktree.disabled-by-pi/x",
        "git -C src/n status",
    ),
];

/// Repositories that are there before the session: harmless ones, and stored ones that would run
/// something if git found them.
fn prepare(env: &TestEnv) {
    let script = "git init -q src/old && printf '#!/bin/sh\\n' > src/old/.git/hooks/pre-commit && \
        chmod +x src/old/.git/hooks/pre-commit && \
        git init -q --separate-git-dir=src/away src/pointer && \
        git init -q src/s && F=src/s/.git/config && MONITOR && mv src/s/.git src/stored && rmdir src/s && \
        cp -r src/stored src/parts && mv src/parts/HEAD src/parts/head && \
        git config -f src/parts/config core.worktree .";
    let output = env.run(None, "ws", &script.replace("MONITOR", MONITOR));
    assert!(output.status.success(), "{}", text(&output));
    // Settings of the user that name files which do not exist yet.
    let named =
        "[include]\n\tpath = ../src/later/settings\n[core]\n\thooksPath = src/later/hooks\n";
    fs::write(env.path("ws/lead/included"), named).unwrap();
    fs::write(
        env.path("ws/.git/config"),
        format!("[core]\n\trepositoryformatversion = 0\n{named}"),
    )
    .unwrap();
}

/// Runs the user's git, without the settings of this machine.
fn user_git(env: &TestEnv, script: &str) {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(env.path("ws")).env("HOME", env.path("outside"));
    let _ = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
}

fn watched(env: &TestEnv, level: (ConfinementLevel, &pi_guard::confine::Machine)) -> Confined {
    let confined = confined(&env.confinement(), level.1);
    confined.record_repositories();
    confined
}

#[test]
fn what_a_command_leaves_runs_nothing_outside() {
    for (name, possible, script, git) in ATTEMPTS {
        let script = script.replace("MONITOR", MONITOR);
        let env = TestEnv::new();
        prepare(&env);
        env.run(None, "ws", &script);
        user_git(&env, git);
        assert!(env.path("outside/ran").exists(), "{name}: it has no effect without the sandbox");

        for (level, machine) in levels() {
            let env = TestEnv::new();
            prepare(&env);
            let confined = watched(&env, (level, &machine));
            let output = env.run(Some(&confined), "ws", &script);
            let left = confined.disable_leftovers(false);
            if *possible == Everywhere || level == ConfinementLevel::Landlock {
                assert!(!left.is_empty(), "{level}, {name}: nothing found: {}", text(&output));
            }
            for left in &left {
                let new = left.renamed_to.as_ref().expect("a new name");
                assert!(new.symlink_metadata().is_ok(), "{level}, {name}: {left}");
                assert!(!left.is_dangerous(), "{level}, {name}: {left}");
                assert!(left.to_string().contains("git outside of the sandbox would "));
            }
            user_git(&env, git);
            assert!(!env.path("outside/ran").exists(), "{level}, {name}: {left:?}");
            assert_eq!(confined.disable_leftovers(true), [], "{level}, {name}");
        }
    }
}

/// Ordinary work with repositories, in which nothing is renamed.
const ORDINARY: &[&str] = &[
    "git init -q src/n && cd src/n && touch a && git add a && $GIT commit -qm x && git branch b && git checkout -q b",
    "git init -q src/a && cd src/a && $GIT commit -q --allow-empty -m x && cd .. && git clone -q a b && git -C b pull -q && git clone -q --bare a c && git clone -q --mirror a d",
    "git init -q src/a && cd src/a && git config user.name me && git config alias.st status && git remote add o ../x && git config pull.rebase true",
    "git init -q src/a && cd src/a && $GIT commit -q --allow-empty -m x && git worktree add -q ../b && git -C ../b status && git gc -q",
    "git init -q src/a && $GIT -C src/a commit -q --allow-empty -m x && git init -q src/b && cd src/b && git -c protocol.file.allow=always submodule --quiet add ../a s && $GIT commit -qm s",
    "cd src/old && $GIT commit -q --no-verify --allow-empty -m x && git config user.name me && git remote add o x",
    "cd src/mine-own && $GIT commit -q --no-verify --allow-empty -m x && git config user.name me",
    "git -C src/pointer status && $GIT -C src/pointer commit -q --allow-empty -m x",
    "mkdir -p src/refs src/objects && echo x > src/HEADER && echo x > src/config",
    "git add src/mine && $GIT commit -qm x && git worktree add -q src/tree && git -C src/tree status && git stash list && git gc -q",
];

#[test]
fn ordinary_use_of_git_leaves_nothing_to_rename() {
    for script in ORDINARY {
        for (level, machine) in levels() {
            let env = TestEnv::new();
            prepare(&env);
            // A repository of the user with settings that run programs.
            let own = "git init -q src/mine-own && git -C src/mine-own config alias.x '!true' && \
                       git -C src/mine-own config core.editor vi";
            assert!(env.run(None, "ws", own).status.success());
            let confined = watched(&env, (level, &machine));
            let git = "git -c user.name=me -c user.email=m@h".to_owned();
            let output = env.run_with(Some(&confined), "ws", script, &[("GIT", git)]);
            assert!(output.status.success(), "{level}, {script}: {}", text(&output));
            assert_eq!(confined.disable_leftovers(false), [], "{level}, {script}");
            assert_eq!(confined.disable_leftovers(true), [], "{level}, {script}");
        }
    }
}

#[test]
fn the_former_settings_of_a_known_repository_are_restored() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        prepare(&env);
        let before = fs::read(env.path("ws/src/old/.git/config")).unwrap();
        let confined = watched(&env, (level, &machine));
        env.run(Some(&confined), "ws", "git -C src/old config core.pager ./evil");
        let left = confined.disable_leftovers(false);
        assert_eq!(left.len(), 1, "{level}: {left:?}");
        assert!(left[0].reason.contains("core.pager=./evil"), "{level}: {left:?}");
        assert_eq!(fs::read(env.path("ws/src/old/.git/config")).unwrap(), before, "{level}");
        let disabled = fs::read_to_string(left[0].renamed_to.as_ref().unwrap()).unwrap();
        assert!(disabled.contains("evil"), "{level}");
    }
}

/// The work after a command is bounded at any size of the tree; the last examination of a
/// session finishes it.
#[test]
fn large_trees_are_examined_in_bounded_steps() {
    let (level, machine) = levels().remove(0);
    let env = TestEnv::new();
    for directory in 0..2_000 {
        let path = env.path(&format!("ws/src/d{directory}"));
        fs::create_dir(&path).unwrap();
        for file in 0..10 {
            fs::write(path.join(file.to_string()), "").unwrap();
        }
    }
    let confined = confined(&env.confinement(), &machine);
    // The processor time of this thread: other tests run at the same time.
    let used = || -> Duration {
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
    };
    let timed = |what: &str, work: &dyn Fn()| {
        let before = used();
        work();
        crate::env::measured(&format!("20,000 files, {what}: {:?}", used() - before));
    };
    timed("before the first command", &|| confined.record_repositories());
    timed("after a command", &|| assert_eq!(confined.disable_leftovers(false), []));
    // More than one examination reaches.
    for directory in 0..9_000 {
        fs::create_dir_all(env.path(&format!("ws/src/new/{directory}"))).unwrap();
    }
    let script = "git init -q src/new/8999; F=src/new/8999/.git/config; MONITOR";
    env.run(Some(&confined), "ws", &script.replace("MONITOR", MONITOR));
    let first = confined.disable_leftovers(false);
    let rest = confined.disable_leftovers(true);
    assert_eq!(first.len() + rest.len(), 1, "{level}: {first:?} {rest:?}");
    assert!(!env.path("ws/src/new/8999/.git/config").exists());
}
