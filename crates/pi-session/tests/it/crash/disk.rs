//! A small disk, if the test may mount one.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A small temporary file system.
pub(super) struct SmallDisk {
    mounted: TempDir,
}

impl SmallDisk {
    /// Mounts the file system; `None` without permission.
    pub(super) fn mount() -> Option<Self> {
        let mounted = TempDir::new().unwrap();
        let done = mount(&["-t", "tmpfs", "-o", "size=128k", "tmpfs"], mounted.path());
        done.then_some(Self { mounted })
    }

    pub(super) fn path(&self) -> &Path {
        self.mounted.path()
    }

    pub(super) fn clear(&self) {
        for entry in std::fs::read_dir(self.path()).unwrap() {
            std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
    }

    /// Changes the size of the file system, or makes it read-only.
    pub(super) fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], self.path()), "remount {options}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    Command::new("mount").args(arguments).arg(at).output().is_ok_and(|done| done.status.success())
}
