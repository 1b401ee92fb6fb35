//! The archive for people who install by hand, and for the install script.

use std::path::{Path, PathBuf};

use super::target::Target;
use super::{DistError, Manual, Release, VERSION, copy};
use crate::repository;

/// Builds `pi-VERSION-TRIPLE.tar.gz`.
pub(super) fn build(
    release: &Release,
    target: &Target,
    binary: &Path,
    manual: &Manual,
) -> Result<PathBuf, DistError> {
    let name = format!("pi-{VERSION}-{}", target.triple);
    let directory = release.stage.join(&name);
    copy(binary, &directory.join("pi"))?;
    copy(&manual.page, &directory.join("man/pi.1"))?;
    copy(&manual.bash, &directory.join("completions/pi.bash"))?;
    copy(&manual.zsh, &directory.join("completions/_pi"))?;
    copy(&manual.fish, &directory.join("completions/pi.fish"))?;
    for file in ["README.md", "LICENSE", "CHANGELOG.md"] {
        copy(&repository::path(file), &directory.join(file))?;
    }
    let archive = release.out.join(format!("{name}.tar.gz"));
    release.pack(&directory, &archive)?;
    Ok(archive)
}
