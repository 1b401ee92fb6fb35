//! `cargo xtask screenshot`: draws `docs/screen.svg`, the picture of the README.
//!
//! A test of the `pi` crate starts the program on a terminal in memory, with a scripted model, and
//! draws the cells of that terminal.

use crate::repository;

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScreenshotError {
    #[error("cannot run cargo: {0}")]
    Run(std::io::Error),
    #[error("the session cannot be drawn; see above")]
    Failed,
}

/// Draws the picture.
pub(crate) fn run() -> Result<(), ScreenshotError> {
    let mut cargo = repository::cargo();
    cargo.args(["test", "--quiet", "--package", "pi", "--test", "it", "screen::screenshot"]);
    cargo.env("PI_SCREENSHOT", repository::path("docs/screen.svg"));
    match cargo.status().map_err(ScreenshotError::Run)?.success() {
        true => Ok(()),
        false => Err(ScreenshotError::Failed),
    }
}
