//! Workspaces, roots and homes in unusual locations: real processes, on every level that the
//! machine offers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pi_guard::confine::{ConfineError, Confinement, ConfinementLevel, Mode, Network};

use crate::env::{TESTBED, TestEnv, confined, levels, not_tested, text, with_bubblewrap};

fn writing(workspace: PathBuf, extra_roots: Vec<PathBuf>, tmp: Option<PathBuf>) -> Confinement {
    let mode = Mode::WorkspaceWrite { workspace, extra_roots, private_tmp: tmp };
    Confinement::new(mode, Network::Off)
}

fn git(arguments: &[&str], directory: &Path) {
    let mut command = Command::new("git");
    command.args(["-c", "init.defaultBranch=main", "-c", "user.name=me", "-c", "user.email=m@h"]);
    let output = command.args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
}

/// Asserts that scripts fail in the sandbox on every level and succeed without a sandbox, each in
/// a new environment.
fn assert_refused(make: impl Fn(&TestEnv) -> Confinement, cwd: &str, scripts: &[&str]) {
    assert_refused_in(TestEnv::new, make, cwd, scripts);
}

fn assert_refused_in(
    new_env: impl Fn() -> TestEnv,
    make: impl Fn(&TestEnv) -> Confinement,
    cwd: &str,
    scripts: &[&str],
) {
    for script in scripts {
        let env = new_env();
        make(&env);
        let output = env.run(None, cwd, script);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let env = new_env();
            let confined = confined(&make(&env), &machine);
            let output = env.run(Some(&confined), cwd, script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}, {script}: {}", text(&output));
        }
    }
}

#[test]
fn a_bare_repository_is_protected_like_a_work_tree() {
    let bare = |env: &TestEnv| {
        git(&["init", "-q", "--bare", "bare"], &env.base);
        fs::write(env.path("bare/more"), "").unwrap();
        git(&["config", "include.path", "more"], &env.path("bare"));
        writing(env.path("bare"), Vec::new(), None)
    };
    let scripts = [
        "echo x > hooks/pre-receive",
        "git config core.fsmonitor x",
        "echo x >> config",
        "echo x >> more",
        "mv hooks h && mkdir hooks",
        "mv -f description config",
        "rm -rf hooks && ! test -e hooks",
    ];
    assert_refused(bare, "bare", &scripts);
    // A repository as an extra root, so that its work tree can commit.
    let tree = |env: &TestEnv| {
        git(&["init", "-q", "main"], &env.base);
        git(&["commit", "-q", "--allow-empty", "-m", "x"], &env.path("main"));
        git(&["worktree", "add", "-q", "../tree"], &env.path("main"));
        writing(env.path("tree"), vec![env.path("main/.git")], None)
    };
    let scripts = [
        "echo x > ../main/.git/hooks/pre-commit",
        "git config core.fsmonitor x",
        "echo gitdir: $WS > .git",
        "echo x > ../main/.git/worktrees/tree/commondir",
        "echo x > ../main/new",
    ];
    assert_refused(tree, "tree", &scripts);
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let confined = confined(&tree(&env), &machine);
        let script = "git status --short && git -c user.name=me -c user.email=m@h commit -q --allow-empty -m y && git branch b";
        let output = env.run(Some(&confined), "tree", script);
        assert_eq!(
            output.status.success(),
            level == ConfinementLevel::Bubblewrap,
            "{level}: {}",
            text(&output)
        );
    }
}

#[test]
fn a_command_cannot_replace_the_temporary_directory_or_the_proxy_of_the_next() {
    let tmp_inside = |env: &TestEnv| {
        fs::create_dir_all(env.path("ws/t/s/tmp")).unwrap();
        fs::create_dir_all(env.path("ws/t/s/own")).unwrap();
        fs::write(env.path("ws/t/s/own/socket"), "").unwrap();
        let tmp = Some(env.path("ws/t/s/tmp"));
        writing(env.path("ws"), vec![env.path("home")], tmp)
    };
    let scripts = [
        "mv t/s/tmp t/s/old && ln -s $OUT t/s/tmp",
        "mv t/s t/old && mkdir t/s && ln -s $OUT t/s/tmp",
        "mv t old && mkdir -p t/s && ln -s $OUT t/s/tmp",
        "rmdir t/s/tmp && ln -s $OUT t/s/tmp",
        "mkdir src/n && $A exchange src/n t/s",
    ];
    assert_refused(tmp_inside, "ws", &scripts);
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let confinement = tmp_inside(&env);
        let confined = confined(&confinement, &machine);
        let script = "f=$(mktemp) && echo x > $f && grep x $f && echo x > src/new";
        let output = env.run(Some(&confined), "ws", script);
        assert!(output.status.success(), "{level}: {}", text(&output));
        // If another process has replaced it, no command runs.
        fs::rename(env.path("ws/t/s/tmp"), env.path("ws/t/s/old")).unwrap();
        symlink(env.path("outside"), env.path("ws/t/s/tmp")).unwrap();
        let output = env.run(Some(&confined), "ws", "echo x > $TMPDIR/new");
        assert_eq!(output.status.code(), Some(125), "{level}: {}", text(&output));
        assert!(!env.path("outside/new").exists());
    }
    // The socket of the proxy.
    let proxy = |env: &TestEnv| {
        let mut confinement = tmp_inside(env);
        confinement.network = Network::Hosts(vec!["example.com".to_owned()]);
        confinement.proxy = Some(env.path("ws/t/s/own/socket"));
        confinement
    };
    if let Some(machine) = with_bubblewrap() {
        for script in ["ln -sf $OUT/socket t/s/own/socket", "mv t/s/own t/s/o", "rm -r t/s/own"] {
            let env = TestEnv::new();
            let confined = confined(&proxy(&env), &machine);
            let output = env.run(Some(&confined), "ws", script);
            assert!(!output.status.success(), "{script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{script}: {}", text(&output));
            assert!(fs::symlink_metadata(env.path("ws/t/s/own/socket")).unwrap().is_file());
        }
    }
}

#[test]
fn protected_and_hidden_paths_may_contain_links_and_dots() {
    // A path with a link, paths with dots, and a directory above the root.
    let names: [fn(&TestEnv) -> PathBuf; 4] = [
        |env| env.path("link/src"),
        |env| env.path("home/../ws/src"),
        |env| env.path("ws/project/../src"),
        |env| env.base.clone(),
    ];
    for name in names {
        let make = |env: &TestEnv| {
            symlink("ws", env.path("link")).unwrap();
            let mut confinement = writing(env.path("ws"), Vec::new(), None);
            confinement.protected.push(name(env));
            confinement
        };
        assert_refused(make, "ws", &["echo x > src/new", "echo x > src/mine", "mv src other"]);
    }
    // A hidden path with a link that does not exist yet.
    for (level, machine) in levels() {
        let env = TestEnv::new();
        symlink("outside", env.path("link")).unwrap();
        let mut confinement = env.confinement();
        confinement.hidden.push(env.path("link/later"));
        let confined = confined(&confinement, &machine);
        assert!(confined.may_read(&env.path("outside/later/key")).is_err(), "{level}");
        fs::create_dir(env.path("outside/later")).unwrap();
        fs::write(env.path("outside/later/key"), "planted\n").unwrap();
        let output = env.run(Some(&confined), "ws", "grep planted $OUT/later/key");
        assert!(!output.status.success(), "{level}");
    }
}

#[test]
fn a_home_as_the_workspace_keeps_its_start_up_files() {
    let home = |env: &TestEnv| {
        fs::create_dir_all(env.path("home/.config/fish")).unwrap();
        fs::create_dir_all(env.path("home/.local/share")).unwrap();
        fs::create_dir_all(env.path("home/.ssh")).unwrap();
        fs::write(env.path("home/.ssh/id"), "planted\n").unwrap();
        // More files than bubblewrap accepts mounts. Below `/tmp`, each needs one.
        for number in 0..3200 {
            fs::write(env.path(&format!("home/file{number}")), "").unwrap();
        }
        let mut confinement = writing(env.path("home"), Vec::new(), Some(env.path("tmp")));
        confinement.home = Some(env.path("home"));
        confinement.hidden.push(env.path("home/.ssh"));
        confinement
    };
    let scripts = [
        "echo x > .zshenv",
        "echo x >> .bashrc",
        "mv .bashrc project/",
        "mkdir -p .local/bin && echo x > .local/bin/git",
        "mv .local l2 && mkdir -p .local/bin",
        "ln -s project .local/bin",
        "mkdir -p .config/autostart",
        "mkdir -p .config/systemd/user",
        "echo x > .config/fish/config.fish",
        "mv .config/fish .config/f",
        "mkdir .cargo",
        "mkdir .git",
        "mkdir .pi",
        "grep planted .ssh/id",
        "mv .ssh project/s",
        "echo x > project/x && mv project/x .profile",
        "ln project/../file1 .zprofile",
    ];
    assert_refused_in(TestEnv::outside_tmp, home, "home", &scripts);
    for (level, machine) in levels() {
        let env = TestEnv::outside_tmp();
        let confined = confined(&home(&env), &machine);
        let script = "echo x > project/new && echo y > file7 && mkdir -p .local/share/a/b";
        let output = env.run(Some(&confined), "home", script);
        assert!(output.status.success(), "{level}: {}", text(&output));
    }
}

#[test]
fn workspaces_may_have_any_name() {
    for name in ["with space", "a:b,c", "new\nline", "ünï→", "-dash", "q'\"$(x)`", "back\\040slash"]
    {
        for (level, machine) in levels() {
            let env = TestEnv::new();
            fs::create_dir_all(env.path(name).join("src")).unwrap();
            fs::create_dir_all(env.path(name).join(".git/hooks")).unwrap();
            fs::write(env.path(name).join(".git/config"), "").unwrap();
            fs::write(env.path(name).join(".env"), "planted").unwrap();
            let mut confinement = writing(env.path(name), Vec::new(), None);
            confinement.hidden.push(env.path(name).join(".env"));
            let confined = confined(&confinement, &machine);
            let output = env.run(Some(&confined), name, "echo x > src/new");
            assert!(output.status.success(), "{level}, {name:?}: {}", text(&output));
            for script in [
                "echo x > .git/hooks/new",
                "echo x > .git/config",
                "grep planted .env",
                "mkdir -p .pi/x",
                "echo x > ../outside/new",
            ] {
                let output = env.run(Some(&confined), name, script);
                assert!(!output.status.success(), "{level}, {name:?}, {script}");
                assert!(!text(&output).contains("not run"), "{level}: {}", text(&output));
            }
            confined.remove_covers();
            assert!(!env.path(name).join(".pi").exists(), "{level}, {name:?}");
        }
    }
}

#[test]
fn a_workspace_may_be_named_by_a_link() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        symlink("ws", env.path("link")).unwrap();
        let confined = confined(&writing(env.path("link"), Vec::new(), None), &machine);
        let run = |cwd: &str, script: &str| env.run(Some(&confined), cwd, script);
        assert!(run("link", "echo x > src/new && test -e $WS/src/new").status.success(), "{level}");
        assert!(!run("link", "echo x > .git/hooks/new").status.success(), "{level}");
        assert!(!run("ws", "rm -f ../link && ! test -e ../link").status.success(), "{level}");
        // A file in the place of a protected directory is protected.
        fs::remove_dir_all(env.path("ws/.pi")).unwrap();
        fs::write(env.path("ws/.pi"), "mine").unwrap();
        for script in ["echo x > .pi", "rm -f .pi && ! test -e .pi", "mv -fT src/mine .pi"] {
            assert!(!run("ws", script).status.success(), "{level}, {script}");
        }
        assert_eq!(fs::read(env.path("ws/.pi")).unwrap(), b"mine", "{level}");
        // A protected link is refused.
        for name in [".git", ".pi", ".agents"] {
            let env = TestEnv::new();
            let _ = fs::remove_dir_all(env.path("ws").join(name));
            symlink(env.path("outside"), env.path("ws").join(name)).unwrap();
            let refused = env.confinement().prepare(&machine, ConfinementLevel::None, TESTBED);
            assert!(matches!(refused, Err(ConfineError::ProtectedSymlink(_))), "{level}, {name}");
        }
    }
}

#[test]
fn a_workspace_below_tmp_has_its_surroundings_and_its_protection() {
    for (level, machine) in levels() {
        let env = TestEnv::new_in(Path::new("/tmp"));
        for name in ["ws/src/.pi", "ws/src/deep", "ws/keys"] {
            fs::create_dir_all(env.path(name)).unwrap();
        }
        fs::write(env.path("ws/keys/key"), "planted\n").unwrap();
        let mut confinement = env.confinement();
        confinement.hidden.push(env.path("ws/keys"));
        if let Mode::WorkspaceWrite { extra_roots, .. } = &mut confinement.mode {
            extra_roots.push(env.path("ws/src"));
        }
        let confined = confined(&confinement, &machine);
        let before = env.evidence();
        let works = [
            "echo x > src/deep/new && echo x > $HOMEDIR/project/new && mktemp",
            "grep untouched ../outside/file && git status --short",
            "echo x > $TMPDIR/new && grep x $TMPDIR/new",
        ];
        for script in works {
            let output = env.run(Some(&confined), "ws", script);
            assert!(output.status.success(), "{level}, {script}: {}", text(&output));
        }
        assert!(env.path("tmp/new").exists(), "{level}");
        let base = env.base.display();
        for script in [
            "echo x > .git/hooks/new".to_owned(),
            "echo x > .git/config".to_owned(),
            "grep planted keys/key".to_owned(),
            "mv keys src/k".to_owned(),
            "grep planted $HIDDEN/key".to_owned(),
            "mkdir -p .agents/x".to_owned(),
            "mkdir -p src/.pi/x".to_owned(),
            "mv src s".to_owned(),
            "mv $HOMEDIR $HOMEDIR-2".to_owned(),
            "echo x > $HOMEDIR/.zshenv".to_owned(),
            "echo x > $OUT/file".to_owned(),
            format!("mv {base} {base}-moved"),
            format!("echo x > {base}/new"),
        ] {
            let output = env.run(Some(&confined), "ws", &script);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}, {script}: {}", text(&output));
        }
        assert_eq!(before, env.evidence(), "{level}");
        confined.remove_covers();
    }
}

#[test]
fn read_only_commands_run_below_tmp() {
    for (level, machine) in levels() {
        let env = TestEnv::new_in(Path::new("/tmp"));
        let mut confinement = Confinement::new(Mode::ReadOnly, Network::Off);
        confinement.hidden.push(env.path("hidden"));
        let confined = confined(&confinement, &machine);
        symlink(&env.base, env.path("link")).unwrap();
        for cwd in ["ws", "link/ws"] {
            let output = env.run(Some(&confined), cwd, "grep mine src/mine && ls ../outside");
            assert!(output.status.success(), "{level}, {cwd}: {}", text(&output));
            for script in ["grep planted ../hidden/key", "echo x > new", "echo x > ../new"] {
                let output = env.run(Some(&confined), cwd, script);
                assert!(!output.status.success(), "{level}, {cwd}, {script}: {}", text(&output));
            }
        }
    }
}

#[test]
fn a_directory_as_standard_input_gives_no_access() {
    for (level, machine) in levels() {
        for place in ["ws", "outside"] {
            let env = TestEnv::new();
            let confined = confined(&env.confinement(), &machine);
            let evidence = env.evidence();
            let script = "cd -P /proc/self/fd/0 && (echo x > .git/hooks/new || echo x > new)";
            let arguments = ["-c".into(), script.into()];
            let environment = env.environment(&[]);
            let cwd = env.path("ws/src");
            let command = confined.command(&"bash".into(), &arguments, &cwd, &environment);
            let output = Command::new(command.program)
                .args(command.arguments)
                .env_clear()
                .envs(command.environment)
                .current_dir(cwd)
                .stdin(Stdio::from(fs::File::open(env.path(place)).unwrap()))
                .output()
                .unwrap();
            assert!(!output.status.success(), "{level}, {place}: {}", text(&output));
            assert_eq!(evidence, env.evidence(), "{level}, {place}");
        }
    }
}

#[test]
fn commands_of_developers_do_not_escape() {
    // Each succeeds without a sandbox.
    let scripts = [
        "cp --parents src/mine $OUT/",
        "install -D src/mine $OUT/a/b",
        "ln -sr $OUT/file src/l && sed -i --follow-symlinks s/un// src/l && grep ^touched $OUT/file",
        "git init -q $OUT/repo",
        "git --git-dir=.git --work-tree=$OUT add -A && git --git-dir=.git --work-tree=$OUT checkout-index -f --prefix=$OUT/x/ -a",
        "git -c core.hooksPath=$OUT/h config --file $OUT/c a.b c",
        "git config --file .git/hooks/c a.b c",
        "git remote add origin $OUT",
        "git submodule--helper init 2>/dev/null; git config submodule.x.update '!x'",
        "(cd .git && git config a.b c)",
        "GIT_DIR=$WS/.git git config a.b c",
        "GIT_CONFIG=$WS/.git/config git config --file .git/config a.b c",
        "git init -q --template=src . && git init -q --separate-git-dir=src/g . && test -f .git",
        "exec 7<>$OUT/file && echo x >&7",
        "dd if=src/mine of=$OUT/file conv=notrunc 2>/dev/null",
        "truncate -s 0 $OUT/file",
        "fallocate -l 10 $OUT/file",
        "(cd .. && mkdir ws2)",
        "(cd .. && mv ws ws2)",
        "cd .git/hooks && echo x > new",
        "cd -P .git/hooks/../hooks && echo x > new",
        "echo x > .git/./hooks//new",
        "echo x > /proc/self/cwd/.git/hooks/new",
        "echo x > /proc/$$/root$WS/.git/hooks/new",
        "exec 8<.git/hooks && echo x > /proc/self/fd/8/new",
        "exec 8<.git && echo x > /dev/fd/8/hooks/new",
        "mv .pi/settings.json src/ && mv src/settings.json .pi/",
        "find .git/hooks -name old -delete && ! test -e .git/hooks/old",
        "perl -e 'rename \".git/config\", \"src/c\" or die'",
        "perl -e 'unlink \".git/config\" or die'",
        "perl -e 'link \"src/mine\", \".git/hooks/l\" or die'",
        "perl -e 'truncate \".git/config\", 0 or die'",
        "bash -c 'echo x > .git/hooks/new' & wait $!",
        "setsid -w sh -c 'echo x > .git/hooks/new'",
        "nohup sh -c 'echo x > $OUT/new'",
        "script -qec 'echo x > $OUT/new' /dev/null && test -e $OUT/new",
        "echo 'all:; echo x > $(OUT)/new' > src/m && make -sf src/m",
        "(umask 0; mkdir -m 777 $OUT/open)",
        "mkdir -p $HOMEDIR/.ssh && echo x > $HOMEDIR/.ssh/authorized_keys",
        "HOME=$HOMEDIR git config --global a.b c",
        "mkdir -p $HOMEDIR/.config/git && echo x > $HOMEDIR/.config/git/config",
        "mkdir -p $HOMEDIR/.local/bin && cp src/mine $HOMEDIR/.local/bin/ls",
        "mkdir $HOMEDIR/.pi",
        "ln -s project $HOMEDIR/.agents",
        "mv $HOMEDIR $HOMEDIR-2",
        "tar -cf - $HIDDEN 2>/dev/null | grep -a planted",
        "find $HIDDEN -name key | grep key",
        "grep -r planted $HIDDEN/../hidden/",
        "exec 9<$HIDDEN/key && read x <&9",
        "wc -c < $HIDDEN/key",
        "chmod 755 $HIDDEN && cat $HIDDEN/key",
        "cat $HIDDEN/../hidden/./key",
        "cd $HIDDEN && cat key",
        "diff $HIDDEN/key /dev/null | grep planted",
    ];
    for script in scripts {
        let env = TestEnv::new();
        let output = env.run(None, "ws", script);
        if !output.status.success() {
            not_tested(&format!(
                "{script:?}, which fails without a sandbox: {}",
                text(&output).trim()
            ));
        }
        for (level, machine) in levels() {
            let mut env = TestEnv::new();
            let confined = confined(&env.confinement(), &machine);
            let before = env.evidence();
            let output = env.run(Some(&confined), "ws", script);
            let said = text(&output);
            assert!(!said.contains("the command was not run"), "{level}, {script}: {said}");
            assert!(!output.status.success(), "{level}, {script}: {said}");
            assert_eq!(before, env.evidence(), "{level}, {script}");
            assert!(env.decoy_lives() && !env.path("ws2").exists(), "{level}, {script}");
        }
    }
}
