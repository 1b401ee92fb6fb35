//! The screen of a mode, and changed settings that are used while it is shown.

use pi_tui::screen::{Encoder, FullScreen, RegularScreen, Scrollbar, Size, WheelLines};
use pi_tui::terminal::{Capabilities, ImageProtocol, Mode, Reflow};

use super::super::preferences::{Preferences, ScrollbarMode, TuiMode};
use super::{Display, FLUSH_TIMEOUT, Screen};

impl Display {
    /// Uses the mode of the screen, the mouse, the cursor, the scroll bar and the wheel of the
    /// settings. The document stays: a new screen begins with its end.
    pub(crate) fn use_settings(&mut self, preferences: &Preferences) {
        let before = self.modes();
        self.has_mouse = preferences.terminal.mouse;
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

/// Creates the screen of a mode.
pub(super) fn screen(preferences: &Preferences, size: Size, capabilities: &Capabilities) -> Screen {
    let encoder = encoder(capabilities);
    let images = capabilities.images.filter(|_| preferences.terminal.show_images);
    match preferences.mode {
        TuiMode::Regular => {
            let mut screen = RegularScreen::new(size, encoder);
            screen.set_reflows(capabilities.reflow != Reflow::Keeps);
            screen.set_images(images);
            Screen::Regular(Box::new(screen))
        }
        TuiMode::Fullscreen => {
            let mut screen = FullScreen::new(size, encoder);
            // Images of iTerm2 cannot be removed when the view scrolls.
            screen.set_images(images.filter(|protocol| *protocol == ImageProtocol::Kitty));
            configure(&mut screen, preferences);
            Screen::Full(Box::new(screen))
        }
    }
}

/// Uses the settings of the full screen that may change.
fn configure(screen: &mut FullScreen, preferences: &Preferences) {
    screen.set_wheel_lines(
        preferences.wheel_lines.lines().map_or(WheelLines::Auto, WheelLines::Fixed),
    );
    screen.set_scrollbar(match preferences.scrollbar {
        ScrollbarMode::Always => Scrollbar::Always,
        ScrollbarMode::Hidden => Scrollbar::Hidden,
        ScrollbarMode::Auto => Scrollbar::Auto,
    });
}

fn encoder(capabilities: &Capabilities) -> Encoder {
    let mut encoder = Encoder::new(capabilities.color_depth);
    encoder.hyperlinks = capabilities.hyperlinks;
    encoder
}
