//! Suspends the program, as ctrl+z does for programs without a screen.

use crate::app::App;

/// Gives the terminal back and stops the process group; redraws when it continues.
pub(crate) fn suspend(app: &mut App) -> bool {
    app.display.pause();
    // The process stops here until the shell continues it. In an orphaned process group the signal
    // has no effect, and the screen is back at once.
    let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    app.display.resume();
    if let Err(error) = stopped {
        app.error(format!("cannot suspend: {error}"));
    }
    true
}
