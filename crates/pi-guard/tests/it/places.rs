//! Workspaces, roots and homes in odd places: real processes, every level the machine offers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pi_guard::confine::{ConfineError, Confinement, ConfinementLevel, Mode, Network};
use tempfile::TempDir;

use crate::bed::{Bed, TESTBED, confined, levels, text};

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

/// Runs a script in `cwd` of the bed on every level, each time in a new bed, and once unconfined,
/// where it must succeed. Confined it must not.
fn refused(make: impl Fn(&Bed) -> Confinement, cwd: &str, scripts: &[&str]) {
    for script in scripts {
        let bed = Bed::new();
        make(&bed);
        let output = bed.run(None, cwd, script, None, &[]);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let bed = Bed::new();
            let confined = confined(&make(&bed), &machine);
            let output = bed.run(Some(&confined), cwd, script, None, &[]);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}, {script}: {}", text(&output));
        }
    }
}

#[test]
fn a_repository_without_a_work_tree_is_one() {
    let bare = |bed: &Bed| {
        git(&["init", "-q", "--bare", "bare"], &bed.base);
        fs::write(bed.path("bare/more"), "").unwrap();
        git(&["config", "include.path", "more"], &bed.path("bare"));
        writing(bed.path("bare"), Vec::new(), None)
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
    refused(bare, "bare", &scripts);
    // The repository of a work tree elsewhere, so that commits are possible there.
    let tree = |bed: &Bed| {
        git(&["init", "-q", "main"], &bed.base);
        git(&["commit", "-q", "--allow-empty", "-m", "x"], &bed.path("main"));
        git(&["worktree", "add", "-q", "../tree"], &bed.path("main"));
        writing(bed.path("tree"), vec![bed.path("main/.git")], None)
    };
    let scripts = [
        "echo x > ../main/.git/hooks/pre-commit",
        "git config core.fsmonitor x",
        "echo gitdir: $WS > .git",
        "echo x > ../main/.git/worktrees/tree/commondir",
        "echo x > ../main/new",
    ];
    refused(tree, "tree", &scripts);
    for (level, machine) in levels() {
        let bed = Bed::new();
        let confined = confined(&tree(&bed), &machine);
        let script = "git status --short && git -c user.name=me -c user.email=m@h commit -q --allow-empty -m y && git branch b";
        let output = bed.run(Some(&confined), "tree", script, None, &[]);
        assert_eq!(
            output.status.success(),
            level == ConfinementLevel::Bubblewrap,
            "{level}: {}",
            text(&output)
        );
    }
}

#[test]
fn what_the_next_command_gets_is_not_the_commands() {
    let tmp_inside = |bed: &Bed| {
        fs::create_dir_all(bed.path("ws/t/s/tmp")).unwrap();
        fs::create_dir_all(bed.path("ws/t/s/own")).unwrap();
        fs::write(bed.path("ws/t/s/own/socket"), "").unwrap();
        let tmp = Some(bed.path("ws/t/s/tmp"));
        writing(bed.path("ws"), vec![bed.path("home")], tmp)
    };
    let scripts = [
        "mv t/s/tmp t/s/old && ln -s $OUT t/s/tmp",
        "mv t/s t/old && mkdir t/s && ln -s $OUT t/s/tmp",
        "mv t old && mkdir -p t/s && ln -s $OUT t/s/tmp",
        "rmdir t/s/tmp && ln -s $OUT t/s/tmp",
        "mkdir src/n && $A exchange src/n t/s",
    ];
    refused(tmp_inside, "ws", &scripts);
    for (level, machine) in levels() {
        let bed = Bed::new();
        let confinement = tmp_inside(&bed);
        let confined = confined(&confinement, &machine);
        let script = "f=$(mktemp) && echo x > $f && grep x $f && echo x > src/new";
        let output = bed.run(Some(&confined), "ws", script, None, &[]);
        assert!(output.status.success(), "{level}: {}", text(&output));
        // And if somebody else did it, nothing runs.
        fs::rename(bed.path("ws/t/s/tmp"), bed.path("ws/t/s/old")).unwrap();
        symlink(bed.path("outside"), bed.path("ws/t/s/tmp")).unwrap();
        let output = bed.run(Some(&confined), "ws", "echo x > $TMPDIR/new", None, &[]);
        assert_eq!(output.status.code(), Some(125), "{level}: {}", text(&output));
        assert!(!bed.path("outside/new").exists());
    }
    // The way to the allowed hosts.
    let proxy = |bed: &Bed| {
        let mut confinement = tmp_inside(bed);
        confinement.network = Network::Hosts(vec!["example.com".to_owned()]);
        confinement.proxy = Some(bed.path("ws/t/s/own/socket"));
        confinement
    };
    for (_, machine) in
        levels().into_iter().filter(|(level, _)| *level == ConfinementLevel::Bubblewrap)
    {
        for script in ["ln -sf $OUT/socket t/s/own/socket", "mv t/s/own t/s/o", "rm -r t/s/own"] {
            let bed = Bed::new();
            let confined = confined(&proxy(&bed), &machine);
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            assert!(!output.status.success(), "{script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{script}: {}", text(&output));
            assert!(fs::symlink_metadata(bed.path("ws/t/s/own/socket")).unwrap().is_file());
        }
    }
}

#[test]
fn what_is_protected_is_so_by_every_name() {
    // By a path with a link in it, by one with dots, and as a directory above the root.
    let names: [fn(&Bed) -> PathBuf; 4] = [
        |bed| bed.path("link/src"),
        |bed| bed.path("home/../ws/src"),
        |bed| bed.path("ws/project/../src"),
        |bed| bed.base.clone(),
    ];
    for name in names {
        let make = |bed: &Bed| {
            symlink("ws", bed.path("link")).unwrap();
            let mut confinement = writing(bed.path("ws"), Vec::new(), None);
            confinement.protected.push(name(bed));
            confinement
        };
        refused(make, "ws", &["echo x > src/new", "echo x > src/mine", "mv src other"]);
    }
    // Something hidden that is not there yet, by a path with a link in it.
    for (level, machine) in levels() {
        let bed = Bed::new();
        symlink("outside", bed.path("link")).unwrap();
        let mut confinement = bed.confinement();
        confinement.hidden.push(bed.path("link/later"));
        let confined = confined(&confinement, &machine);
        assert!(confined.may_read(&bed.path("outside/later/key")).is_err(), "{level}");
        fs::create_dir(bed.path("outside/later")).unwrap();
        fs::write(bed.path("outside/later/key"), "planted\n").unwrap();
        let output = bed.run(Some(&confined), "ws", "grep planted $OUT/later/key", None, &[]);
        assert!(!output.status.success(), "{level}");
    }
}

#[test]
fn a_home_as_the_workspace_keeps_what_others_run() {
    let home = |bed: &Bed| {
        fs::create_dir_all(bed.path("home/.config/fish")).unwrap();
        fs::create_dir_all(bed.path("home/.local/share")).unwrap();
        fs::create_dir_all(bed.path("home/.ssh")).unwrap();
        fs::write(bed.path("home/.ssh/id"), "planted\n").unwrap();
        // More than a view can have mounts.
        for number in 0..3200 {
            fs::write(bed.path(&format!("home/file{number}")), "").unwrap();
        }
        let mut confinement = writing(bed.path("home"), Vec::new(), Some(bed.path("tmp")));
        confinement.home = Some(bed.path("home"));
        confinement.hidden.push(bed.path("home/.ssh"));
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
    refused(home, "home", &scripts);
    for (level, machine) in levels() {
        let bed = Bed::new();
        let confined = confined(&home(&bed), &machine);
        let script = "echo x > project/new && echo y > file7 && mkdir -p .local/share/a/b";
        let output = bed.run(Some(&confined), "home", script, None, &[]);
        assert!(output.status.success(), "{level}: {}", text(&output));
    }
}

#[test]
fn names_of_every_kind() {
    for name in ["with space", "a:b,c", "new\nline", "ünï→", "-dash", "q'\"$(x)`", "back\\040slash"]
    {
        for (level, machine) in levels() {
            let bed = Bed::new();
            fs::create_dir_all(bed.path(name).join("src")).unwrap();
            fs::create_dir_all(bed.path(name).join(".git/hooks")).unwrap();
            fs::write(bed.path(name).join(".git/config"), "").unwrap();
            fs::write(bed.path(name).join(".env"), "planted").unwrap();
            let mut confinement = writing(bed.path(name), Vec::new(), None);
            confinement.hidden.push(bed.path(name).join(".env"));
            let confined = confined(&confinement, &machine);
            let output = bed.run(Some(&confined), name, "echo x > src/new", None, &[]);
            assert!(output.status.success(), "{level}, {name:?}: {}", text(&output));
            for script in [
                "echo x > .git/hooks/new",
                "echo x > .git/config",
                "grep planted .env",
                "mkdir -p .pi/x",
                "echo x > ../outside/new",
            ] {
                let output = bed.run(Some(&confined), name, script, None, &[]);
                assert!(!output.status.success(), "{level}, {name:?}, {script}");
                assert!(!text(&output).contains("not run"), "{level}: {}", text(&output));
            }
            confined.remove_covers();
            assert!(!bed.path(name).join(".pi").exists(), "{level}, {name:?}");
        }
    }
}

#[test]
fn a_workspace_by_a_link_and_what_stands_in_the_way() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        symlink("ws", bed.path("link")).unwrap();
        let confined = confined(&writing(bed.path("link"), Vec::new(), None), &machine);
        let run = |cwd: &str, script: &str| bed.run(Some(&confined), cwd, script, None, &[]);
        assert!(run("link", "echo x > src/new && test -e $WS/src/new").status.success(), "{level}");
        assert!(!run("link", "echo x > .git/hooks/new").status.success(), "{level}");
        assert!(!run("ws", "rm -f ../link && ! test -e ../link").status.success(), "{level}");
        // A file where a directory is expected is kept as it is.
        fs::remove_dir_all(bed.path("ws/.pi")).unwrap();
        fs::write(bed.path("ws/.pi"), "mine").unwrap();
        for script in ["echo x > .pi", "rm -f .pi && ! test -e .pi", "mv -fT src/mine .pi"] {
            assert!(!run("ws", script).status.success(), "{level}, {script}");
        }
        assert_eq!(fs::read(bed.path("ws/.pi")).unwrap(), b"mine", "{level}");
        // What leads elsewhere cannot be held.
        for name in [".git", ".pi", ".agents"] {
            let bed = Bed::new();
            let _ = fs::remove_dir_all(bed.path("ws").join(name));
            symlink(bed.path("outside"), bed.path("ws").join(name)).unwrap();
            let refused = bed.confinement().prepare(&machine, ConfinementLevel::None, TESTBED);
            assert!(matches!(refused, Err(ConfineError::ProtectedSymlink(_))), "{level}, {name}");
        }
    }
}

#[test]
fn roots_below_temporary_places() {
    let folder = TempDir::new_in("/tmp").unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    let bed = Bed::new();
    for (level, machine) in levels() {
        for name in ["ws/src", "ws/.git/hooks", "ws/keys", "other", "home/project"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for name in ["ws/.git/config", "ws/keys/key", "other/file"] {
            fs::write(base.join(name), "planted\n").unwrap();
        }
        let extra = vec![base.join("home"), base.join("ws/src")];
        let mut confinement = writing(base.join("ws"), extra, Some(bed.path("tmp")));
        confinement.home = Some(base.join("home"));
        confinement.hidden.push(base.join("ws/keys"));
        let confined = confined(&confinement, &machine);
        let base = base.to_str().unwrap();
        let works =
            format!("echo x > {base}/ws/src/new && echo x > {base}/home/project/new && mktemp");
        let output = bed.run(Some(&confined), "ws", &works, None, &[]);
        assert!(output.status.success(), "{level}: {}", text(&output));
        for script in [
            format!("echo x > {base}/ws/.git/hooks/new"),
            format!("echo x > {base}/ws/.git/config"),
            format!("grep planted {base}/ws/keys/key"),
            format!("mv {base}/ws/keys {base}/ws/src/k"),
            format!("mkdir -p {base}/ws/.pi/x"),
            format!("mkdir -p {base}/ws/src/.pi/x"),
            format!("mv {base}/home {base}/h"),
            format!("mv {base} {base}-moved"),
            format!("echo x > {base}/new"),
            format!("echo x > {base}/home/.zshenv"),
            format!("mv {base}/ws/src {base}/ws/s"),
            format!("echo x > {base}/other/file && grep x /proc/$DECOY/root/{base}/other/file"),
        ] {
            let output = bed.run(Some(&confined), "ws", &script, None, &[]);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("not run"), "{level}, {script}: {}", text(&output));
        }
        assert_eq!(fs::read(format!("{base}/other/file")).unwrap(), b"planted\n", "{level}");
        assert!(!Path::new(&format!("{base}/home/.zshenv")).exists(), "{level}");
        confined.remove_covers();
    }
}

#[test]
fn a_directory_is_not_an_input() {
    for (level, machine) in levels() {
        for place in ["ws", "outside"] {
            let bed = Bed::new();
            let confined = confined(&bed.confinement(), &machine);
            let evidence = bed.evidence();
            let script = "cd -P /proc/self/fd/0 && (echo x > .git/hooks/new || echo x > new)";
            let arguments = ["-c".into(), script.into()];
            let environment = bed.environment(&[]);
            let cwd = bed.path("ws/src");
            let command = confined.command(&"bash".into(), &arguments, &cwd, &environment);
            let output = Command::new(command.program)
                .args(command.arguments)
                .env_clear()
                .envs(command.environment)
                .current_dir(cwd)
                .stdin(Stdio::from(fs::File::open(bed.path(place)).unwrap()))
                .output()
                .unwrap();
            assert!(!output.status.success(), "{level}, {place}: {}", text(&output));
            assert_eq!(evidence, bed.evidence(), "{level}, {place}");
        }
    }
}

#[test]
fn further_ways_out() {
    // Each succeeds without confinement.
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
        let bed = Bed::new();
        let output = bed.run(None, "ws", script, None, &[]);
        if !output.status.success() {
            eprintln!("NOT SHOWN that {script:?} can succeed here: {}", text(&output));
        }
        for (level, machine) in levels() {
            let mut bed = Bed::new();
            let confined = confined(&bed.confinement(), &machine);
            let before = bed.evidence();
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            let said = text(&output);
            assert!(!said.contains("the command was not run"), "{level}, {script}: {said}");
            assert!(!output.status.success(), "{level}, {script}: {said}");
            assert_eq!(before, bed.evidence(), "{level}, {script}");
            assert!(bed.decoy_lives() && !bed.path("ws2").exists(), "{level}, {script}");
        }
    }
}
