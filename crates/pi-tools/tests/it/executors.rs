//! The contract of executors, tested on each of them.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use pi_tools::{Executor, FileKind, TreeEntry};

use crate::env::{TestEnv, sandboxes};

#[tokio::test]
async fn host_keeps_the_contract() {
    check_contract(&TestEnv::host()).await;
}

#[tokio::test]
async fn ssh_keeps_the_contract() {
    check_contract(&TestEnv::ssh().await).await;
}

#[tokio::test]
async fn container_keeps_the_contract() {
    check_contract(&TestEnv::container().await).await;
}

#[tokio::test]
async fn sandboxed_host_keeps_the_contract() {
    for machine in sandboxes() {
        check_contract(&TestEnv::sandboxed(&machine)).await;
    }
}

async fn check_contract(env: &TestEnv) {
    let directory = env.directory();
    let remote = env.remote_path(directory.path());
    names(&*env.executor, directory.path(), &remote).await;
    replacements(env, directory.path(), &remote).await;
    refusals(&*env.executor, directory.path(), &remote).await;
}

/// Names and contents may consist of any bytes.
async fn names(executor: &dyn Executor, local: &Path, remote: &Path) {
    let names: [&[u8]; 6] =
        [b"plain", b" a b ", b"line\nbreak\n", b"it's \"$HOME\" `x` \\", b"-n", b"\xff\xfe*"];
    let content: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for name in names {
        let path = remote.join(OsStr::from_bytes(name));
        executor.replace(&path, &content).await.unwrap();
        assert!(fs::read(local.join(OsStr::from_bytes(name))).unwrap() == content, "{path:?}");
        assert!(executor.read(&path, u64::MAX).await.unwrap() == content, "{path:?}");
        assert_eq!(executor.read(&path, 300).await.unwrap(), content[..300], "{path:?}");
        assert_eq!(executor.canonical(&path).await.unwrap(), path);
        executor.check_writable(&path).await.unwrap();
        let stat = executor.stat(&path).await.unwrap();
        assert_eq!((stat.kind, stat.size), (FileKind::File, 70_000));
        assert!(stat.modified.unwrap().elapsed().unwrap().as_secs() < 3600);
    }
    let inside = remote.join("d\n1/2/3");
    executor.create_directory(&inside).await.unwrap();
    executor.create_directory(&inside).await.unwrap();
    symlink("missing", local.join("link")).unwrap();
    let mut listed = executor.list(remote).await.unwrap();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(listed.len(), names.len() + 2);
    let kind = |name: &str| listed.iter().find(|entry| entry.name == name).unwrap().kind;
    assert_eq!(kind("line\nbreak\n"), FileKind::File);
    assert_eq!(kind("link"), FileKind::Link);
    assert_eq!(kind("d\n1"), FileKind::Directory);
    let tree = executor.tree(remote, 100).await.unwrap();
    assert_eq!(tree.len(), names.len() + 4);
    let deepest = TreeEntry { path: "d\n1/2/3".into(), kind: FileKind::Directory, readable: true };
    assert!(tree.contains(&deepest), "{tree:?}");
    let too_many = executor.tree(remote, 5).await.unwrap_err();
    assert_eq!(too_many.kind(), ErrorKind::FileTooLarge);
    let paths = ["plain", "missing", "line\nbreak\n"].map(|name| remote.join(name));
    let read = executor.read_many(&paths, 200_000).await.unwrap();
    assert!(read[0].as_ref().unwrap() == &content && read[2].as_ref().unwrap() == &content);
    assert_eq!(read[1].as_ref().unwrap_err().kind(), ErrorKind::NotFound);
    let too_much = executor.read_many(&paths, 100_000).await.unwrap_err();
    assert_eq!(too_much.kind(), ErrorKind::FileTooLarge);
}

/// A replacement keeps mode, links and other names of a file.
async fn replacements(env: &TestEnv, local: &Path, remote: &Path) {
    let executor = &*env.executor;
    fs::write(local.join("f"), "old").unwrap();
    fs::set_permissions(local.join("f"), fs::Permissions::from_mode(0o751)).unwrap();
    symlink("f", local.join("to f")).unwrap();
    executor.replace(&remote.join("to f"), b"new").await.unwrap();
    assert_eq!(fs::read(local.join("f")).unwrap(), b"new");
    assert_eq!(fs::metadata(local.join("f")).unwrap().mode() & 0o7777, 0o751);
    assert!(local.join("to f").is_symlink());

    fs::hard_link(local.join("f"), local.join("f too")).unwrap();
    executor.replace(&remote.join("f"), b"newer").await.unwrap();
    let other: &[u8] = if env.keeps_names { b"newer" } else { b"new" };
    assert_eq!(fs::read(local.join("f too")).unwrap(), other);

    // The dangling link was created by `names`.
    executor.replace(&remote.join("link"), b"").await.unwrap();
    assert_eq!(fs::read(local.join("missing")).unwrap(), b"");
    let left = fs::read_dir(local).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.as_bytes().starts_with(b".pi-write-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

async fn refusals(executor: &dyn Executor, local: &Path, remote: &Path) {
    symlink("loop", local.join("loop")).unwrap();
    let long = "x".repeat(256);
    let path = |name: &str| remote.join(name);
    let reading = [
        ("none", ErrorKind::NotFound),
        ("f/below", ErrorKind::NotADirectory),
        (&long, ErrorKind::InvalidFilename),
        ("d\n1", ErrorKind::IsADirectory),
    ];
    for (name, expected) in reading {
        let error = executor.read(&path(name), u64::MAX).await.unwrap_err();
        assert_eq!(error.kind(), expected, "read {name}");
        let error = executor.check_writable(&path(name)).await.unwrap_err();
        assert_eq!(error.kind(), expected, "check {name}");
    }
    assert_eq!(executor.stat(&path("loop")).await.unwrap_err().raw_os_error(), Some(40));
    let canonical = executor.canonical(&path("none")).await.unwrap_err();
    assert_eq!(canonical.kind(), ErrorKind::NotFound);
    let writing = [
        ("none/f", ErrorKind::NotFound),
        ("f/below", ErrorKind::NotADirectory),
        (&long, ErrorKind::InvalidFilename),
        ("d\n1", ErrorKind::IsADirectory),
    ];
    for (name, expected) in writing {
        let error = executor.replace(&path(name), b"x").await.unwrap_err();
        assert_eq!(error.kind(), expected, "replace {name}");
    }
    let creating = [("f", ErrorKind::AlreadyExists), ("f/below", ErrorKind::NotADirectory)];
    for (name, expected) in creating {
        let error = executor.create_directory(&path(name)).await.unwrap_err();
        assert_eq!(error.kind(), expected, "create {name}");
    }
    assert_eq!(executor.list(&path("f")).await.unwrap_err().kind(), ErrorKind::NotADirectory);
}
