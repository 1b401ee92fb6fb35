//! The Debian package. Debian has a package `pi` that is something else, so the name is longer.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::target::Target;
use super::{DistError, Manual, Release, VERSION, copy, create, run_tool, write};
use crate::repository;

const NAME: &str = "pi-coding-agent";

/// Builds `pi-coding-agent_VERSION_ARCHITECTURE.deb`.
pub(super) fn build(
    release: &Release,
    target: &Target,
    binary: &Path,
    manual: &Manual,
) -> Result<PathBuf, DistError> {
    let root = release.stage.join(format!("deb-{}", target.debian));
    copy(binary, &root.join("usr/bin/pi"))?;
    copy(&manual.bash, &root.join("usr/share/bash-completion/completions/pi"))?;
    copy(&manual.zsh, &root.join("usr/share/zsh/vendor-completions/_pi"))?;
    copy(&manual.fish, &root.join("usr/share/fish/vendor_completions.d/pi.fish"))?;
    copy(&repository::path("LICENSE"), &root.join("usr/share/doc").join(NAME).join("copyright"))?;
    let page = root.join("usr/share/man/man1/pi.1");
    copy(&manual.page, &page)?;
    run_tool(Command::new("gzip").args(["-n", "-9"]).arg(&page), "gzip")?;
    create(&root.join("DEBIAN"))?;
    write(&root.join("DEBIAN/control"), control(target).as_bytes())?;
    let package = release.out.join(format!("{NAME}_{VERSION}_{}.deb", target.debian));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&package);
    // Makes the package reproducible.
    dpkg.env("SOURCE_DATE_EPOCH", &release.time).stdout(std::process::Stdio::null());
    run_tool(&mut dpkg, "dpkg-deb")?;
    Ok(package)
}

fn control(target: &Target) -> String {
    format!(
        "Package: {NAME}\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: The pi developers <pi@example.invalid>\n\
         Section: devel\n\
         Priority: optional\n\
         Recommends: bubblewrap, ca-certificates, git\n\
         Conflicts: pi\n\
         Description: coding agent for the terminal and for unattended runs\n \
         Streams from any supported model provider, works with files and commands\n \
         under rules and in a sandbox, and keeps every conversation.\n",
        target.debian
    )
}
