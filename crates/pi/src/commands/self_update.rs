//! `pi update` without a package: replaces the program by the newest release.
//!
//! Only a program that the install script or an archive brought is replaced. Package managers would
//! not know of it, so for theirs the command names what to run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_base::process::{Rights, Variables, command};
use pi_coding_agent::Project;
use pi_packages::Version;
use pi_packages::release::{ReleaseError, Releases, replace_program};

use super::auth::wait;
use super::{CommandResult, Failure, project, success};
use crate::exit::{self, Exit, print};
use crate::flags::parse::CommandArgs;

/// Address of the newest release.
const RELEASES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/releases/latest/download");

/// Public key of the releases, if this build was made for one.
const KEY: Option<&str> = option_env!("PI_RELEASE_KEY");

/// The way in which this program was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Installation {
    /// A file that no package manager knows.
    Release,
    Npm,
    Debian,
    Cargo,
    /// The build directory of a checkout.
    Checkout,
}

/// Replaces the program.
pub(super) fn run(args: &CommandArgs) -> CommandResult {
    let project = project::open(args)?;
    let environment = project.environment();
    let program = std::env::current_exe().and_then(|path| path.canonicalize())?;
    if let Some(advice) = advice(installation(&program)) {
        let message =
            format!("{} is not a program that this command can update", program.display());
        return Err(exit::Failure::new(message, Exit::Unavailable).with_hint(advice).into());
    }
    if environment.is_offline() {
        let failure = exit::Failure::new("pi is not updated in offline mode", Exit::Failed);
        return Err(failure.with_hint("unset PI_OFFLINE".to_owned()).into());
    }
    let releases = releases(&project)?;
    let current = env!("CARGO_PKG_VERSION");
    let newest = wait(releases.latest())?.map_err(|error| failure(&error))?;
    let is_newer = Version::parse(current).is_none_or(|current| newest.version > current);
    if !is_newer && !args.has("force") {
        return Ok(print(&format!("pi {current} is up to date\n")));
    }
    let content = wait(releases.program(&newest))?.map_err(|error| failure(&error))?;
    replace_program(&program, &content, || starts(&program)).map_err(|error| failure(&error))?;
    print(&format!("updated {} from {current} to {}\n", program.display(), newest.version));
    Ok(success())
}

fn releases(project: &Project) -> Result<Releases, Failure> {
    let environment = project.environment();
    let set = |name: &str| environment.variable(name).filter(|value| !value.is_empty());
    let Some(key) = KEY.or_else(|| set("PI_RELEASE_KEY")) else {
        let message = "this build has no key of the releases, so an update cannot be verified";
        let hint = "set PI_RELEASE_KEY to the public key of the releases, or build pi anew";
        return Err(exit::Failure::new(message, Exit::Unavailable)
            .with_hint(hint.to_owned())
            .into());
    };
    let url = set("PI_RELEASES").unwrap_or(RELEASES);
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let variables = environment.clone();
    let variable = Arc::new(move |name: &str| variables.variable(name).map(str::to_owned));
    let proxy = project.settings().http_proxy.clone();
    Releases::new(url, key, &target, variable, proxy).map_err(|error| failure(&error))
}

fn failure(error: &ReleaseError) -> Failure {
    let hint = match error {
        ReleaseError::Download { .. } => {
            "check the connection; proxies come from HTTPS_PROXY or the setting httpProxy. \
             PI_RELEASES names another address"
        }
        ReleaseError::Signature { .. } | ReleaseError::Checksum { .. } => {
            "nothing was changed; report this to the owner of the releases if it persists"
        }
        ReleaseError::Replace { .. } => "run the command as the owner of the file",
        ReleaseError::Key => "correct PI_RELEASE_KEY",
        _ => "nothing was changed",
    };
    exit::Failure::new(error.to_string(), Exit::Failed).with_hint(hint.to_owned()).into()
}

/// Runs the new program once.
fn starts(program: &Path) -> std::io::Result<()> {
    let mut start = command(program, None, Variables::Inherited, Rights::Own);
    let output = start.arg("--version").output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(std::io::Error::other(format!("it ended with {}", output.status)))
}

/// Returns what to do about a program that this command does not update.
fn advice(installation: Installation) -> Option<String> {
    Some(match installation {
        Installation::Release => return None,
        Installation::Npm => "it came from npm: run `npm install -g pi-agent-rs@latest`".to_owned(),
        Installation::Debian => {
            "it came from a Debian package: install the newer one with apt".to_owned()
        }
        Installation::Cargo => {
            "it was built by cargo: run `cargo install --path crates/pi` in a newer checkout"
                .to_owned()
        }
        Installation::Checkout => "it is part of a checkout: build it anew".to_owned(),
    })
}

fn installation(program: &Path) -> Installation {
    let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
    if has("node_modules") {
        return Installation::Npm;
    }
    if has(".cargo") {
        return Installation::Cargo;
    }
    if has("target") && program.ancestors().any(|parent| parent.join("Cargo.toml").is_file()) {
        return Installation::Checkout;
    }
    let lists = PathBuf::from("/var/lib/dpkg/info/pi-coding-agent.list");
    let listed = std::fs::read_to_string(lists).unwrap_or_default();
    if listed.lines().any(|line| Path::new(line) == program) {
        return Installation::Debian;
    }
    Installation::Release
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_package_managers_are_recognized() {
        for (path, expected) in [
            ("/home/u/.local/bin/pi", Installation::Release),
            ("/opt/pi/pi", Installation::Release),
            (
                "/usr/lib/node_modules/pi-agent-rs/node_modules/pi-agent-rs-linux-x64/pi",
                Installation::Npm,
            ),
            ("/home/u/.cargo/bin/pi", Installation::Cargo),
            (concat!(env!("CARGO_MANIFEST_DIR"), "/target/debug/pi"), Installation::Checkout),
        ] {
            assert_eq!(installation(Path::new(path)), expected, "{path}");
            assert_eq!(advice(expected).is_none(), expected == Installation::Release);
        }
    }
}
