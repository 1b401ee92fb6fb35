//! Changed settings of the screen, used while it is shown.

use pi_tui::terminal::Mode;

use super::super::preferences::{Preferences, TuiMode};
use super::{Display, FLUSH_TIMEOUT, Screen, configure, screen};

impl Display {
    /// Uses the mode of the screen, the mouse, the cursor, the scroll bar and the wheel of the
    /// settings. The document stays: a new screen begins with its end.
    pub(crate) fn use_settings(&mut self, preferences: &Preferences) {
        let before = self.modes();
        self.has_mouse = preferences.mouse;
        self.hardware_cursor = preferences.hardware_cursor;
        if (preferences.mode == TuiMode::Fullscreen) != self.is_fullscreen() {
            self.switch(preferences);
        } else if let Screen::Full(screen) = &mut self.screen {
            configure(screen, preferences);
        }
        let modes = self.modes();
        let without = |all: &[Mode], some: &[Mode]| -> Vec<Mode> {
            all.iter().filter(|mode| !some.contains(mode)).copied().collect()
        };
        let mut removed = without(&before, &modes);
        removed.reverse();
        // A terminal that is gone is noticed with the next frame.
        let _ = self.terminal.disable(&removed);
        let _ = self.terminal.enable(&without(&modes, &before), &[]);
        self.redraw();
    }

    /// Changes to the other screen.
    fn switch(&mut self, preferences: &Preferences) {
        let mut new = screen(preferences, self.size, &self.capabilities);
        let left = self.left.take().filter(|left| left.size() == self.size);
        match left {
            Some(left) => new = Screen::Regular(left),
            // The first frame of a regular screen begins with the end of the document.
            None => self.last_frame = None,
        }
        let mut out = Vec::new();
        if let Screen::Regular(mut old) = std::mem::replace(&mut self.screen, new) {
            old.suspend(&mut out);
            self.left = Some(old);
        }
        self.output.write(out);
        // The terminal gets other modes when it has everything that was written for the old ones.
        self.output.flush(FLUSH_TIMEOUT);
    }
}
