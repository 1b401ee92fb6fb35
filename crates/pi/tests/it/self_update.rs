//! The install script, and `pi update`: a program from an archive is replaced by a signed release of a
//! local server.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};

use crate::test_env::TestEnv;

/// A program that says that it is a newer pi.
const NEW: &[u8] = b"#!/bin/sh\necho 99.0.0\n";

/// A release on a server.
struct Release {
    files: BTreeMap<String, Vec<u8>>,
    key: Ed25519KeyPair,
}

impl Release {
    fn new(version: &str, program: &[u8]) -> Self {
        let name = format!("pi-{version}-{}-unknown-linux-musl", std::env::consts::ARCH);
        let archive = archive(&format!("{name}/pi"), program);
        let sums = format!("{}  {name}.tar.gz\n", hex(&Sha256::digest(&archive)));
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let mut files = BTreeMap::from([(format!("{name}.tar.gz"), archive)]);
        files.insert("SHA256SUMS.sig".to_owned(), sign(&key, sums.as_bytes()));
        files.insert("SHA256SUMS".to_owned(), sums.into_bytes());
        Self { files, key }
    }

    fn key(&self) -> String {
        STANDARD.encode(self.key.public_key())
    }

    /// Serves the files until the process ends. Returns the address.
    fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = self.files.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        break;
                    }
                    request.extend(byte);
                }
                let text = String::from_utf8_lossy(&request).into_owned();
                let name = text.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
                let (status, body) = match files.get(name) {
                    Some(body) => ("200 OK", body.as_slice()),
                    None => ("404 Not Found", &b"no"[..]),
                };
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all(&[head.as_bytes(), body].concat());
            }
        });
        address
    }
}

fn sign(key: &Ed25519KeyPair, bytes: &[u8]) -> Vec<u8> {
    STANDARD.encode(key.sign(bytes)).into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Packs a program at a path, with the manual and the completions beside it.
fn archive(path: &str, content: &[u8]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join(path);
    let beside = ["man/pi.1", "completions/pi.bash", "completions/pi.fish", "completions/_pi"];
    let files = beside.map(|name| (program.with_file_name(name), name.as_bytes()));
    for (file, content) in files.iter().cloned().chain([(program.clone(), content)]) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, content).unwrap();
    }
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let top = path.split('/').next().unwrap();
    let mut tar = Command::new("tar");
    let packed = tar.current_dir(directory.path()).args(["-czf", "-", top]).output().unwrap();
    assert!(packed.status.success());
    packed.stdout
}

/// A copy of the program in a directory of its own, as from an archive.
fn installed(env: &TestEnv) -> PathBuf {
    let program = env.project().join("bin/pi");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    // By another process: a file that this one has open for writing could be inherited by the child
    // of another test, and cannot be executed as long as that has it open.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_pi")).arg(&program).status().unwrap();
    assert!(copied.success());
    program
}

fn update(env: &TestEnv, program: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.arg("update").args(arguments).env_clear().current_dir(env.project());
    command.env("HOME", env.project()).env("PATH", "/usr/bin:/bin");
    command.envs(variables.iter().copied()).stdin(std::process::Stdio::null());
    command.output().unwrap()
}

#[test]
fn a_signed_release_replaces_the_program() {
    let (env, release) = (TestEnv::new(), Release::new("99.0.0", NEW));
    let (program, url, key) = (installed(&env), release.serve(), release.key());
    let variables = [("PI_RELEASES", url.as_str()), ("PI_RELEASE_KEY", key.as_str())];
    let output = update(&env, &program, &variables, &[]);
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success() && stdout.contains("to 99.0.0"), "{output:?}");
    assert_eq!(std::fs::read(&program).unwrap(), NEW);
    assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn the_running_version_is_not_replaced_by_the_same_or_an_older_one() {
    for version in [env!("CARGO_PKG_VERSION"), "0.0.1"] {
        let (env, release) = (TestEnv::new(), Release::new(version, NEW));
        let (program, url, key) = (installed(&env), release.serve(), release.key());
        let variables = [("PI_RELEASES", url.as_str()), ("PI_RELEASE_KEY", key.as_str())];
        let output = update(&env, &program, &variables, &["self"]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("is up to date"), "{output:?}");
        assert_ne!(std::fs::read(&program).unwrap(), NEW);
    }
}

#[test]
fn nothing_is_replaced_by_what_cannot_be_verified() {
    let broken: &[(&str, fn(&mut Release), &str)] = &[
        (
            "archive",
            |release| {
                let archive = release.files.values_mut().next_back().unwrap();
                archive.push(0);
            },
            "the checksum of pi-99.0.0-",
        ),
        (
            "signature",
            |release| {
                let other = Ed25519KeyPair::from_seed_unchecked(&[8; 32]).unwrap();
                let signed = sign(&other, &release.files["SHA256SUMS"]);
                release.files.insert("SHA256SUMS.sig".to_owned(), signed);
            },
            "the signature of http",
        ),
        ("no signature", |release| drop(release.files.remove("SHA256SUMS.sig")), "cannot download"),
        (
            "list",
            |release| release.files.get_mut("SHA256SUMS").unwrap().extend(b"x  y\n"),
            "the signature of http",
        ),
    ];
    for (name, damage, expected) in broken {
        let (env, mut release) = (TestEnv::new(), Release::new("99.0.0", NEW));
        damage(&mut release);
        let (program, url, key) = (installed(&env), release.serve(), release.key());
        let before = std::fs::metadata(&program).unwrap().modified().unwrap();
        let variables = [("PI_RELEASES", url.as_str()), ("PI_RELEASE_KEY", key.as_str())];
        let output = update(&env, &program, &variables, &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {stderr}");
        assert!(stderr.contains(expected) && stderr.contains("hint: "), "{name}: {stderr}");
        assert_eq!(std::fs::metadata(&program).unwrap().modified().unwrap(), before, "{name}");
    }
}

#[test]
fn a_program_that_does_not_start_is_taken_back() {
    let (env, release) = (TestEnv::new(), Release::new("99.0.0", b"#!/bin/sh\nexit 3\n"));
    let (program, url, key) = (installed(&env), release.serve(), release.key());
    let before = std::fs::read(&program).unwrap();
    let variables = [("PI_RELEASES", url.as_str()), ("PI_RELEASE_KEY", key.as_str())];
    let output = update(&env, &program, &variables, &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("does not start") && stderr.contains("the old one is back"),
        "{stderr}"
    );
    assert!(std::fs::read(&program).unwrap() == before);
}

#[test]
fn what_cannot_be_updated_says_what_to_do() {
    let env = TestEnv::new();
    let program = installed(&env);
    let closed = "http://127.0.0.1:1";
    let key = Release::new("99.0.0", NEW).key();
    let cases: [(&[(&str, &str)], i32, &str); 4] = [
        (&[], 7, "has no key of the releases"),
        (&[("PI_RELEASE_KEY", "short")], 1, "is not 32 bytes in base64"),
        (&[("PI_RELEASE_KEY", &key), ("PI_RELEASES", closed)], 1, "cannot download http://127"),
        (&[("PI_OFFLINE", "1"), ("PI_RELEASE_KEY", &key)], 1, "in offline mode"),
    ];
    for (variables, code, expected) in cases {
        let output = update(&env, &program, variables, &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(expected) && stderr.contains("hint: "), "{stderr}");
    }
    // The program of a checkout.
    let (code, stderr) = env.failure(&["update"]);
    assert_eq!(code, Some(7));
    assert!(stderr.contains("part of a checkout"), "{stderr}");
    // Packages are another matter.
    assert_eq!(env.out(&["update", "--extensions"]), "Updated packages\n");
}

/// Runs the install script with a home of its own.
fn install(env: &TestEnv, releases: &str) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/install.sh");
    let mut command = Command::new("sh");
    command.arg(script).env_clear().current_dir(env.project());
    command.env("HOME", env.project()).env("PATH", "/usr/bin:/bin").env("PI_RELEASES", releases);
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

#[test]
fn the_install_script_installs_what_has_the_right_checksum_and_nothing_else() {
    if !["curl", "wget"].iter().any(|name| Path::new("/usr/bin").join(name).exists()) {
        eprintln!("NOT TESTED: the install script, without curl and wget");
        return;
    }
    let (env, release) = (TestEnv::new(), Release::new("99.0.0", NEW));
    let program = env.project().join(".local/bin/pi");
    // No address is guessed; an unreachable one is named.
    let mut broken = Release::new("99.0.0", NEW);
    let name = broken.files.keys().find(|name| name.ends_with(".tar.gz")).unwrap().clone();
    broken.files.get_mut(&name).unwrap().push(0);
    let cases = [
        (String::new(), "set PI_RELEASES"),
        ("http://127.0.0.1:1".to_owned(), "cannot download http://127.0.0.1:1/SHA256SUMS"),
        (broken.serve(), "the checksum of"),
    ];
    for (releases, problem) in cases {
        let output = install(&env, &releases);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(problem), "{output:?}");
        assert!(!program.exists(), "{output:?}");
    }
    // Twice: a program that is there is replaced.
    for _ in 0..2 {
        let output = install(&env, &release.serve());
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("installed pi 99.0.0"), "{output:?}");
        assert_eq!(std::fs::read(&program).unwrap(), NEW);
        assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }
    assert!(env.project().join(".local/share/man/man1/pi.1").exists());
}
