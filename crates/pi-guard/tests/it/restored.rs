//! Protected files with Landlock alone: everything beside them can be written, and what a command
//! changed in them is undone when it has ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pi_guard::confine::{Confined, ConfinementLevel, Leftover};

use crate::env::{TestEnv, confined, levels, text};

/// Scripts that change protected files of the workspace. Each has an effect without a sandbox.
const CHANGES: &[&str] = &[
    "echo x > .git/config",
    "git config core.fsmonitor ./x",
    "mv .git/config src/c",
    "rm .git/config",
    "rm .git/config; ln -s ../src/mine .git/config",
    "rm .git/config; mkdir -p .git/config/x",
    "chmod 000 .git/config",
    "chmod 777 .git/config",
    "ln .git/config src/again",
    "ln -f src/mine .git/config",
    "$A exchange src/mine .git/config",
    "truncate -s 0 .git/config",
    "mkdir -p .git/config.disabled-by-pi/x; echo x > .git/config",
    "echo x > .git/config; chmod 555 .git",
    "echo x > .git/config; chmod 000 .git",
    "echo x > .git/hooks/new; chmod +x .git/hooks/new",
    "mkdir -p .git/hooks/a/b; echo x > .git/hooks/a/b/c; chmod 000 .git/hooks/a",
    "echo x > .git/hooks/old",
    "rm -r .git/hooks",
    "mv .git/hooks src/h; mkdir .git/hooks; echo x > .git/hooks/pre-push",
    "mv .git/hooks src/h; ln -s ../src/h .git/hooks",
    "chmod 311 .git/hooks; echo x > .git/hooks/new",
    "mkfifo .git/hooks/pipe",
    "ln -s ../../src .git/hooks/link",
    "mv .git src/g; cp -r src/g .git; echo x > .git/config",
    "mv .git src/g; ln -s src/g .git; echo x > .git/config",
    "mv .git src/g; echo gitdir: src/g > .git",
    "rm -r .git",
    "rm -r .pi",
    "echo x > .pi/settings.json",
    "mkdir -p .pi/extensions/evil; echo x > .pi/extensions/evil/index.js",
    "chmod 000 .pi",
    "rm -r .pi; ln -s src .pi",
    "mkdir -p .pi.disabled-by-pi/x .pi.disabled-by-pi-2; echo x > .pi/new",
    "mkdir -p .agents/skills/evil; echo x > .agents/skills/evil/SKILL.md",
    "ln -s src .agents",
    "echo x > .agents",
    "echo x > lead/included",
    "echo x > lead/hooks/pre-commit",
    "rm -r lead",
    "mv lead l; mkdir lead; echo x > lead/included",
    "echo x > .git/modules/sub/config",
    "mv .git/modules .git/m",
    "echo ../../../src > .git/worktrees/tree/commondir",
    "echo x > own/file",
    "rm -r own; mkdir own",
    "(BACKGROUND & echo x > .git/config); echo y > .pi/settings.json",
];

fn prepare() -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.path("ws/own")).unwrap();
    fs::write(env.path("ws/own/file"), "mine\n").unwrap();
    env
}

fn landlock(env: &TestEnv) -> Option<Confined> {
    let (_, machine) =
        levels().into_iter().find(|(level, _)| *level == ConfinementLevel::Landlock)?;
    let mut confinement = env.confinement();
    confinement.protected.push(env.path("ws/own"));
    Some(confined(&confinement, &machine))
}

/// The protected files and what they contain. The moved away ones have other names.
fn protected(env: &TestEnv) -> BTreeMap<PathBuf, String> {
    let mut state = env.evidence();
    let is_protected = |path: &PathBuf| {
        !path.ends_with("HEAD") && !path.to_string_lossy().contains(".disabled-by-pi")
    };
    state.retain(|path, _| is_protected(path));
    state.insert(
        env.path("ws/own/file"),
        fs::read_to_string(env.path("ws/own/file")).unwrap_or_default(),
    );
    state
}

fn run(env: &TestEnv, confined: &Confined, script: &str) -> Vec<Leftover> {
    confined.record_repositories();
    let output = env.run(Some(confined), "ws", script);
    assert!(!text(&output).contains("not run"), "{script}: {}", text(&output));
    confined.disable_leftovers(false)
}

#[test]
fn changes_of_protected_files_are_undone() {
    for script in CHANGES {
        let env = prepare();
        let before = protected(&env);
        env.run(None, "ws", &script.replace("BACKGROUND & ", ""));
        assert!(protected(&env) != before, "{script}: it has no effect without the sandbox");

        let env = prepare();
        let Some(confined) = landlock(&env) else { return };
        let before = protected(&env);
        // A process that outlives its command must not keep the output open, which the test awaits.
        let script = script.replace("BACKGROUND", "sleep 9 > /dev/null 2>&1");
        let left = run(&env, &confined, &script);
        assert!(!left.is_empty(), "{script}");
        assert!(left.iter().all(|left| !left.is_dangerous()), "{script}: {left:?}");
        // The mode of a directory above is not protected, and a work tree may be removed.
        env.run(None, "ws", "chmod u+rwx .git");
        let after = protected(&env);
        let mut before = before.clone();
        before.retain(|path, _| {
            after.contains_key(path) || !path.to_string_lossy().contains("worktrees")
        });
        assert_eq!(after, before, "{script}: {left:?}");
        // Nothing is lost.
        for new in left.iter().filter_map(|left| left.renamed_to.as_ref()) {
            assert!(new.symlink_metadata().is_ok(), "{script}: {new:?}");
        }
        assert_eq!(run(&env, &confined, "true"), [], "{script}");
    }
}

#[test]
fn everything_beside_protected_files_can_be_written() {
    let env = prepare();
    let Some(confined) = landlock(&env) else { return };
    let script = "echo x > new && mkdir -p a/b && mv new a/ && sed -i s/mine/yours/ src/mine && \
        echo x > .git/index && echo x > lead/new && echo x > .git/modules/sub/index";
    confined.record_repositories();
    let output = env.run(Some(&confined), "ws", script);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(confined.disable_leftovers(false), []);
    // Without an examination, nothing is granted that would need it.
    let output = env.run(Some(&confined), "ws", "echo x > second");
    assert!(!output.status.success());
    let output = env.run(Some(&confined), "ws", "echo x > .git/config");
    assert!(!output.status.success());
}

/// What the user changes between two commands stays; what a background process changes does not.
#[test]
fn changes_of_the_user_between_commands_stay() {
    let env = prepare();
    let Some(confined) = landlock(&env) else { return };
    assert_eq!(run(&env, &confined, "true"), []);
    fs::write(env.path("ws/.pi/settings.json"), "{\"mine\": true}\n").unwrap();
    fs::write(env.path("ws/.git/hooks/mine"), "mine\n").unwrap();
    let before = protected(&env);
    assert_eq!(run(&env, &confined, "true"), []);
    assert_eq!(run(&env, &confined, "echo x > .pi/settings.json; rm .git/hooks/mine").len(), 2);
    assert_eq!(protected(&env), before);
    // Two commands at the same time: the second does not take the changes of the first for granted.
    confined.record_repositories();
    env.run(Some(&confined), "ws", "echo x > .git/config");
    confined.record_repositories();
    env.run(Some(&confined), "ws", "true");
    assert_eq!(confined.disable_leftovers(false).len(), 1);
    assert_eq!(confined.disable_leftovers(false), []);
    assert_eq!(protected(&env), before);
}

/// Files that programs outside of the sandbox run meanwhile, and too large ones, are not writable at
/// any time.
#[test]
fn sealed_and_large_paths_stay_read_only() {
    let (_, machine) = match levels().pop() {
        Some(found) if found.0 == ConfinementLevel::Landlock => found,
        _ => return,
    };
    let large = |env: &TestEnv| -> PathBuf {
        fs::create_dir(env.path("ws/large")).unwrap();
        for number in 0..5_000 {
            fs::write(env.path(&format!("ws/large/{number}")), "").unwrap();
        }
        env.path("ws/large")
    };
    let cases: [(&str, &dyn Fn(&TestEnv) -> (Vec<PathBuf>, Vec<PathBuf>), &str); 2] = [
        ("sealed", &|env| (Vec::new(), vec![env.path("ws/own")]), "own/file"),
        ("large", &|env| (vec![large(env)], Vec::new()), "large/7"),
    ];
    for (name, make, file) in cases {
        let env = prepare();
        let mut confinement = env.confinement();
        let (protected, sealed) = make(&env);
        confinement.protected.extend(protected);
        confinement.sealed.extend(sealed);
        let confined = confined(&confinement, &machine);
        for script in [format!("echo x > {file}"), format!("mv {} src/", first(file))] {
            confined.record_repositories();
            let output = env.run(Some(&confined), "ws", &script);
            assert!(!output.status.success(), "{name}: {script}");
            assert_eq!(confined.disable_leftovers(false), [], "{name}");
        }
    }
}

fn first(path: &str) -> &str {
    Path::new(path).iter().next().and_then(|name| name.to_str()).unwrap()
}
