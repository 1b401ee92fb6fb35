//! Specifications of executors, and connecting to them.

use std::path::{Path, PathBuf};

use pi_tools::{BaseEnvironment, ConnectOptions, ExecutorSpec, Host, connect};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::env::{Container, RemoteSpec, Sshd};

fn ssh(host: &str, directory: Option<&str>) -> ExecutorSpec {
    let mut spec: ExecutorSpec = "ssh:x".parse().unwrap();
    if let ExecutorSpec::Ssh { host: parsed, directory: parsed_directory, .. } = &mut spec {
        *parsed = host.to_owned();
        *parsed_directory = directory.map(str::to_owned);
    }
    spec
}

#[test]
fn specifications_are_parsed() {
    let cases = [
        ("ssh:box", ssh("box", None)),
        ("ssh:box:/srv/app", ssh("box", Some("/srv/app"))),
        ("ssh:user@host.example:app", ssh("user@host.example", Some("app"))),
        ("ssh:box:~/a:b c", ssh("box", Some("~/a:b c"))),
        ("ssh:[::1]", ssh("::1", None)),
        ("ssh:[::1]:/dir", ssh("::1", Some("/dir"))),
        ("ssh:user@[fe80::1%eth0]:[x]", ssh("user@fe80::1%eth0", Some("[x]"))),
        ("ssh:box:/a@[b]", ssh("box", Some("/a@[b]"))),
    ];
    for (text, spec) in cases {
        assert_eq!(text.parse(), Ok(spec.clone()), "{text}");
        assert_eq!(spec.to_string(), text);
    }
    assert_eq!("local".parse(), Ok(ExecutorSpec::Local));
    for text in ["docker:web", "docker:web:/app", "podman:0a1b2c:/app/x:y"] {
        let spec: ExecutorSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), text);
    }
}

#[test]
fn errors_name_the_expected_forms() {
    let invalid = [
        "",
        "locale",
        "local:",
        "ssh",
        "ssh:",
        "ssh::/dir",
        "ssh:box:",
        "ssh:-oProxyCommand=x",
        "ssh:user@",
        "ssh:@box",
        "ssh:a b",
        "ssh:[::1",
        "ssh:[::1]dir",
        "ssh:[]",
        "ssh:@[::1]",
        "docker:",
        "docker:-it",
        "docker:web:",
        "podman::",
        "SSH:box",
        "tcp:box",
    ];
    for text in invalid {
        let error = text.parse::<ExecutorSpec>().unwrap_err().to_string();
        let expected =
            "expected local, ssh:[USER@]HOST[:DIR], docker:NAME[:DIR] or podman:NAME[:DIR]";
        assert!(error.starts_with(&format!("invalid executor {text:?}: ")), "{error}");
        assert!(error.ends_with(expected), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_specifications_are_parsed_again(
        kind in 0..3_usize,
        user in prop::option::of("[a-z][a-z0-9._-]{0,6}"),
        name in "[a-z0-9][a-zA-Z0-9._-]{0,9}|[0-9a-f]{0,4}::[0-9a-f]{1,4}(%[a-z0-9]{1,4})?",
        directory in prop::option::of("[^\0]{1,12}"),
    ) {
        // An address is only a host, never the name of a container.
        prop_assume!(kind == 0 || !name.contains(':'));
        let host = user.iter().fold(name.clone(), |name, user| format!("{user}@{name}"));
        let directory_text = directory.iter().fold(String::new(), |_, text| format!(":{text}"));
        let text = match kind {
            0 if name.contains(':') => {
                let user = user.iter().fold(String::new(), |_, user| format!("{user}@"));
                format!("ssh:{user}[{name}]{directory_text}")
            }
            0 => format!("ssh:{host}{directory_text}"),
            1 => format!("docker:{name}{directory_text}"),
            _ => format!("podman:{name}{directory_text}"),
        };
        let spec: ExecutorSpec = text.parse().unwrap();
        if kind == 0 {
            prop_assert_eq!(&spec, &ssh(&host, directory.as_deref()));
        }
        prop_assert_eq!(spec.to_string(), text);
    }

    #[test]
    fn any_text_is_refused_or_printed_as_it_was_understood(
        text in "(ssh:|docker:|podman:)?[a@:\\[\\]/ ~.-]{0,12}|\\PC{0,12}",
    ) {
        if let Ok(spec) = text.parse::<ExecutorSpec>() {
            prop_assert_eq!(spec.to_string().parse::<ExecutorSpec>(), Ok(spec));
        }
    }
}

#[tokio::test]
async fn local_executor_is_the_host() {
    let mut options = ConnectOptions::new(Host::default(), "/work");
    options.home = Some("/home/user".into());
    let connected = connect(&ExecutorSpec::Local, options).await.unwrap();
    assert_eq!(connected.cwd, Path::new("/work"));
    assert_eq!(connected.home.as_deref(), Some(Path::new("/home/user")));
    assert_eq!(connected.base_environment, BaseEnvironment::Empty);
    assert!(connected.executor.host_path(Path::new("/x")).is_some());
}

#[tokio::test]
async fn directories_are_found_over_ssh_and_in_a_container() {
    let (sshd, directory) = (Sshd::start().await, TempDir::new().unwrap());
    let container = Container::start(directory.path()).await;
    std::fs::create_dir(directory.path().join("inner")).unwrap();
    let here = directory.path().canonicalize().unwrap();
    let cases = [
        (format!("ssh:box:{}", here.display()), sshd.remote().environment, here.join("")),
        ("ssh:box:/".to_owned(), sshd.remote().environment, PathBuf::from("/")),
        (
            format!("docker:box:{}/inner", container.directory.display()),
            container.remote().environment,
            container.directory.join("inner"),
        ),
        (
            format!("podman:box:{}", container.directory.display()),
            container.remote().environment,
            container.directory.clone(),
        ),
    ];
    for (spec, environment, cwd) in cases {
        let connected = RemoteSpec { spec: spec.clone(), environment }.connect().await.unwrap();
        assert_eq!(connected.cwd, cwd, "{spec}");
        assert_eq!(connected.base_environment, BaseEnvironment::Executor);
        let stat = connected.executor.stat(&connected.cwd).await.unwrap();
        assert_eq!(stat.kind, pi_tools::FileKind::Directory, "{spec}");
    }
    let home = RemoteSpec { spec: "ssh:box:~".to_owned(), ..sshd.remote() };
    let connected = home.connect().await.unwrap();
    assert_eq!(Some(&connected.cwd), connected.home.as_ref());
    let start = sshd.remote().connect().await.unwrap();
    assert!(start.cwd.is_absolute());
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let (sshd, directory) = (Sshd::start().await, TempDir::new().unwrap());
    let container = Container::start(directory.path()).await;
    let error = async |spec: &str, environment| {
        let remote = RemoteSpec { spec: spec.to_owned(), environment };
        remote.connect().await.unwrap_err().to_string()
    };
    let environment = sshd.remote().environment;
    assert_eq!(
        error("ssh:box:/nowhere", environment.clone()).await,
        "cannot use the directory of ssh:box:/nowhere: No such file or directory (os error 2). \
         Create it there, or name another one."
    );
    assert_eq!(
        error("ssh:box", [("PATH".into(), "/nowhere".into())].into()).await,
        "cannot connect to ssh:box: ssh was not found. Install ssh, or add its directory to PATH."
    );
    let stopped = error("docker:stopped", container.remote().environment).await;
    assert_eq!(
        stopped,
        "cannot connect to docker:stopped: engine: no such container. \
         Check that `docker exec stopped true` succeeds."
    );
    // There is no prompt: a machine that wants a password is an error.
    sshd.use_options("-o PubkeyAuthentication=no");
    let refused = error("ssh:box", environment).await;
    assert!(refused.contains("Permission denied"), "{refused}");
    let hint = " Check that `ssh -o BatchMode=yes box true` succeeds.";
    assert!(refused.ends_with(hint), "{refused}");
}
