//! Order, limits and cancellation of `grep`, `find` and `ls`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::{AgentTool, FnTool};
use pi_protocol::CancelToken;
use pi_tools::checkpoint::{Checkpoints, Limits};
use pi_tools::{
    BoxFuture, Command, DirectoryEntry, Executor, Host, Process, Stat, Workspace, find, grep, ls,
    toolset,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::recorded_search::{call, text};

fn workspace(directory: &Path) -> Arc<Workspace> {
    Arc::new(Workspace::new(Arc::new(Host::default()), directory.to_owned(), None))
}

fn tree(paths: &[&str]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for path in paths {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "hit\nhit\n").unwrap();
    }
    directory
}

async fn lines(tool: &FnTool, arguments: Value) -> Vec<String> {
    let output = call(tool, arguments, CancelToken::new()).await.unwrap();
    text(&output).split('\n').map(str::to_owned).collect()
}

#[tokio::test]
async fn results_are_sorted_by_path_with_git_last() {
    let directory =
        tree(&["b.txt", "b/z.txt", "B.txt", ".git/HEAD", "b/.git/x", "a.txt", "b/c/d.txt"]);
    let workspace = workspace(directory.path());
    assert_eq!(
        lines(&find(Arc::clone(&workspace)), json!({ "pattern": "*" })).await,
        [
            "B.txt",
            "a.txt",
            "b/",
            "b/c/",
            "b/c/d.txt",
            "b/z.txt",
            "b/.git/",
            "b/.git/x",
            "b.txt",
            ".git/",
            ".git/HEAD",
        ]
    );
    assert_eq!(
        lines(&grep(workspace), json!({ "pattern": "hit", "glob": "b/**" })).await,
        [
            "b/c/d.txt:1: hit",
            "b/c/d.txt:2: hit",
            "b/z.txt:1: hit",
            "b/z.txt:2: hit",
            "b/.git/x:1: hit",
            "b/.git/x:2: hit",
        ]
    );
}

#[tokio::test]
async fn limit_keeps_the_first_results() {
    let names: Vec<String> =
        (0..40).flat_map(|a| (0..10).map(move |b| format!("d{a:02}/f{b}.txt"))).collect();
    let directory = tree(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let workspace = workspace(directory.path());
    let (grep, find) = (grep(Arc::clone(&workspace)), find(workspace));
    for limit in [1, 3, 15, 200, 399] {
        let found = lines(&find, json!({ "pattern": "*.txt", "limit": limit })).await;
        assert_eq!(found[..limit], names[..limit]);
        assert!(found[limit + 1].starts_with(&format!("[{limit} results limit reached")));
        let found = lines(&grep, json!({ "pattern": "hit", "limit": limit })).await;
        let expected: Vec<String> = names
            .iter()
            .flat_map(|name| (1..=2).map(move |line| format!("{name}:{line}: hit")))
            .take(limit)
            .collect();
        assert_eq!(found[..limit], expected);
        assert_eq!(found.len(), limit + 2);
    }
}

/// After the entries that are visited in order, several threads continue; the results are the same.
#[tokio::test]
async fn large_tree_is_searched_like_a_small_one() {
    let directory = TempDir::new().unwrap();
    let mut names = Vec::new();
    for outer in 0..10 {
        for inner in [".git", "a", "a.d", "z"] {
            let below = directory.path().join(format!("d{outer}/{inner}"));
            fs::create_dir_all(&below).unwrap();
            for file in 0..100 {
                let name = format!("d{outer}/{inner}/f{file:02}");
                let text = if file % 10 == 0 { "hit\n" } else { "" };
                fs::write(directory.path().join(&name), text).unwrap();
                names.push(name);
            }
        }
    }
    let git_last = |name: &String| (name[..2].to_owned(), name.contains(".git"));
    names.sort_by_cached_key(|name| (git_last(name), name.replace('/', "\0")));
    let hits: Vec<String> = names
        .iter()
        .filter(|name| name.ends_with('0'))
        .map(|name| format!("{name}:1: hit"))
        .collect();
    let workspace = workspace(directory.path());
    let (grep, find) = (grep(Arc::clone(&workspace)), find(workspace));
    // Below, at and above the number of entries that are visited in order, and all of them.
    for limit in [100, 1949, 1951, 1960, 2500, 3999, 5000] {
        let found = lines(&find, json!({ "pattern": "f*", "limit": limit })).await;
        let shown = limit.min(names.len());
        assert_eq!(found[..shown], names[..shown], "{limit}");
        let found = lines(&grep, json!({ "pattern": "hit", "limit": limit / 10 })).await;
        let shown = (limit / 10).min(hits.len());
        assert_eq!(found[..shown], hits[..shown], "{limit}");
        let is_cut = found.last().unwrap().contains("limit reached");
        assert_eq!((found.len(), is_cut), (shown + if is_cut { 2 } else { 0 }, limit < 4000));
    }
}

#[tokio::test]
async fn canceled_search_is_aborted() {
    let directory = tree(&["a.txt"]);
    let workspace = workspace(directory.path());
    let cancelled = CancelToken::new();
    cancelled.cancel();
    for tool in [grep(Arc::clone(&workspace)), find(Arc::clone(&workspace)), ls(workspace)] {
        let result = call(&tool, json!({ "pattern": "a*" }), cancelled.clone()).await;
        let name = &tool.declaration().name;
        assert_eq!(result.unwrap_err().to_string(), "Operation aborted", "{name}");
    }
}

/// Cancels the search of a long file with an expensive pattern once the file is open.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn running_search_can_be_canceled() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().canonicalize().unwrap().join("long");
    fs::write(&file, "some words and some more of them\n".repeat(1 << 19)).unwrap();
    let grep = grep(workspace(directory.path()));
    let cancel = CancelToken::new();
    let watcher = {
        let cancel = cancel.clone();
        let is_open = move || {
            let open = fs::read_dir("/proc/self/fd").unwrap();
            open.filter_map(Result::ok)
                .any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == file))
        };
        std::thread::spawn(move || {
            while !is_open() {
                std::thread::yield_now();
            }
            cancel.cancel();
        })
    };
    let arguments = json!({ "pattern": "(?:\\w{1,10}\\W){9}\\d", "path": "long" });
    let result = call(&grep, arguments, cancel).await;
    watcher.join().unwrap();
    assert_eq!(result.unwrap_err().to_string(), "Operation aborted");
}

/// An executor with files that this process cannot reach.
#[derive(Debug, Default)]
struct RemoteHost(Host);

impl Executor for RemoteHost {
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>> {
        self.0.stat(path)
    }

    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        self.0.read(path, limit)
    }

    fn replace<'a>(&'a self, _: &'a Path, _: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::Error::other("not needed")) })
    }

    fn create_directory<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::Error::other("not needed")) })
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>> {
        self.0.list(path)
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>> {
        self.0.canonical(path)
    }

    fn check_writable<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::Error::other("not needed")) })
    }

    fn spawn<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        Box::pin(async { Err(io::Error::other("not needed")) })
    }

    fn host_path(&self, _: &Path) -> Option<PathBuf> {
        None
    }
}

/// The default methods of an executor are sufficient for searches.
#[tokio::test]
async fn unreachable_files_are_searched_like_local_ones() {
    let directory = tree(&["a.txt", "b/c.txt", "b/ignored/d.txt", "b/e.txt", ".git/HEAD"]);
    fs::write(directory.path().join(".gitignore"), "ignored\n").unwrap();
    let workspace = |executor: Arc<dyn Executor>| {
        Arc::new(Workspace::new(executor, directory.path().to_owned(), None))
    };
    let here = workspace(Arc::new(Host::default()));
    let remote = workspace(Arc::new(RemoteHost::default()));
    for (tool, arguments) in [
        (ls as fn(Arc<Workspace>) -> FnTool, json!({})),
        (find, json!({ "pattern": "*.txt" })),
        (find, json!({ "pattern": "b/*.txt", "path": "b" })),
        (grep, json!({ "pattern": "hit", "glob": "b/*.txt" })),
        (grep, json!({ "pattern": "hit", "path": "b" })),
        (grep, json!({ "pattern": "hit", "path": "b/ignored/d.txt" })),
    ] {
        let expected = lines(&tool(Arc::clone(&here)), arguments.clone()).await;
        let found = lines(&tool(Arc::clone(&remote)), arguments.clone()).await;
        assert_eq!(found, expected, "{arguments}");
        assert!(found.len() > 1, "{arguments}");
    }
    let store = TempDir::new().unwrap();
    let refused = Checkpoints::of(store.path(), &remote, Limits::default()).unwrap_err();
    let expected = format!(
        "checkpoints are not supported for {}: it is on another machine or in a container",
        directory.path().display()
    );
    assert_eq!(refused.to_string(), expected);
    Checkpoints::of(store.path(), &here, Limits::default()).unwrap();
}

/// A pipe does not end until all writers close it.
#[cfg(unix)]
#[tokio::test]
async fn pipes_are_not_searched() {
    let directory = tree(&["a.txt"]);
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let grep = grep(workspace(directory.path()));
    let all = lines(&grep, json!({ "pattern": "hit", "limit": 9 })).await;
    assert_eq!(all, ["a.txt:1: hit", "a.txt:2: hit"]);
    let named = call(&grep, json!({ "pattern": "hit", "path": "pipe" }), CancelToken::new()).await;
    let expected = format!("Not a file or directory: {}", pipe.display());
    assert_eq!(named.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn utf16_is_searched_with_context() {
    let directory = TempDir::new().unwrap();
    let bytes: Vec<u8> =
        "\u{feff}one\nneedle\nthree\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(directory.path().join("f"), bytes).unwrap();
    let grep = grep(workspace(directory.path()));
    let found = lines(&grep, json!({ "pattern": "needle", "context": 1 })).await;
    assert_eq!(found, ["f-1- one", "f:2: needle", "f-3- three"]);
}

/// A line of gigabytes is an error, not a result.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn too_long_lines_are_not_searched() {
    let directory = tree(&["a.txt"]);
    // A sparse file, which takes no space on the disk.
    let file = fs::File::create(directory.path().join("zeros")).unwrap();
    file.set_len(1 << 40).unwrap();
    let grep = grep(workspace(directory.path()));
    let named = call(&grep, json!({ "pattern": "x", "path": "zeros" }), CancelToken::new()).await;
    let error = named.err().unwrap().to_string();
    assert!(error.starts_with("Cannot search") && error.contains("limit"), "{error}");
    let all = lines(&grep, json!({ "pattern": "hit" })).await;
    assert_eq!(all, ["a.txt:1: hit", "a.txt:2: hit"]);
}

#[test]
fn searches_are_read_only() {
    let directory = TempDir::new().unwrap();
    let arguments =
        serde_json::Map::from_iter([("path".into(), ".".into()), ("pattern".into(), "x".into())]);
    let mut tools = toolset::all(&workspace(directory.path()));
    tools.retain(|tool| tool.effects(&arguments).is_read_only());
    let names: Vec<&str> = tools.iter().map(|tool| tool.declaration().name.as_str()).collect();
    assert_eq!(names, ["read", "grep", "find", "ls"]);
    let grep = &tools[1].declaration().parameters;
    let parameters: Vec<&String> = grep["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        parameters,
        ["pattern", "path", "glob", "ignoreCase", "literal", "context", "limit"]
    );
    assert_eq!(grep["required"], json!(["pattern"]));
}
