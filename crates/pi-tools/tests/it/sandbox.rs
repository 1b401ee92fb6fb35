//! Tools and commands of a host with a sandbox.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use pi_guard::confine::{
    Confined, ConfinementLevel, Denial, DenialTarget, Machine, Mode, explain_denial,
};
use pi_tools::{Executor, Host, Workspace, edit, find, grep, ls, read, write};
use serde_json::json;
use tempfile::TempDir;

use crate::bash::{run, settings};
use crate::call::{call, text};
use crate::env::{sandboxed_host, sandboxes};

struct SandboxedProject {
    _directory: TempDir,
    base: PathBuf,
    host: Host,
}

impl SandboxedProject {
    fn new(machine: &Machine) -> Self {
        Self::new_in(TempDir::new().unwrap(), machine)
    }

    fn new_in(directory: TempDir, machine: &Machine) -> Self {
        let base = directory.path().canonicalize().unwrap();
        for name in ["ws/.pi", "ws/src", "ws/vault/deep", "outside"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        let files = [
            ("ws/.pi/settings.json", "{}\n"),
            ("ws/src/a", "word a\n"),
            ("ws/vault/key", "word planted\n"),
            ("ws/vault/deep/key", "word planted\n"),
            ("ws/token", "word planted\n"),
            ("outside/f", "word outside\n"),
        ];
        for (name, content) in files {
            fs::write(base.join(name), content).unwrap();
        }
        symlink("../outside", base.join("ws/away")).unwrap();
        symlink("vault/key", base.join("ws/to-key")).unwrap();
        let hidden = ["ws/vault", "ws/token"].map(|name| base.join(name));
        let host = sandboxed_host(&base.join("ws"), machine, |wanted| wanted.hidden.extend(hidden));
        Self { _directory: directory, base, host }
    }

    fn workspace(&self) -> Arc<Workspace> {
        let host = Arc::new(self.host.clone());
        let workspace = Workspace::new(host, self.base.join("ws"), None);
        Arc::new(workspace.with_bash(settings()))
    }

    fn sandbox(&self) -> &Arc<Confined> {
        self.host.sandbox().unwrap()
    }
}

#[tokio::test]
async fn denied_writes_name_the_rule_and_the_path() {
    for machine in sandboxes() {
        let project = SandboxedProject::new(&machine);
        let (write, edit) = (write(project.workspace()), edit(project.workspace()));
        let base = project.base.display();
        let only = "only the workspace and the writable roots can be written";
        let cases = [
            ("../outside/f", format!("{only} ({base}/outside/f)")),
            ("away/f", format!("{only} ({base}/outside/f)")),
            ("away/new", format!("{only} ({base}/outside/new)")),
            ("away/made/new", format!("{only} ({base}/outside/made)")),
            (
                ".pi/settings.json",
                format!("{base}/ws/.pi is protected ({base}/ws/.pi/settings.json)"),
            ),
            (".git/hooks/x", format!("{base}/ws/.git is protected ({base}/ws/.git/hooks)")),
            ("vault/key", format!("this path is hidden ({base}/ws/vault/key)")),
            ("to-key", format!("this path is hidden ({base}/ws/vault/key)")),
        ];
        for (path, rule) in cases {
            let answer = text(&call(&write, &json!({ "path": path, "content": "x" })).await);
            assert!(answer.starts_with("error: EACCES: permission denied, "), "{answer}");
            assert!(answer.ends_with(&rule), "{path}: {answer}");
            let edits = json!([{ "oldText": "word", "newText": "x" }]);
            let answer = text(&call(&edit, &json!({ "path": path, "edits": edits })).await);
            assert!(answer.starts_with("error: "), "{answer}");
            if fs::metadata(project.base.join("ws").join(path)).is_ok() {
                assert!(
                    answer.contains(&format!("Error code: EACCES. Denied by the sandbox: {rule}.")),
                    "{answer}"
                );
            }
        }
        assert_eq!(fs::read(project.base.join("outside/f")).unwrap(), b"word outside\n");
        assert_eq!(fs::read_dir(project.base.join("outside")).unwrap().count(), 1);
        assert!(!project.base.join("ws/.git").exists(), "{}", machine.level());

        // Also next to a protected path, where commands cannot write with Landlock alone.
        for path in ["new", "src/deep/new", "src/a"] {
            let answer = text(&call(&write, &json!({ "path": path, "content": "x" })).await);
            assert_eq!(answer, format!("Successfully wrote to {path}"));
        }
        let error = project.host.replace(&project.base.join("outside/f"), b"x").await.unwrap_err();
        let denial = error.get_ref().unwrap().downcast_ref::<Denial>().unwrap();
        assert_eq!(denial.target, DenialTarget::Path(project.base.join("outside/f")));
    }
}

#[tokio::test]
async fn other_names_of_a_file_keep_the_old_content() {
    for machine in sandboxes() {
        let project = SandboxedProject::new(&machine);
        let (inside, outside) = (project.base.join("ws/src/f"), project.base.join("outside/f"));
        fs::hard_link(&outside, &inside).unwrap();
        let write = write(project.workspace());
        call(&write, &json!({ "path": "src/f", "content": "new\n" })).await.unwrap();
        assert_eq!(fs::read(&inside).unwrap(), b"new\n");
        assert_eq!(fs::read(&outside).unwrap(), b"word outside\n");
    }
}

#[tokio::test]
async fn hidden_paths_are_neither_read_nor_listed() {
    for machine in sandboxes() {
        let project = SandboxedProject::new(&machine);
        let workspace = project.workspace();
        let read = read(workspace.clone());
        for path in
            ["vault/key", "vault/deep/key", "token", "to-key", "vault/none", "/proc/self/environ"]
        {
            let answer = text(&call(&read, &json!({ "path": path })).await);
            assert!(answer.starts_with("error: "), "{path}: {answer}");
            if path != "vault/none" {
                assert!(
                    answer.contains("this path is hidden") || answer.contains("not accessible")
                );
            }
        }
        let answer = text(&call(&read, &json!({ "path": "away/f" })).await);
        assert_eq!(answer, "word outside\n", "the rest can be read");
        let answer = text(&call(&ls(workspace.clone()), &json!({ "path": "vault" })).await);
        assert!(answer.contains("this path is hidden"), "{answer}");
        let answer = text(&call(&ls(workspace.clone()), &json!({})).await);
        assert!(answer.contains("token\n") && answer.contains("vault/"), "{answer}");

        let grep = grep(workspace.clone());
        let answer = text(&call(&grep, &json!({ "pattern": "word" })).await);
        assert_eq!(answer, "src/a:1: word a\n\n[1 files or directories could not be read]");
        let above = json!({ "pattern": "word", "path": project.base.to_str().unwrap() });
        let answer = text(&call(&grep, &above).await);
        assert!(answer.contains("outside/f:1") && !answer.contains("planted"), "{answer}");
        for path in ["vault", "token", "to-key"] {
            let answer = text(&call(&grep, &json!({ "pattern": "word", "path": path })).await);
            assert!(answer.contains("this path is hidden"), "{answer}");
        }
        let answer = text(&call(&find(workspace.clone()), &json!({ "pattern": "*" })).await);
        assert!(answer.ends_with("src/a\nto-key\ntoken\nvault/"), "{answer}");
        // Commands see the same as the tools.
        let answer = run(&workspace, "cat vault/key token to-key; ls vault").await;
        assert!(!answer.contains("planted") && !answer.contains("deep"), "{answer}");
    }
}

#[tokio::test]
async fn unreadable_files_are_skipped_by_searches() {
    let directory = TempDir::new().unwrap();
    let base = directory.path().canonicalize().unwrap();
    fs::create_dir(base.join("d")).unwrap();
    for name in ["a", "d/.env", "d/b"] {
        fs::write(base.join(name), "word\n").unwrap();
    }
    symlink("d/.env", base.join("innocent")).unwrap();
    let plain = Workspace::new(Arc::new(Host::default()), base.clone(), None);
    let workspace = Arc::new(plain.with_unreadable(Arc::new(|path| path.ends_with("d/.env"))));
    let search = grep(workspace.clone());
    let answer = text(&call(&search, &json!({ "pattern": "word" })).await);
    let expected = "a:1: word\nd/b:1: word\n\n[1 files or directories could not be read]";
    assert_eq!(answer, expected);
    for path in ["d/.env", "innocent"] {
        let answer = text(&call(&search, &json!({ "pattern": "word", "path": path })).await);
        assert!(answer.ends_with("a policy rule forbids reading this file"), "{answer}");
    }
    let answer = text(&call(&find(workspace.clone()), &json!({ "pattern": ".env" })).await);
    assert_eq!(answer, "d/.env");
    let answer = text(&call(&ls(workspace), &json!({ "path": "d" })).await);
    assert_eq!(answer, ".env\nb");
}

#[tokio::test]
async fn denied_command_is_explained_and_has_no_secrets() {
    for machine in sandboxes() {
        // Commands may have a private `/tmp`, which hides other directories in it.
        let directory = TempDir::new_in("/var/tmp").unwrap();
        let project = SandboxedProject::new_in(directory, &machine);
        let mut bash = settings();
        bash.environment.insert("SOME_API_KEY".into(), "planted".into());
        let workspace = Workspace::clone(&project.workspace()).with_bash(bash);
        workspace.set_variables([("GITHUB_TOKEN".into(), "planted".into())]);
        let workspace = Arc::new(workspace);
        let answer = run(&workspace, "env; echo x > away/f").await;
        assert!(answer.contains("PATH=") && !answer.contains("planted"), "{answer}");
        let cwd = project.base.join("ws");
        let denial = explain_denial(project.sandbox(), &cwd, &answer).unwrap();
        let really = project.base.join("outside/f");
        assert_eq!(denial.target, DenialTarget::Path(really), "{}", machine.level());
        // The same command without a sandbox has the secrets.
        let free = Workspace::clone(&workspace).with_executor(Arc::new(Host::default()));
        assert!(run(&Arc::new(free), "env").await.contains("planted"));
    }
}

#[tokio::test]
async fn read_only_sandbox_refuses_writes_and_off_does_not() {
    for machine in sandboxes() {
        let project = SandboxedProject::new(&machine);
        let target = project.base.join("outside/f");
        let at = project.base.clone();
        let reader = sandboxed_host(&at, &machine, |wanted| wanted.mode = Mode::ReadOnly);
        let workspace = Workspace::clone(&project.workspace()).with_executor(Arc::new(reader));
        let tool = write(Arc::new(workspace));
        let answer = text(&call(&tool, &json!({ "path": "src/a", "content": "x" })).await);
        assert!(answer.contains("read-only"), "{answer}");

        let mode = Mode::Off;
        let off = pi_guard::confine::Confinement::new(mode, pi_guard::confine::Network::On);
        let off = off.prepare(&machine, ConfinementLevel::None, "/nowhere").unwrap();
        let host = project.host.clone().with_sandbox(Arc::new(off));
        host.replace(&target, b"x").await.unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"x");
    }
}
