//! `cargo xtask interop packages [--dir PATH] [--binary PATH]`: packages of a real registry server.
//!
//! verdaccio is started without a way to other registries. npm publishes two packages there, and
//! `pi` installs, lists, checks and removes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::{Server, free_port, tail};
use super::table::Table;
use super::{InteropError, comparison};
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "packages";

const VERDACCIO: &str = "verdaccio/node_modules/verdaccio/bin/verdaccio";
const INSTALL: &str = "npm install --prefix verdaccio verdaccio";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut binary) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| usage(argument));
        match *argument {
            "--dir" => directory = Some(PathBuf::from(value()?)),
            "--binary" => binary = Some(PathBuf::from(value()?)),
            other => return Err(usage(other)),
        }
    }
    let directory = directory.or_else(super::default_directory).ok_or(InteropError::NoDirectory)?;
    let directory = std::path::absolute(directory).map_err(io("find the directory"))?;
    let mut table = Table::default();
    if !directory.join(VERDACCIO).exists() {
        table.skip(KIND, &format!("verdaccio is missing; to install: {INSTALL}"));
        table.print();
        return Err(InteropError::NothingRan(directory));
    }
    let binary = match binary {
        Some(binary) => std::path::absolute(binary).map_err(io("find the binary"))?,
        None => build()?,
    };
    let scratch = std::env::temp_dir().join(format!("pi-interop-packages-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(io("create a directory"))?;
    let bench = Bench::start(&directory, &scratch, binary)?;
    for (name, test) in TESTS {
        match test(&bench) {
            Ok(()) => table.pass(name),
            Err(problem) => table.fail(name, &problem),
        }
    }
    drop(bench);
    // A temporary directory that stays is harmless.
    let _ = fs::remove_dir_all(&scratch);
    table.print();
    match table.failures() {
        0 => Ok(()),
        failures => Err(InteropError::Failed(failures)),
    }
}

/// A test, which returns its problem.
type Test = fn(&Bench) -> Result<(), String>;

const TESTS: &[(&str, Test)] = &[
    ("publish with npm", publish),
    ("install", install),
    ("npm accepts the installation", npm_accepts),
    ("refuse a changed archive", refuse_changed),
    ("remove", remove),
];

/// A running registry and a user.
struct Bench {
    root: PathBuf,
    url: String,
    binary: PathBuf,
    _server: Server,
}

impl Bench {
    fn start(directory: &Path, root: &Path, binary: PathBuf) -> Result<Self, InteropError> {
        let port = free_port().map_err(io("get a port"))?;
        let config = root.join("config.yaml");
        let text = "storage: ./storage\nauth: {htpasswd: {file: ./htpasswd}}\nuplinks: {}\n\
                    packages: {'**': {access: $all, publish: $all}}\n";
        fs::write(&config, text).map_err(io("write the configuration"))?;
        let mut command = comparison::node(directory);
        command.arg(directory.join(VERDACCIO)).arg("--config").arg(&config);
        command.arg("--listen").arg(format!("127.0.0.1:{port}")).current_dir(root);
        let log = root.join("verdaccio.log");
        let patience = Duration::from_secs(60);
        let server = Server::start(command, &log, port, "/-/ping", patience)
            .map_err(io("start verdaccio"))?
            .ok_or_else(|| InteropError::Silent { peer: "verdaccio", log: tail(&log) })?;
        let npmrc = format!(
            "registry=http://127.0.0.1:{port}/\n//127.0.0.1:{port}/:_authToken=anonymous\n"
        );
        for home in ["home", "other"] {
            let home = root.join(home);
            fs::create_dir_all(&home).map_err(io("create a home"))?;
            fs::write(home.join(".npmrc"), &npmrc).map_err(io("write .npmrc"))?;
        }
        let url = format!("http://127.0.0.1:{port}/");
        Ok(Self { root: root.to_owned(), url, binary, _server: server })
    }

    /// Runs a program as a user. Returns its output, also that of a failure.
    fn run(
        &self,
        program: &Path,
        home: &str,
        cwd: &Path,
        arguments: &[&str],
    ) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(cwd).env("HOME", self.root.join(home));
        for name in ["npm_config_registry", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig"] {
            command.env_remove(name);
        }
        let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(text) } else { Err(text) }
    }

    fn pi(&self, home: &str, arguments: &[&str]) -> Result<String, String> {
        self.run(&self.binary, home, &self.root, arguments)
    }

    fn package(&self, name: &str) -> PathBuf {
        self.root.join("home/.pi/agent/npm/node_modules").join(name)
    }
}

fn publish(bench: &Bench) -> Result<(), String> {
    let packages = [
        ("left", r#"{"name": "left", "version": "1.0.0"}"#),
        ("pk", r#"{"name": "@team/pk", "version": "1.0.0", "dependencies": {"left": "^1.0.0"}}"#),
    ];
    for (directory, manifest) in packages {
        let directory = bench.root.join(directory);
        fs::create_dir_all(directory.join("extensions")).map_err(|error| error.to_string())?;
        let files =
            [("package.json", manifest), ("extensions/main.ts", "export default () => {};\n")];
        for (name, text) in files {
            fs::write(directory.join(name), text).map_err(|error| error.to_string())?;
        }
        bench.run(Path::new("npm"), "home", &directory, &["publish", "--registry", &bench.url])?;
    }
    Ok(())
}

fn install(bench: &Bench) -> Result<(), String> {
    let output = bench.pi("home", &["install", "npm:@team/pk"])?;
    let files = ["@team/pk/extensions/main.ts", "left/package.json"];
    let missing = files.into_iter().find(|file| !bench.package(file).exists());
    match missing {
        Some(file) => Err(format!("{file} is missing: {output}")),
        None if !output.contains("added 2 packages") => Err(output),
        None => Ok(()),
    }
}

fn npm_accepts(bench: &Bench) -> Result<(), String> {
    let root = bench.root.join("home/.pi/agent/npm");
    bench.run(Path::new("npm"), "home", &root, &["ls", "--all"])?;
    bench.run(Path::new("npm"), "home", &root, &["ci", "--no-audit", "--no-fund"]).map(drop)
}

fn refuse_changed(bench: &Bench) -> Result<(), String> {
    let archive = bench.root.join("storage/left/left-1.0.0.tgz");
    let mut bytes = fs::read(&archive).map_err(|error| error.to_string())?;
    let original = bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).map_err(|error| error.to_string())?;
    let result = bench.pi("other", &["install", "npm:@team/pk"]);
    fs::write(&archive, original).map_err(|error| error.to_string())?;
    match result {
        Err(output) if output.contains("the checksum of left@1.0.0 is wrong") => Ok(()),
        Err(output) | Ok(output) => Err(output),
    }
}

fn remove(bench: &Bench) -> Result<(), String> {
    let output = bench.pi("home", &["remove", "npm:@team/pk"])?;
    let is_left = bench.package("left").exists() || bench.package("@team/pk").exists();
    if is_left { Err(output) } else { Ok(()) }
}

/// Builds the program and returns its path.
fn build() -> Result<PathBuf, InteropError> {
    let built = repository::cargo().args(["build", "--quiet", "--package", "pi"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(InteropError::Build);
    }
    Ok(repository::path("target/debug/pi"))
}

fn io(what: &str) -> impl FnOnce(std::io::Error) -> InteropError {
    let what = what.to_owned();
    move |source| InteropError::Io { what, source }
}

fn usage(argument: &str) -> InteropError {
    InteropError::Usage(format!("packages [--dir PATH] [--binary PATH] with {argument}"))
}
