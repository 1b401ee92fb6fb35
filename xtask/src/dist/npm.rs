//! The npm packages: one per platform with the binary, and one that starts the right binary. npm
//! installs only the platform package that fits.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::target::Target;
use super::{DistError, Release, VERSION, copy, create, output, write};
use crate::repository;

const NAME: &str = "pi-agent-rs";

/// Builds the package with the binary of a platform.
pub(super) fn build_platform(
    release: &Release,
    target: &Target,
    binary: &Path,
) -> Result<PathBuf, DistError> {
    let name = platform_name(target);
    let directory = release.stage.join(&name);
    copy(binary, &directory.join("pi"))?;
    let about = json!({
        "description": format!("The pi binary for Linux on {}", target.npm),
        "os": ["linux"],
        "cpu": [target.npm],
    });
    pack(release, &name, &directory, &about)
}

/// Builds the package that users install.
pub(super) fn build_launcher(release: &Release) -> Result<PathBuf, DistError> {
    let directory = release.stage.join(NAME);
    copy(&repository::path("packaging/npm/pi.js"), &directory.join("pi.js"))?;
    copy(&repository::path("README.md"), &directory.join("README.md"))?;
    let platforms: Map<String, Value> =
        Target::ALL.iter().map(|target| (platform_name(target), VERSION.into())).collect();
    let about = json!({
        "description": "A coding agent for the terminal and for unattended runs",
        "bin": { "pi": "pi.js" },
        "engines": { "node": ">=18" },
        "optionalDependencies": platforms,
    });
    pack(release, NAME, &directory, &about)
}

fn platform_name(target: &Target) -> String {
    format!("{NAME}-linux-{}", target.npm)
}

fn pack(
    release: &Release,
    name: &str,
    directory: &Path,
    about: &Value,
) -> Result<PathBuf, DistError> {
    create(directory)?;
    let mut manifest = json!({ "name": name, "version": VERSION, "license": "MIT" });
    if let (Some(manifest), Some(about)) = (manifest.as_object_mut(), about.as_object()) {
        manifest.extend(about.clone());
    }
    write(&directory.join("package.json"), format!("{manifest:#}\n").as_bytes())?;
    copy(&repository::path("LICENSE"), &directory.join("LICENSE"))?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination"]).arg(&release.out).current_dir(directory);
    output(&mut npm, "npm")?;
    Ok(release.out.join(format!("{name}-{VERSION}.tgz")))
}
