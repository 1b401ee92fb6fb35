//! The claim of a run on the directory of the user: two runs that work in one directory would take
//! each other's changes for their own.
//!
//! A claim is a lock on the directory itself, which runs of every user and every configuration see,
//! and a locked file that names the directory, for runs in directories above and below it. A process
//! that ends, also by a signal, releases its locks; the file that stays is removed by the next run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::WorkspaceError;

/// Time for which a process that has just ended may still hold its lock.
const PATIENCE: Duration = Duration::from_millis(200);

/// A directory in which no other run works while this value exists.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    _locks: [File; 2],
}

impl Claim {
    /// Claims a directory. `claims` has the claims of all runs.
    pub(crate) fn take(claims: &Path, root: &Path) -> Result<Self, WorkspaceError> {
        let failed = |action| WorkspaceError::io(action, claims);
        let directory = File::open(root).map_err(WorkspaceError::io("open", root))?;
        let locked = pi_fs::try_lock_where_supported(&directory, PATIENCE);
        if !locked.map_err(WorkspaceError::io("lock", root))? {
            return Err(WorkspaceError::InUse(root.to_owned()));
        }
        pi_fs::create_private(claims).map_err(failed("create"))?;
        let name = pi_base::text::hex(&Sha256::digest(root.as_os_str().as_encoded_bytes()));
        let path = claims.join(&name[..32]);
        let file = pi_fs::private_file().read(true).write(true).create(true).open(&path);
        let file = file.map_err(WorkspaceError::io("open", &path))?;
        let locked = pi_fs::try_lock_where_supported(&file, PATIENCE);
        if !locked.map_err(WorkspaceError::io("lock", &path))? {
            return Err(WorkspaceError::InUse(root.to_owned()));
        }
        let text = root.as_os_str().as_encoded_bytes();
        fs::write(&path, text).map_err(WorkspaceError::io("write", &path))?;
        let claim = Self { path, _locks: [file, directory] };
        for entry in fs::read_dir(claims).map_err(failed("list"))? {
            let other = entry.map_err(failed("list"))?.path();
            if other != claim.path
                && let Some(taken) = held(&other).map_err(WorkspaceError::io("read", &other))?
                && (taken.starts_with(root) || root.starts_with(&taken))
            {
                return Err(WorkspaceError::InUse(taken));
            }
        }
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The lock ends with the file; a file without a lock claims nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the directory that another process has claimed. A claim of a process that ended is
/// removed.
fn held(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(file) = pi_fs::if_exists(File::open(path))? else { return Ok(None) };
    if pi_fs::try_lock_where_supported(&file, Duration::ZERO)? {
        pi_fs::if_exists(fs::remove_file(path))?;
        return Ok(None);
    }
    let text = fs::read(path)?;
    Ok(Some(PathBuf::from(String::from_utf8_lossy(&text).into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_overlap_have_one_claim() {
        let directory = tempfile::tempdir().unwrap();
        let (claims, others) = (directory.path().join("claims"), directory.path().join("others"));
        let place = |path: &str| directory.path().join(path);
        fs::create_dir_all(place("work/project/part")).unwrap();
        fs::create_dir_all(place("work/project2")).unwrap();
        let claim = Claim::take(&claims, &place("work/project")).unwrap();
        for other in ["work/project", "work", "work/project/part"] {
            let refused = Claim::take(&claims, &place(other));
            assert!(matches!(refused, Err(WorkspaceError::InUse(_))), "{other}");
        }
        let refused = Claim::take(&others, &place("work/project"));
        assert!(matches!(refused, Err(WorkspaceError::InUse(_))), "another agent directory");
        Claim::take(&claims, &place("work/project2")).unwrap();
        drop(claim);
        Claim::take(&claims, &place("work")).unwrap();
    }
}
